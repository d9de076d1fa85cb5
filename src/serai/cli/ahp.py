"""`serai ahp`: look into the protocol."""

from __future__ import annotations

import argparse
import time
from typing import Any

from msgspec import Struct

from serai.ahp import wire
from serai.ahp.actions import StateAction
from serai.ahp.reducers import CHANNEL_TYPES, fold
from serai.ahp.types import Number
from serai.cli.console.output import print_json
from serai.cli.console.terminal import read_input
from serai.errors import Mismatch

__all__ = ["configure"]

_REDUCERS = {channel.name: channel.state for channel in CHANNEL_TYPES}


class _Case(Struct):
    reducer: str
    initial: Any
    actions: list[Any]
    now: Number | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai ahp`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    reduce = commands.add_parser(
        "reduce",
        help="apply actions to a state and print the state that results",
        description="Apply actions to a state and print the state that results, as JSON.",
        epilog=(
            'The input is {"reducer", "initial", "actions", "now"?}: one of '
            f"{', '.join(_REDUCERS)}; a state; a list of actions; "
            "the time in milliseconds since 1970 (by default, the time now)."
        ),
    )
    reduce.add_argument("file", metavar="FILE", nargs="?", default="-", help="by default, standard input")
    reduce.set_defaults(run=_reduce)


def _reduce(options: argparse.Namespace) -> int:
    case = wire.decode(read_input(options.file), _Case)
    state_type = _REDUCERS.get(case.reducer)
    if state_type is None:
        raise Mismatch(f"must be one of {', '.join(_REDUCERS)}", field="reducer")
    state = _convert(case.initial, state_type, "initial")
    actions = [_convert(action, StateAction, f"actions[{n}]") for n, action in enumerate(case.actions)]
    now = round(time.time() * 1000) if case.now is None else case.now
    print_json(fold(state, actions, now))
    return 0


def _convert(plain: Any, as_type: Any, place: str) -> Any:
    try:
        return wire.convert(plain, as_type)
    except Mismatch as error:
        field = f"{place}.{error.field}" if error.field else place
        raise Mismatch(error.problem, field=field) from None
