"""The life of a tool call: every step that there is, every one that there is not, and what each keeps."""

from __future__ import annotations

import pytest

from ahp.reducers.calls import (
    ALLOWED,
    APPROVE,
    ASK,
    BASE,
    CALLS,
    COMPLETE,
    COMPLETE_ASKING,
    CONTENT,
    DELTA,
    DENY,
    EVERY_ACTION,
    INPUT,
    NO,
    OFFER,
    READY,
    READY_CONFIRMED,
    RESULT,
    RESULT_NO,
    RESULT_YES,
    START,
    SUGGESTION,
    TEXT,
    YES,
    act,
    at,
    reached,
)
from ahp.reducers.cases import (
    IN_PROGRESS,
    IS_READ,
    Case,
    call,
    case,
    changed,
    check,
    markdown,
    params,
    running,
)
from serai.ahp.types import SessionState

STEPS: list[Case] = [
    case(
        "input that streams is added, and its message is replaced",
        at("streaming"),
        DELTA,
        at("streaming", partialInput='{"cmd":', invocationMessage={"markdown": "*Typing*"}),
        "session/toolCallDelta/appends-to-input",
        "session/toolCallDelta/updates-message",
        "ToolCallResponsePart/found-by-tool-call-id",
    ),
    case(
        "a streaming call that is ready waits for leave",
        at("streaming"),
        READY,
        reached("pending-confirmation", **ASK, **OFFER),
        "session/toolCallReady/streaming-to-pending",
        "ToolCallPendingConfirmationState/initial-or-again",
    ),
    case(
        "a streaming call that is ready and confirmed runs",
        at("streaming"),
        READY_CONFIRMED,
        reached("running", **ASK, confirmed="setting"),
        "session/toolCallReady/streaming-to-running",
    ),
    case(
        "a running call that needs leave again waits for it, and says what for",
        at("running"),
        act("Ready", invocationMessage={"markdown": "Also *delete*?"}),
        reached("pending-confirmation", invocationMessage={"markdown": "Also *delete*?"}),
        "session/toolCallReady/running-back-to-pending",
        "session/toolCallReady/describes-reconfirmation",
        "ToolCallPendingConfirmationState/initial-or-again",
    ),
    case(
        "a pending call that is approved runs, with the edited input and the option that was chosen",
        at("pending-confirmation"),
        APPROVE,
        reached("running", invocationMessage="Run ls", toolInput="{1}", **ALLOWED),
        "session/toolCallConfirmed/approved/to-running",
        "session/toolCallConfirmed/approved/edited-input-used",
        "session/toolCallConfirmed/approved/option-kept",
    ),
    case(
        "a pending call that is denied is cancelled, with the reason, the words, the wish and the option",
        at("pending-confirmation"),
        DENY,
        reached(
            "cancelled",
            **INPUT,
            reason="denied",
            reasonMessage={"markdown": "*no*"},
            userSuggestion=SUGGESTION,
            selectedOption=NO,
        ),
        "session/toolCallConfirmed/denied/to-cancelled",
    ),
    case(
        "a running call that is done is completed, with the result in it and its content gone",
        at("running"),
        act("Complete", result={"success": True, "pastTenseMessage": "Ran"}),
        reached("completed", **INPUT, **ALLOWED, success=True, pastTenseMessage="Ran"),
        "session/toolCallComplete/to-completed",
        "ToolCallCompletedState/success-or-error",
    ),
    case(
        "a result that needs leave waits for it",
        at("running"),
        COMPLETE_ASKING,
        reached("pending-result-confirmation", **INPUT, **ALLOWED, **RESULT),
        "session/toolCallComplete/to-pending-result",
        "ToolCallPendingResultConfirmationState/result-waits",
    ),
    case(
        "a pending call that completes needed no leave",
        at("pending-confirmation"),
        COMPLETE,
        reached("completed", **INPUT, confirmed="not-needed", **RESULT),
    ),
    case(
        "a result that is let through completes the call",
        at("pending-result-confirmation"),
        RESULT_YES,
        reached("completed", **INPUT, **ALLOWED, **RESULT),
        "session/toolCallResultConfirmed/approved-to-completed",
    ),
    case(
        "a result that is refused cancels the call and is gone",
        at("pending-result-confirmation"),
        RESULT_NO,
        reached("cancelled", **INPUT, reason="result-denied", selectedOption=YES),
        "session/toolCallResultConfirmed/denied-to-cancelled",
    ),
    case(
        "what a running call shows is replaced",
        at("running"),
        CONTENT,
        at("running", content=[TEXT, TEXT]),
        "session/toolCallContentChanged/replaces-content",
    ),
    case(
        "a call that was sent back is approved in the usual way",
        at("running"),
        [READY, act("Confirmed", approved=True, confirmed="user-action", selectedOptionId="no")],
        reached("running", **ASK, confirmed="user-action", selectedOption=NO),
        "session/toolCallReady/answered-the-usual-way",
    ),
]

LEGAL: dict[str, set[str]] = {
    "streaming": {"delta", "ready", "ready, confirmed"},
    "pending-confirmation": {"approve", "deny", "complete", "complete, asking"},
    "running": {"ready", "ready, confirmed", "complete", "complete, asking", "content"},
    "pending-result-confirmation": {"result yes", "result no"},
    "completed": set(),
    "cancelled": set(),
    "paused": set(),
}

STARTS = [
    case(
        "a call begins as streaming, with all that stays with it",
        running(markdown("p1", "a"), status=IN_PROGRESS | IS_READ),
        {**START, **BASE},
        running(markdown("p1", "a"), call("streaming", **BASE), status=IN_PROGRESS | IS_READ),
        "session/toolCallStart/adds-streaming-call",
    )
]

CASES: list[Case] = [*STEPS, *STARTS]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)


@pytest.mark.parametrize("status", CALLS)
def test_a_call_takes_no_other_step(status: str) -> None:
    for name, action in EVERY_ACTION.items():
        if name not in LEGAL[status]:
            check(case(name, at(status), action), SessionState)
            continue
        for other in ({"turnId": "t2"}, {"toolCallId": "c2"}):
            check(case(name, at(status), changed(action, **other)), SessionState)
