"""The notifications: messages without an answer. An envelope is the notification `action`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from serai.ahp.actions import StateAction
from serai.ahp.commands import BaseParams
from serai.ahp.types import (
    URI,
    AgentSelection,
    ChangesetSummary,
    Count,
    FreeForm,
    ModelSelection,
    Number,
    ProjectInfo,
    SessionSummary,
)
from serai.ahp.wire import Value


class UnsubscribeParams(BaseParams):
    """The client ends its subscription to a channel."""


class DispatchActionParams(BaseParams):
    """The client dispatches an action. `client_seq` is the client's own number for it."""

    client_seq: Count
    action: StateAction


class SessionAddedParams(BaseParams):
    """A session was created."""

    summary: SessionSummary


class SessionRemovedParams(BaseParams):
    """A session was removed."""

    session: URI


class SessionSummaryChanges(Value):
    """The changed fields of a summary. Its resource, provider and time of creation never change.

    Of the fields that can be cleared, an agent that is `None` was: it travels as `null`, for the protocol has
    no other way. An activity is then empty, and so is a list of changesets.
    """

    title: str | None = None
    status: Count | None = None
    modified_at: Number | None = None
    activity: str | None = None
    project: ProjectInfo | None = None
    model: ModelSelection | None = None
    agent: AgentSelection | UnsetType | None = UNSET
    working_directory: URI | None = None
    changesets: list[ChangesetSummary] | None = None


class SessionSummaryChangedParams(BaseParams):
    """A session's summary has changed."""

    session: URI
    changes: SessionSummaryChanges


class AuthRequiredParams(BaseParams):
    """A protected resource needs a token, or a new one."""

    resource: str
    reason: str | None = None
    """`required` or `expired`."""


class OtlpExportParams(BaseParams):
    """Telemetry in OTLP's JSON: logs, traces or metrics."""

    payload: FreeForm
