"""The status of a session, from its state."""

from __future__ import annotations

from typing import Any

import pytest

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import (
    ErrorInfo,
    SessionInputRequest,
    SessionState,
    SessionSummary,
    UserMessage,
)
from serai.contract import AgentStatus
from serai.host.session.core import status_of

READY = a.SessionReadyAction()
BEGUN = a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="hi"))
FAILED = a.SessionErrorAction(turn_id="t", error=ErrorInfo(error_type="auth_required", message="sign in"))
MARKED = a.SessionMetaChangedAction(meta={"serai.login": {}})
ASKED = a.SessionInputRequestedAction(request=SessionInputRequest(id="q"))


def session(*actions: a.StateAction) -> LiveSession:
    summary = SessionSummary(
        resource="ahp-session:/1", provider="p", title="", status=1, created_at=1, modified_at=1
    )
    live = LiveSession(SessionState(summary=summary, lifecycle="creating", turns=[]))
    for action in actions:
        live.apply(action, 2)
    return live


def call(**fields: Any) -> list[a.StateAction]:
    start = a.SessionToolCallStartAction(turn_id="t", tool_call_id="c", tool_name="rm", display_name="Remove")
    ready = a.SessionToolCallReadyAction(turn_id="t", tool_call_id="c", invocation_message="rm", **fields)
    return [READY, BEGUN, start, ready]


FELL = a.SessionCreationFailedAction(error=ErrorInfo(error_type="auth_required", message="sign in"))


@pytest.mark.parametrize(
    ("actions", "status"),
    [
        ([], AgentStatus.STARTING),
        ([READY], AgentStatus.IDLE),
        ([READY, BEGUN], AgentStatus.ACTIVE),
        (call(confirmed="not-needed"), AgentStatus.ACTIVE),
        (call(), AgentStatus.WAITING),
        ([READY, ASKED], AgentStatus.WAITING),
        ([FELL], AgentStatus.FAILED),
        ([FELL, MARKED], AgentStatus.BLOCKED),
        ([FELL, MARKED, READY, a.SessionMetaChangedAction(meta=None)], AgentStatus.IDLE),
        ([READY, BEGUN, FAILED], AgentStatus.IDLE),
        ([READY, BEGUN, FAILED, MARKED], AgentStatus.BLOCKED),
        ([READY, MARKED, BEGUN], AgentStatus.ACTIVE),
    ],
)
def test_the_status_follows_from_what_is_there(actions: list[a.StateAction], status: AgentStatus) -> None:
    assert status_of(session(*actions)) is status
