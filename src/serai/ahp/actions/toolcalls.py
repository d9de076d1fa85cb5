"""Actions that move a tool call through its life."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import field

from serai.ahp.actions.channels import Action
from serai.ahp.types import (
    ConfirmationOption,
    FileEdits,
    FreeForm,
    StringOrMarkdown,
    ToolCallCancellationReason,
    ToolCallConfirmationReason,
    ToolCallResult,
    ToolResultContent,
    UserMessage,
)


class ToolCallActionBase(Action):
    """Which call of which turn. `_meta` of a later action is not stored: the first one's stays."""

    turn_id: str
    tool_call_id: str
    meta: FreeForm | None = field(default=None, name="_meta")


class SessionToolCallStartAction(ToolCallActionBase, tag="session/toolCallStart"):
    """A call begins. With `tool_client_id`, that client is going to run it."""

    tool_name: str
    display_name: str
    tool_client_id: str | None = None


class SessionToolCallDeltaAction(ToolCallActionBase, tag="session/toolCallDelta"):
    """More of the call's input."""

    content: str
    invocation_message: StringOrMarkdown | None = None


class SessionToolCallReadyAction(ToolCallActionBase, tag="session/toolCallReady"):
    """The input is whole, or a running call needs another permission. With `confirmed` it runs at once."""

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmation_title: StringOrMarkdown | None = None
    edits: FileEdits | None = None
    editable: bool | None = None
    confirmed: Annotated[str, ToolCallConfirmationReason] | None = None
    options: list[ConfirmationOption] | None = None


class SessionToolCallConfirmedAction(ToolCallActionBase, tag="session/toolCallConfirmed"):
    """Someone said yes (`approved`, with `confirmed`) or no (with `reason`).

    The page has a type for each; JSON tells them apart by a boolean, so here they are one.
    """

    approved: bool
    confirmed: Annotated[str, ToolCallConfirmationReason] | None = None
    edited_tool_input: str | None = None
    reason: Annotated[str, ToolCallCancellationReason] | None = None
    user_suggestion: UserMessage | None = None
    reason_message: StringOrMarkdown | None = None
    selected_option_id: str | None = None

    def __post_init__(self) -> None:
        # In msgspec's own words, so that the error names the field as it does for every other one.
        if self.approved and self.confirmed is None:
            raise ValueError("Object missing required field `confirmed`")
        if not self.approved and self.reason is None:
            raise ValueError("Object missing required field `reason`")


class SessionToolCallCompleteAction(ToolCallActionBase, tag="session/toolCallComplete"):
    """The tool is done."""

    result: ToolCallResult
    requires_result_confirmation: bool | None = None


class SessionToolCallResultConfirmedAction(ToolCallActionBase, tag="session/toolCallResultConfirmed"):
    """Someone let the result be used, or did not."""

    approved: bool


class SessionToolCallContentChangedAction(ToolCallActionBase, tag="session/toolCallContentChanged"):
    """What a running tool has to show now."""

    content: list[ToolResultContent]


ToolCallAction: TypeAlias = (
    SessionToolCallStartAction
    | SessionToolCallDeltaAction
    | SessionToolCallReadyAction
    | SessionToolCallConfirmedAction
    | SessionToolCallCompleteAction
    | SessionToolCallResultConfirmedAction
    | SessionToolCallContentChangedAction
)
