"""What holds for all actions in any order."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

from ahp.reducers.cases import ERROR, IDLE, IN_PROGRESS, INPUT_NEEDED, IS_ARCHIVED, IS_READ, NOW, Json
from ahp.strategies import actions_of, values
from serai.ahp import actions as a
from serai.ahp.actions import StateAction
from serai.ahp.reducers import fold, live, reduce
from serai.ahp.types import ChangesetState, ResourceWatchState, RootState, SessionState, TerminalState
from serai.ahp.wire import decode, encode, to_json

IN_A_TURN: Final = (
    a.SessionTurnStartedAction
    | a.SessionDeltaAction
    | a.SessionReasoningAction
    | a.SessionResponsePartAction
    | a.SessionTurnCompleteAction
    | a.SessionToolCallStartAction
)
"""Half of the actions on a session are of these kinds or of those that move tool calls."""

CHANNELS: Final[dict[type, list[Any]]] = {
    RootState: [a.RootAction],
    SessionState: [a.SessionAction, a.SessionAction, IN_A_TURN, a.ToolCallAction],
    TerminalState: [a.TerminalAction],
    ChangesetState: [a.ChangesetAction],
    ResourceWatchState: [a.ResourceWatchAction],
}
every_channel = pytest.mark.parametrize(
    "channels",
    [[SessionState], [RootState, TerminalState, ChangesetState, ResourceWatchState]],
    ids=["session", "the others"],
)


def actions_on(channel: type) -> st.SearchStrategy[StateAction]:
    return st.one_of([actions_of(union, strange=True) for union in CHANNELS[channel]])


def actions_beside(channel: type) -> st.SearchStrategy[StateAction]:
    others = [union[0] for other, union in CHANNELS.items() if other is not channel]
    unknown = st.just(decode(b'{"type":"session/later","turnId":"t1","content":null}', Any)).map(_read)
    return st.one_of([unknown, *(actions_of(union, strange=True) for union in others)])


def _read(json: Json) -> StateAction:
    envelope = {"channel": "ahp-session:/s", "serverSeq": 1, "action": json}
    return decode(encode(envelope), a.ActionEnvelope).action


@every_channel
@given(data=st.data())
def test_apply_equals_reduce_after_every_action_and_neither_changes_what_it_was_given(
    channels: list[Any], data: st.DataObject
) -> None:
    channel = data.draw(st.sampled_from(channels))
    start = data.draw(values(channel, strange=True))
    actions = data.draw(st.lists(actions_on(channel), min_size=1, max_size=15))
    alive = live(start)
    state = start
    kept = [(start, encode(start))]
    sent = [(action, encode(action)) for action in actions]
    for action in actions:
        state = reduce(state, action, NOW)
        alive.apply(action, NOW)
        snapshot = alive.snapshot()
        assert snapshot == state
        kept += [(state, encode(state)), (snapshot, encode(snapshot))]
    assert fold(start, actions, NOW) == state
    assert [encode(value) for value, _ in kept + sent] == [before for _, before in kept + sent]


@every_channel
@given(data=st.data())
def test_a_state_that_was_reached_is_read_back_the_same(channels: list[Any], data: st.DataObject) -> None:
    channel = data.draw(st.sampled_from(channels))
    start = data.draw(values(channel, strange=True))
    actions = data.draw(st.lists(actions_on(channel), max_size=8))
    state = fold(start, actions, NOW)
    assert decode(encode(state), channel) == state


@every_channel
@given(data=st.data())
def test_a_state_that_was_never_looked_at_is_the_same(channels: list[Any], data: st.DataObject) -> None:
    channel = data.draw(st.sampled_from(channels))
    start = data.draw(values(channel))
    actions = data.draw(st.lists(actions_on(channel), max_size=15))
    looked_at, left_alone = live(start), live(start)
    for action in actions:
        looked_at.apply(action, NOW)
        looked_at.snapshot()
        left_alone.apply(action, NOW)
    assert left_alone.snapshot() == looked_at.snapshot()


@every_channel
@given(data=st.data())
def test_unknown_actions_and_those_of_others_change_nothing(channels: list[Any], data: st.DataObject) -> None:
    channel = data.draw(st.sampled_from(channels))
    start = data.draw(values(channel, strange=True))
    before = encode(start)
    alive = live(start)
    for action in data.draw(st.lists(actions_beside(channel), min_size=1, max_size=5)):
        assert reduce(start, action, NOW) == start
        alive.apply(action, NOW)
        assert encode(alive.snapshot()) == before


# -- a session's status and time, told again from the protocol's tables ------------------------------------

ALWAYS_RECOMPUTED = {
    *("session/turnStarted", "session/inputRequested", "session/toolCallReady", "session/toolCallConfirmed"),
    *("session/toolCallComplete", "session/toolCallResultConfirmed"),
}
RECOMPUTED_WHEN_IT_APPLIES = {
    *("session/turnComplete", "session/turnCancelled", "session/truncated", "session/inputCompleted")
}
ALWAYS_TOUCHED = {
    *("session/turnStarted", "session/titleChanged", "session/modelChanged", "session/agentChanged"),
    *("session/inputRequested",),
}
TOUCHED_WHEN_IT_APPLIES = {
    *("session/turnComplete", "session/turnCancelled", "session/error", "session/truncated"),
    *("session/configChanged", "session/inputAnswerChanged", "session/inputCompleted"),
}
UNREAD_AFTER = {"session/turnStarted", "session/inputRequested"}


def applies(action: Json, state: Json) -> bool:
    """Whether an action that may be a no-op is none."""
    match action["type"]:
        case "session/turnComplete" | "session/turnCancelled" | "session/error":
            return bool(state.get("activeTurn", {}).get("id") == action["turnId"])
        case "session/truncated":
            return "turnId" not in action or action["turnId"] in [turn["id"] for turn in state["turns"]]
        case "session/configChanged":
            return "config" in state
        case _:
            return action["requestId"] in [request["id"] for request in state.get("inputRequests", [])]


def doing(state: Json) -> int:
    parts = state.get("activeTurn", {}).get("responseParts", [])
    calls = [part["toolCall"]["status"] for part in parts if part["kind"] == "toolCall"]
    if state.get("inputRequests") or {"pending-confirmation", "pending-result-confirmation"} & set(calls):
        return INPUT_NEEDED
    return IN_PROGRESS if "activeTurn" in state else IDLE


def status_after(action: Json, before: Json, after: Json) -> int:
    kind, status = action["type"], int(before["summary"]["status"])
    if kind in ALWAYS_RECOMPUTED or (kind in RECOMPUTED_WHEN_IT_APPLIES and applies(action, before)):
        status = status & ~31 | doing(after)
    elif kind == "session/error" and applies(action, before):
        status = status & ~31 | ERROR
    elif kind == "session/isReadChanged":
        status = status | IS_READ if action["isRead"] else status & ~IS_READ
    elif kind == "session/isArchivedChanged":
        status = status | IS_ARCHIVED if action["isArchived"] else status & ~IS_ARCHIVED
    return status & ~IS_READ if kind in UNREAD_AFTER else status


def modified_after(action: Json, before: Json) -> Any:
    kind = action["type"]
    touched = kind in ALWAYS_TOUCHED or (kind in TOUCHED_WHEN_IT_APPLIES and applies(action, before))
    return NOW if touched else before["summary"]["modifiedAt"]


@given(values(SessionState), st.lists(actions_on(SessionState), max_size=15))
def test_status_and_time_follow_the_tables(start: SessionState, actions: list[StateAction]) -> None:
    state = start
    for action in actions:
        after = reduce(state, action, NOW)
        plain, was, is_now = to_json(action), to_json(state), to_json(after)
        assert is_now["summary"]["status"] == status_after(plain, was, is_now), plain["type"]
        assert is_now["summary"]["modifiedAt"] == modified_after(plain, was), plain["type"]
        state = after
