"""What becomes of the tool calls of a turn that ends while they are open.

The end of a turn cancels them as skipped: the protocol has it so. That must not be said of something that was
done, or half of it. So it is told of each, before the turn ends, what is known of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from serai.ahp import actions as a
from serai.ahp.types import (
    ToolCallError,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallResult,
    ToolCallRunningState,
)

if TYPE_CHECKING:
    from serai.host.session import Session
    from serai.host.tool_call import ToolCall

__all__ = ["OUTCOME_UNKNOWN", "end_calls", "untold"]

OUTCOME_UNKNOWN = "outcome_unknown"
"""The code of the error of a call that ran, and whose end nobody has told."""


def untold(who: str = "agent") -> ToolCallError:
    """Why a call that ran has failed: whoever ran it did not tell how it ended."""
    return ToolCallError(message=f"the {who} did not tell how this ended", code=OUTCOME_UNKNOWN)


def end_calls(session: Session, begun: Mapping[str, ToolCall] | None = None) -> None:
    """The turn that runs is about to end: tell of the calls that it leaves open what is known of them.

    What runs has failed, with what it has shown so far. A result that nobody has allowed may not be used.
    What has not begun is left to the end of the turn, which skips it.

    Args:
        session: The session.
        begun: Calls that run already while someone is asked whether they may, by their ids.
    """
    turn = session.live.turn
    if turn is None:
        return
    for call in turn.calls():
        match call:
            case ToolCallRunningState():
                shown, error = call.content, untold("agent" if call.tool_client_id is None else "client")
            case ToolCallPendingConfirmationState() if begun and call.tool_call_id in begun:
                shown, error = begun[call.tool_call_id].shown or None, untold()
            case ToolCallPendingResultConfirmationState():
                session.act(
                    a.SessionToolCallResultConfirmedAction(
                        turn_id=turn.id, tool_call_id=call.tool_call_id, approved=False
                    )
                )
                continue
            case _:
                continue
        message = call.invocation_message
        result = ToolCallResult(success=False, past_tense_message=message, content=shown, error=error)
        session.act(
            a.SessionToolCallCompleteAction(turn_id=turn.id, tool_call_id=call.tool_call_id, result=result)
        )
