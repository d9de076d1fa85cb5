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
        "a queued message with a known id is replaced where it stands",
        queue("q1", "q2", "q3"),
        put("queued", "q2", "edited"),
        session(
            {"status": ERROR | IS_READ},
            queuedMessages=[waiting("q1"), waiting("q2", "edited"), waiting("q3")],
        ),
        "session/pendingMessageSet/queued-updated-in-place",
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
]

CASES: list[Case] = [*SET, *REMOVED, *REORDERED]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)
