"""Messages that wait: the one that steers, and the queue."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import ERROR, IS_READ, Case, Json, case, check, params, session
from serai.ahp.types import SessionState


def waiting(message_id: str, text: str = "") -> Json:
    return {"id": message_id, "userMessage": {"text": text or message_id}}


def queue(*ids: str, **fields: Any) -> Json:
    """A session with those messages in its queue. Its status and its times stay, whatever happens to it."""
    return session(
        {"status": ERROR | IS_READ}, queuedMessages=[waiting(each) for each in ids] or None, **fields
    )


def put(kind: str, message_id: str, text: str = "") -> Json:
    return {"type": "session/pendingMessageSet", "kind": kind, **waiting(message_id, text)}


def remove(kind: str, message_id: str) -> Json:
    return {"type": "session/pendingMessageRemoved", "kind": kind, "id": message_id}


def order(*ids: str) -> Json:
    return {"type": "session/queuedMessagesReordered", "order": list(ids)}


SET = [
    case(
        "the first message that steers takes its slot",
        queue("q1"),
        put("steering", "s1"),
        queue("q1", steeringMessage=waiting("s1")),
    ),
    case(
        "the next message that steers takes the place of the one before, whatever their ids",
        queue(steeringMessage=waiting("s1")),
        [put("steering", "s2"), put("steering", "s2", "edited")],
        queue(steeringMessage=waiting("s2", "edited")),
        "session/pendingMessageSet/steering-replaced",
    ),
    case(
        "the first queued message makes the queue",
        queue(),
        put("queued", "q1"),
        queue("q1"),
        "session/pendingMessageSet/queued-appended",
    ),
    case(
        "a new queued message goes to the end",
        queue("q1", "q2"),
        put("queued", "q3"),
        queue("q1", "q2", "q3"),
        "session/pendingMessageSet/queued-appended",
    ),
    case(
        "a queued message with a known id is replaced where it stands",
        queue("q1", "q2", "q3"),
        put("queued", "q2", "edited"),
        session(
            {"status": ERROR | IS_READ},
            queuedMessages=[waiting("q1"), waiting("q2", "edited"), waiting("q3")],
        ),
        "session/pendingMessageSet/queued-updated-in-place",
    ),
    case(
        "the slot and the queue do not know each other's ids",
        queue("q1"),
        [put("steering", "q1"), put("queued", "q1")],
        queue("q1", steeringMessage=waiting("q1")),
    ),
]

REMOVED = [
    case(
        "the message that steers is taken away",
        queue("s1", steeringMessage=waiting("s1")),
        remove("steering", "s1"),
        queue("s1"),
        "session/pendingMessageRemoved/removes-steering",
    ),
    case(
        "a queued message is taken away, and the others keep their order",
        queue("q1", "q2", "q3", steeringMessage=waiting("q2")),
        remove("queued", "q2"),
        queue("q1", "q3", steeringMessage=waiting("q2")),
        "session/pendingMessageRemoved/removes-queued",
    ),
    case(
        "the last queued message takes the queue with it",
        queue("q1"),
        remove("queued", "q1"),
        queue(),
        "session/pendingMessageRemoved/removes-queued",
    ),
    case("another id leaves the slot alone", queue(steeringMessage=waiting("s1")), remove("steering", "s2")),
    case("an empty slot stays empty", queue("s1"), remove("steering", "s1")),
    case("another id leaves the queue alone", queue("q1"), remove("queued", "q2")),
    case("no queue stays no queue", queue(steeringMessage=waiting("q1")), remove("queued", "q1")),
]

REORDERED = [
    case(
        "the queue takes the order that is given",
        queue("a", "b", "c"),
        order("c", "a", "b"),
        queue("c", "a", "b"),
        "session/queuedMessagesReordered/new-order",
    ),
    case(
        "ids that are not in the queue are passed over",
        queue("a", "b"),
        order("x", "b", "y", "a"),
        queue("b", "a"),
        "session/queuedMessagesReordered/unknown-ids-ignored",
    ),
    case(
        "messages that are not named stay at the end, in the order that they had",
        queue("a", "b", "c", "d"),
        order("c"),
        queue("c", "a", "b", "d"),
        "session/queuedMessagesReordered/unlisted-kept-at-end",
    ),
    case(
        "an empty order keeps the queue",
        queue("a", "b"),
        order(),
        None,
        "session/queuedMessagesReordered/unlisted-kept-at-end",
    ),
    case(
        "an id that is named twice counts once", queue("a", "b"), order("b", "b", "a", "b"), queue("b", "a")
    ),
    case("no queue stays no queue", queue(steeringMessage=waiting("a")), order("a")),
    case(
        "two messages with one id both stay when they are not named",
        queue("a", "a", "b"),
        order("b"),
        queue("b", "a", "a"),
        "session/queuedMessagesReordered/unlisted-kept-at-end",
    ),
]

CASES: list[Case] = [*SET, *REMOVED, *REORDERED]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)
