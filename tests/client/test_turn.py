"""Whatever is missed, and wherever the gaps are: all is told once, and in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from hypothesis import given, strategies as st

from client.hosts import session_json
from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import MarkdownResponsePart, SessionState
from serai.ahp.wire import convert
from serai.client import (
    NoticeGiven,
    QuestionAsked,
    QuestionClosed,
    TextAdded,
    ToolFinished,
    ToolRunning,
    ToolWaiting,
    TurnEnded,
    TurnEvent,
    TurnStarted,
)
from serai.client.events import ReasoningAdded
from serai.client.turn import TurnStream

NOW = 9999
T = "t"


def act(kind: str, **fields: Any) -> a.StateAction:
    return convert({"type": f"session/{kind}", **fields}, a.StateAction)


def in_turn(kind: str, **fields: Any) -> a.StateAction:
    return act(kind, turnId=T, **fields)


BEGIN = in_turn("turnStarted", userMessage={"text": "hi"})
TEXTS = st.text(alphabet="abc😀", max_size=4)
PARTS = st.sampled_from(["p", "q", "r"])
CALLS = st.sampled_from(["c", "d"])


def some(kind: str, **fields: st.SearchStrategy[Any] | Any) -> st.SearchStrategy[a.StateAction]:
    """Actions of the turn, with fields that are given or drawn."""
    drawn = {
        name: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for name, value in fields.items()
    }
    return st.fixed_dictionaries(drawn).map(lambda found: in_turn(kind, **found))


def parts(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[a.StateAction]:
    return some("responsePart", part=st.fixed_dictionaries(fields))


STEPS = st.one_of(
    some("delta", partId=PARTS, content=TEXTS),
    some("reasoning", partId=PARTS, content=TEXTS),
    parts(kind=st.sampled_from(["markdown", "reasoning"]), id=PARTS, content=TEXTS),
    parts(kind=st.just("systemNotification"), content=TEXTS),
    some("toolCallStart", toolCallId=CALLS, toolName="n", displayName="N"),
    some("toolCallDelta", toolCallId=CALLS, content=TEXTS),
    some("toolCallReady", toolCallId=CALLS, invocationMessage="m"),
    some("toolCallConfirmed", toolCallId=CALLS, approved=True, confirmed="user-action"),
    some("toolCallComplete", toolCallId=CALLS, result={"success": True, "pastTenseMessage": "done"}),
    st.just(act("inputRequested", request={"id": "i", "message": "?"})),
    st.just(act("inputCompleted", requestId="i", response="accept")),
    st.just(in_turn("usage", usage={"inputTokens": 1})),
    st.just(act("titleChanged", title="x")),
    st.just(act("delta", turnId="another", partId="p", content="not ours")),
)
ENDS = st.sampled_from(
    [
        in_turn("turnComplete"),
        in_turn("turnCancelled"),
        in_turn("error", error={"errorType": "x", "message": "y"}),
        act("truncated"),
    ]
)


def told(actions: Iterable[a.StateAction], missed: Iterable[bool]) -> tuple[list[TurnEvent], LiveSession]:
    """What is told when some actions are missed: after each gap comes a snapshot."""
    return asyncio.run(_told(actions, missed))


async def _told(
    actions: Iterable[a.StateAction], missed: Iterable[bool]
) -> tuple[list[TurnEvent], LiveSession]:
    session = LiveSession(convert(session_json(), SessionState))
    stream = TurnStream(T, lambda _: None)
    in_gap = False
    for action, is_missed in zip(actions, missed, strict=True):
        session.apply(action, NOW)
        if is_missed:
            in_gap = True
            continue
        if in_gap:
            session = LiveSession(session.snapshot())
            stream.caught_up(session)
            in_gap = False
        else:
            stream.heard(action, session)
    stream.caught_up(LiveSession(session.snapshot()))
    return list(stream._inbox._items), session


def texts(events: list[TurnEvent]) -> dict[tuple[type, str], str]:
    found: dict[tuple[type, str], str] = {}
    for event in events:
        if isinstance(event, TextAdded | ReasoningAdded):
            key = type(event), event.part_id
            found[key] = found.get(key, "") + event.text
    return found


@given(st.lists(STEPS, max_size=25), ENDS, st.data())
def test_gaps_change_nothing_of_what_is_told_in_the_end(
    steps: list[a.StateAction], end: a.StateAction, data: st.DataObject
) -> None:
    actions = [BEGIN, *steps, end]
    gaps = data.draw(st.lists(st.booleans(), min_size=len(actions), max_size=len(actions)))
    whole, session = told(actions, [False] * len(actions))
    events, _ = told(actions, gaps)
    if isinstance(end, a.SessionTruncatedAction):
        if any(isinstance(event, TurnStarted) for event in events):
            assert events[-1] == TurnEnded("removed")
        return
    assert texts(events).keys() == texts(whole).keys()
    [turn] = session.head.turns
    for key, text in texts(events).items():
        # Parts of one id are told one after the other when nothing is missed, and each at once after a gap.
        assert sorted(text) == sorted(texts(whole)[key])
    for kind in (TurnStarted, TurnEnded, NoticeGiven):
        assert [e for e in events if isinstance(e, kind)] == [e for e in whole if isinstance(e, kind)]
    assert [event for event in events if isinstance(event, TurnEnded)] == [events[-1]]
    assert events[-1] == TurnEnded(turn.state, turn.error)
    asked = sum(isinstance(event, QuestionAsked) for event in events)
    assert asked == sum(isinstance(event, QuestionClosed) for event in events)
    finished = {e.call.tool_call_id for e in events if isinstance(e, ToolFinished)}
    begun = {e.call.tool_call_id for e in events if isinstance(e, ToolWaiting | ToolRunning)}
    assert begun <= finished


@given(st.lists(STEPS, max_size=25), ENDS)
def test_live_text_is_the_text_of_the_turn(steps: list[a.StateAction], end: a.StateAction) -> None:
    actions = [BEGIN, *steps, end]
    events, session = told(actions, [False] * len(actions))
    if isinstance(end, a.SessionTruncatedAction):
        return
    [turn] = session.head.turns
    whole = "".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
    assert sorted("".join(e.text for e in events if isinstance(e, TextAdded))) == sorted(whole)
