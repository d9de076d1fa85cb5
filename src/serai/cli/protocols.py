"""`serai ahp reduce` and `serai acp capabilities`: apply the rules of the protocols by hand."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from serai.acp.capabilities import AgentCapabilities
from serai.acp.shapes import is_object, object_of
from serai.ahp import wire
from serai.ahp.actions import StateAction
from serai.ahp.reducers import CHANNEL_TYPES, fold
from serai.ahp.types import Number
from serai.cli.console.output import print_json
from serai.cli.console.target import add_command
from serai.cli.console.terminal import read_input
from serai.contract.record import checked
from serai.errors import Mismatch, ParseError

_FILE: dict[str, Any] = {
    "metavar": "FILE",
    "nargs": "?",
    "default": "-",
    "help": "by default, standard input",
}

_REDUCERS = {channel.name: channel.state for channel in CHANNEL_TYPES}


class _Case(Struct):
    reducer: str
    initial: Any
    actions: list[Any]
    now: Number | None = None


def configure_ahp(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai ahp`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    reduce = add_command(
        commands,
        "reduce",
        "apply actions to a state and print the state that results, as JSON",
        run=_reduce,
        epilog=(
            'The input is {"reducer", "initial", "actions", "now"?}: one of '
            f"{', '.join(_REDUCERS)}; a state; a list of actions; "
            "the time in milliseconds since 1970 (by default, the time now)."
        ),
    )
    reduce.add_argument("file", **_FILE)


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


_OWN_FIELDS = frozenset({"loadSession", "mcpCapabilities", "promptCapabilities", "sessionCapabilities"})


def configure_acp(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai acp`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    capabilities = add_command(
        commands,
        "capabilities",
        "print what an agent's handshake says that it can do, as JSON",
        run=_capabilities,
        epilog=(
            "The input is what an agent answered to 'initialize': the whole response, or its result, or a "
            'recording {"agent", "initialize"} with the response in it.'
        ),
    )
    capabilities.add_argument("file", **_FILE)


def _capabilities(options: argparse.Namespace) -> int:
    print_json(AgentCapabilities.read(_result(read_input(options.file))))
    return 0


def _result(data: bytes) -> Mapping[str, Any]:
    """Find the result of `initialize` in a document."""
    try:
        document = msgspec.json.decode(checked(data))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParseError(f"this is not readable JSON: {error}") from None
    if not is_object(document):
        raise Mismatch("expected an object: the answer to 'initialize'", field="")
    if is_object(recorded := document.get("initialize")):
        document = recorded
    if "error" in document and "result" not in document:
        error = document["error"]
        text = error.get("message") if is_object(error) else error
        raise Mismatch(f"the agent answered with an error: {text}", field="error")
    if "result" in document:
        return object_of(document["result"])
    if "agentCapabilities" not in document and _OWN_FIELDS & document.keys():
        return {"agentCapabilities": document}
    return document
