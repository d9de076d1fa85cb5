"""The turn: text that streams, parts, usage, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import (
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_ARCHIVED,
    IS_READ,
    NEWER,
    NOW,
    Case,
    Json,
    active,
    call,
    case,
    check,
    markdown,
    message,
    params,
    reasoning,
    running,
    session,
    turn,
)
from requirements import proves
from serai.ahp.types import SessionState

FLAGS = IS_ARCHIVED | NEWER
PENDING = call("pending-confirmation", invocationMessage="Run ls")
ERROR_INFO: Json = {"errorType": "overload", "message": "try later"}
USAGE: Json = {"inputTokens": 10, "outputTokens": 5.5, "model": "m"}
REQUEST: Json = {"id": "r1", "message": "Which one?"}
CONTENT_REF: Json = {"kind": "contentRef", "uri": "file:///big", "sizeHint": 9}
NOTICE: Json = {"kind": "systemNotification", "content": {"markdown": "*done*"}}
STRANGER: Json = {"kind": "hologram", "id": "p1", "light": None}


def started(turn_id: str = "t1", **fields: Any) -> Json:
    return {"type": "session/turnStarted", "turnId": turn_id, "userMessage": message(), **fields}


def delta(part: str, content: str, turn_id: str = "t1") -> Json:
    return {"type": "session/delta", "turnId": turn_id, "partId": part, "content": content}


def thought(part: str, content: str, turn_id: str = "t1") -> Json:
    return {"type": "session/reasoning", "turnId": turn_id, "partId": part, "content": content}


def part(added: Json, turn_id: str = "t1") -> Json:
    return {"type": "session/responsePart", "turnId": turn_id, "part": added}


def usage(reported: Json, turn_id: str = "t1") -> Json:
    return {"type": "session/usage", "turnId": turn_id, "usage": reported}


def complete(turn_id: str = "t1") -> Json:
    return {"type": "session/turnComplete", "turnId": turn_id}


def cancelled(turn_id: str = "t1") -> Json:
    return {"type": "session/turnCancelled", "turnId": turn_id}


def failed(turn_id: str = "t1") -> Json:
    return {"type": "session/error", "turnId": turn_id, "error": ERROR_INFO}


def queued(*ids: str) -> list[Json]:
    return [{"id": each, "userMessage": message(each)} for each in ids]


STARTING = [
    case(
        "a turn opens empty and the session is in progress and unread",
        session({"status": IDLE | IS_READ | FLAGS}),
        started(),
        session({"status": IN_PROGRESS | FLAGS, "modifiedAt": NOW}, activeTurn=active()),
        "session/turnStarted/opens-active-turn",
    ),
    case(
        "a turn from the queue takes its message off the queue",
        session(queuedMessages=queued("q1", "q2", "q3")),
        started(queuedMessageId="q2"),
        session(
            {"status": IN_PROGRESS, "modifiedAt": NOW}, queuedMessages=queued("q1", "q3"), activeTurn=active()
        ),
        "session/turnStarted/from-queue",
    ),
]

STREAMING = [
    case(
        "text is added at the end of its part, and nothing else is touched",
        running(markdown("p1", "Hel"), markdown("p2", "-"), status=IN_PROGRESS | IS_READ),
        [delta("p1", "lo"), delta("p2", ">"), delta("p1", " 🙂"), delta("p1", "")],
        running(markdown("p1", "Hello 🙂"), markdown("p2", "->"), status=IN_PROGRESS | IS_READ),
        "session/delta/appends-to-part",
    ),
    case(
        "reasoning is added at the end of its part",
        running(reasoning("p1", "Hm"), markdown("p2", "-")),
        [thought("p1", ", "), thought("p1", "yes")],
        running(reasoning("p1", "Hm, yes"), markdown("p2", "-")),
        "session/reasoning/appends-to-part",
    ),
    case(
        "of two parts with one id the first grows, and only if it is of the kind",
        running(markdown("p1", "a"), reasoning("p1", "b"), markdown("p1", "c")),
        [delta("p1", "!"), thought("p1", "?"), part(markdown("p1", "d")), delta("p1", "!")],
        running(markdown("p1", "a!!"), reasoning("p1", "b"), markdown("p1", "c"), markdown("p1", "d")),
    ),
    case(
        "text for a part that was never made changes nothing",
        running(markdown("p1", "a")),
        [delta("p2", "b"), delta("", "b")],
        None,
        "session/delta/missing-part-unchanged",
    ),
    case(
        "reasoning for a part that was never made changes nothing",
        running(reasoning("p1", "a")),
        thought("p2", "b"),
        None,
        "session/reasoning/missing-part-unchanged",
    ),
]

PARTS = [
    case(
        "parts are put at the end, in the order in which they come, whatever their kind",
        running(markdown("p1", "a")),
        [part(reasoning("p2")), part(CONTENT_REF), part(NOTICE), part(STRANGER), part(call("streaming"))],
        running(markdown("p1", "a"), reasoning("p2"), CONTENT_REF, NOTICE, STRANGER, call("streaming")),
        "session/responsePart/appended-in-order",
        "ToolCallResponsePart/interleaved",
    ),
    case(
        "usage takes the place of the usage before it",
        running(),
        [usage({"inputTokens": 1, "cacheReadTokens": 2}), usage(USAGE)],
        session({"status": IN_PROGRESS}, activeTurn=active(usage=USAGE)),
        "session/usage/sets-usage",
    ),
]

ENDING = [
    case(
        "a complete turn joins the ended ones and the session is idle",
        session(
            {"status": IN_PROGRESS | IS_READ | FLAGS},
            turns=[turn("t0")],
            activeTurn=active(markdown("p1", "a"), usage=USAGE),
        ),
        [delta("p1", "b"), complete()],
        session(
            {"status": IDLE | IS_READ | FLAGS, "modifiedAt": NOW},
            turns=[turn("t0"), turn("t1", markdown("p1", "ab"), usage=USAGE)],
        ),
        "session/turnComplete/turn-moves-to-turns",
        "session/turnComplete/becomes-idle",
    ),
    case(
        "a cancelled turn joins the ended ones",
        running(reasoning("p1", "a")),
        cancelled(),
        session({"modifiedAt": NOW}, turns=[turn("t1", reasoning("p1", "a"), state="cancelled")]),
        "session/turnCancelled/turn-moves-to-turns",
    ),
    case(
        "a turn that failed joins the ended ones with its error, and the status shows it",
        running(markdown("p1", "a"), status=IN_PROGRESS | IS_READ | FLAGS),
        failed(),
        session(
            {"status": ERROR | IS_READ | FLAGS, "modifiedAt": NOW},
            turns=[turn("t1", markdown("p1", "a"), state="error", error=ERROR_INFO)],
        ),
        "session/error/turn-moves-to-turns",
        "session/error/status-error",
    ),
    *(
        case(
            f"open questions are given up when a turn is over: {how['type']}",
            running(status=INPUT_NEEDED, inputRequests=[REQUEST]),
            how,
            session({"status": status, "modifiedAt": NOW}, turns=[turn("t1", state=state, **fields)]),
        )
        for how, status, state, fields in (
            (complete(), IDLE, "complete", {}),
            (cancelled(), IDLE, "cancelled", {}),
            (failed(), ERROR, "error", {"error": ERROR_INFO}),
        )
    ),
    *(
        case(f"the end of another turn changes nothing: {how['type']}", running(inputRequests=[REQUEST]), how)
        for how in (complete("t9"), cancelled("t9"), failed("t9"))
    ),
]

CASES: list[Case] = [*STARTING, *STREAMING, *PARTS, *ENDING]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)


@proves("ahp:Turn/tool-calls-are-parts")
def test_the_tool_calls_of_an_ended_turn_are_among_its_parts() -> None:
    done = call(
        "completed", invocationMessage="Run", confirmed="setting", success=True, pastTenseMessage="Ran"
    )
    each = case(
        "",
        running(markdown("p1", "a"), done, markdown("p2", "b")),
        complete(),
        session({"modifiedAt": NOW}, turns=[turn("t1", markdown("p1", "a"), done, markdown("p2", "b"))]),
    )
    check(each, SessionState)
    assert [p["kind"] for p in each.then["turns"][0]["responseParts"]] == ["markdown", "toolCall", "markdown"]
