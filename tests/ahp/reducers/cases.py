"""Cases for the reducers: a state, actions, and the state that must come of them.

States and actions are plain JSON, as they go over the wire. `check` runs both forms of the reducer and
compares them at every step.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pytest

from ahp.strategies import action as read_action
from requirements import proves
from serai.ahp.reducers import fold, live, reduce
from serai.ahp.types import ChangesetState, ResourceWatchState, RootState, SessionState, TerminalState
from serai.ahp.wire import convert, decode, encode, to_json

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

Json: TypeAlias = dict[str, Any]
S = TypeVar("S", RootState, SessionState, TerminalState, ChangesetState, ResourceWatchState)

NOW = 9999
IDLE, ERROR, IN_PROGRESS, INPUT_NEEDED, IS_READ, IS_ARCHIVED = 1, 2, 8, 24, 32, 64
NEWER = 1 << 10
"""A status bit that this version does not know."""


@dataclass(frozen=True, slots=True)
class Case:
    """What actions make of a state."""

    name: str
    start: Json
    actions: tuple[Json, ...]
    then: Json
    proves: tuple[str, ...]


def case(name: str, start: Json, actions: Json | list[Json], then: Json | None = None, *ids: str) -> Case:
    """A case; without `then` the actions change nothing. `ids` are requirements, without their `ahp:`."""
    steps = actions if isinstance(actions, list) else [actions]
    return Case(name, start, tuple(steps), start if then is None else then, tuple(f"ahp:{i}" for i in ids))


def params(cases: Iterable[Case]) -> list[ParameterSet]:
    """The cases as parameters, each with the mark of what it proves."""
    return [pytest.param(each, id=each.name, marks=proves(*each.proves)) for each in cases]


def check(each: Case, as_type: type[S]) -> None:
    """Both forms of the reducer give what the case says, and neither changes what it was given."""
    start = convert(deepcopy(each.start), as_type)
    alive = live(start)
    state = start
    snapshots: list[tuple[S, bytes]] = [(start, encode(start))]
    for plain in each.actions:
        action = read_action(deepcopy(plain))
        state = reduce(state, action, NOW)
        alive.apply(action, NOW)
        assert alive.snapshot() == state
        snapshots += [(state, encode(state)), (alive.snapshot(), encode(state))]
    assert to_json(state) == each.then
    assert fold(start, [read_action(plain) for plain in each.actions], NOW) == state
    assert decode(encode(state), as_type) == state
    for snapshot, before in snapshots:
        assert encode(snapshot) == before


def changed(start: Json, **fields: Any) -> Json:
    """The same object with other fields; `None` takes one away."""
    return {name: value for name, value in {**start, **fields}.items() if value is not None}


# -- sessions ----------------------------------------------------------------------------------------------

SUMMARY: Json = {
    "resource": "ahp-session:/s1",
    "provider": "echo",
    "title": "A session",
    "status": IDLE,
    "createdAt": 1000,
    "modifiedAt": 1000,
}


def session(summary: Json | None = None, **fields: Any) -> Json:
    """A session that is ready and has no turns, with other fields of its summary and of itself."""
    start = {"summary": changed(SUMMARY, **(summary or {})), "lifecycle": "ready", "turns": []}
    return changed(start, **fields)


def message(text: str = "hello") -> Json:
    return {"text": text}


def turn(turn_id: str, *parts: Json, state: str = "complete", **fields: Any) -> Json:
    """A turn that has ended."""
    return {"id": turn_id, "userMessage": message(), "responseParts": list(parts), "state": state, **fields}


def active(*parts: Json, turn_id: str = "t1", **fields: Any) -> Json:
    """A turn that is running."""
    return {"id": turn_id, "userMessage": message(), "responseParts": list(parts), **fields}


def running(*parts: Json, status: int = IN_PROGRESS, modified: int = 1000, **fields: Any) -> Json:
    """A session with the turn `t1` running."""
    return session({"status": status, "modifiedAt": modified}, activeTurn=active(*parts), **fields)


def markdown(part_id: str, content: str = "") -> Json:
    return {"kind": "markdown", "id": part_id, "content": content}


def reasoning(part_id: str, content: str = "") -> Json:
    return {"kind": "reasoning", "id": part_id, "content": content}


def call(status: str, **fields: Any) -> Json:
    """A part that is a call of the tool `shell`."""
    base = {"toolCallId": "c1", "toolName": "shell", "displayName": "Shell"}
    return {"kind": "toolCall", "toolCall": changed({"status": status, **base}, **fields)}
