"""The life of a tool call: from one state and an action to the next state.

Each function returns the state that it was given when the action does not apply to it. Every step makes a
fresh state: what the next one does not list is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from serai.ahp.actions import (
    SessionToolCallCompleteAction,
    SessionToolCallConfirmedAction,
    SessionToolCallContentChangedAction,
    SessionToolCallReadyAction,
    SessionToolCallResultConfirmedAction,
    SessionToolCallStartAction,
)
from serai.ahp.types import (
    ConfirmationOption,
    ToolCallBase,
    ToolCallCancellationReason,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallConfirmationReason,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallResult,
    ToolCallRunningState,
    ToolCallState,
    ToolCallStreamingState,
)

_Asked = ToolCallPendingConfirmationState | ToolCallRunningState | ToolCallPendingResultConfirmationState
_WAITING = frozenset({ToolCallPendingConfirmationState, ToolCallPendingResultConfirmationState})


def is_waiting(call: ToolCallState) -> bool:
    """Tell whether this call waits for a confirmation."""
    return call.__class__ in _WAITING


def start(action: SessionToolCallStartAction) -> ToolCallStreamingState:
    """Return the first state of a call."""
    return ToolCallStreamingState(**_base(action))


def ready(call: ToolCallState, action: SessionToolCallReadyAction) -> ToolCallState:
    """Move streaming | running to running if it is confirmed already, else to pending-confirmation."""
    if not isinstance(call, ToolCallStreamingState | ToolCallRunningState):
        return call
    if action.confirmed is not None:
        return ToolCallRunningState(
            **_base(call),
            invocation_message=action.invocation_message,
            tool_input=action.tool_input,
            confirmed=action.confirmed,
        )
    return ToolCallPendingConfirmationState(
        **_base(call),
        invocation_message=action.invocation_message,
        tool_input=action.tool_input,
        confirmation_title=action.confirmation_title,
        edits=action.edits,
        editable=action.editable,
        options=action.options,
    )


def confirm(call: ToolCallState, action: SessionToolCallConfirmedAction) -> ToolCallState:
    """Move pending-confirmation to running | cancelled."""
    if not isinstance(call, ToolCallPendingConfirmationState):
        return call
    option = next((o for o in call.options or () if o.id == action.selected_option_id), None)
    if action.approved:
        kept = _asked(call)
        if action.edited_tool_input is not None:
            kept["tool_input"] = action.edited_tool_input
        return ToolCallRunningState(
            **kept,
            confirmed=action.confirmed or "",  # an approval always has it
            selected_option=option,
        )
    return ToolCallCancelledState(
        **_asked(call),
        reason=action.reason or "",  # a denial always has it
        reason_message=action.reason_message,
        user_suggestion=action.user_suggestion,
        selected_option=option,
    )


def complete(call: ToolCallState, action: SessionToolCallCompleteAction) -> ToolCallState:
    """Move running | pending-confirmation to completed | pending-result-confirmation."""
    option: ConfirmationOption | None = None
    confirmed: str = ToolCallConfirmationReason.NOT_NEEDED
    if isinstance(call, ToolCallRunningState):
        option, confirmed = call.selected_option, call.confirmed
    elif not isinstance(call, ToolCallPendingConfirmationState):
        return call
    after = (
        ToolCallPendingResultConfirmationState
        if action.requires_result_confirmation
        else ToolCallCompletedState
    )
    return after(
        **_asked(call),
        **_result(action.result),
        confirmed=confirmed,
        selected_option=option,
    )


def confirm_result(call: ToolCallState, action: SessionToolCallResultConfirmedAction) -> ToolCallState:
    """Move pending-result-confirmation to completed | cancelled."""
    if not isinstance(call, ToolCallPendingResultConfirmationState):
        return call
    if action.approved:
        return ToolCallCompletedState(
            **_asked(call),
            **_result(call),
            confirmed=call.confirmed,
            selected_option=call.selected_option,
        )
    return ToolCallCancelledState(
        **_asked(call),
        reason=ToolCallCancellationReason.RESULT_DENIED,
        selected_option=call.selected_option,
    )


STEPS: Mapping[type, Callable[[ToolCallState, Any], ToolCallState]] = {
    SessionToolCallReadyAction: ready,
    SessionToolCallConfirmedAction: confirm,
    SessionToolCallCompleteAction: complete,
    SessionToolCallResultConfirmedAction: confirm_result,
}
"""The actions that move a call to another state, which may change the session's status, too."""


def set_content(call: ToolCallState, action: SessionToolCallContentChangedAction) -> ToolCallState:
    """Replace the content that a running tool shows."""
    return replace(call, content=action.content) if isinstance(call, ToolCallRunningState) else call


def skip(call: ToolCallState) -> ToolCallState:
    """Cancel a call that has not finished, since its turn has ended."""
    kept: dict[str, Any]
    if isinstance(call, ToolCallStreamingState):
        kept = {**_base(call), "invocation_message": call.invocation_message or ""}
    elif isinstance(call, _Asked):
        kept = _asked(call)
    else:
        return call
    return ToolCallCancelledState(**kept, reason=ToolCallCancellationReason.SKIPPED)


# -- what goes from one state into the next ----------------------------------------------------------------


_BASE = [name for name in ToolCallBase.__struct_fields__ if name != "extra"]
_RESULT = [name for name in ToolCallResult.__struct_fields__ if name != "extra"]
_CALL_FIELDS = frozenset({"status", *ToolCallCompletedState.__struct_encode_fields__})


def _base(call: SessionToolCallStartAction | ToolCallBase) -> dict[str, Any]:
    return {name: getattr(call, name) for name in _BASE}


def _asked(call: _Asked) -> dict[str, Any]:
    return {**_base(call), "invocation_message": call.invocation_message, "tool_input": call.tool_input}


def _result(result: ToolCallResult | ToolCallPendingResultConfirmationState) -> dict[str, Any]:
    fields = {name: getattr(result, name) for name in _RESULT}
    # Unknown fields of the result are kept, but none may replace a field of the call itself.
    extra = {} if result.extra is UNSET else result.extra
    unknown = {name: value for name, value in extra.items() if name not in _CALL_FIELDS}
    return {**fields, "extra": unknown or UNSET}
