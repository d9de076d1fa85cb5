"""Who may dispatch which action, and on which kind of channel."""

from __future__ import annotations

from typing import Any

from serai.ahp import actions as a
from serai.ahp.reducers import CHANNEL_TYPES, LiveState
from serai.ahp.wire import Value

__all__ = ["CLIENT_ACTIONS", "belongs", "client_may_dispatch"]

CLIENT_ACTIONS: frozenset[type[Value]] = frozenset({
    a.RootConfigChangedAction,
    a.SessionTurnStartedAction,
    a.SessionTurnCancelledAction,
    a.SessionTruncatedAction,
    a.SessionToolCallConfirmedAction,
    a.SessionToolCallCompleteAction,
    a.SessionToolCallResultConfirmedAction,
    a.SessionToolCallContentChangedAction,
    a.SessionTitleChangedAction,
    a.SessionModelChangedAction,
    a.SessionAgentChangedAction,
    a.SessionIsReadChangedAction,
    a.SessionIsArchivedChangedAction,
    a.SessionActiveClientChangedAction,
    a.SessionActiveClientToolsChangedAction,
    a.SessionCustomizationToggledAction,
    a.SessionConfigChangedAction,
    a.SessionPendingMessageSetAction,
    a.SessionPendingMessageRemovedAction,
    a.SessionQueuedMessagesReorderedAction,
    a.SessionInputAnswerChangedAction,
    a.SessionInputCompletedAction,
    a.TerminalInputAction,
    a.TerminalResizedAction,
    a.TerminalClaimedAction,
    a.TerminalTitleChangedAction,
    a.TerminalClearedAction,
})  # fmt: skip
"""What a client may dispatch. All else comes from the host alone."""

_ACTIONS_OF = {channel.live: channel.actions for channel in CHANNEL_TYPES}


def client_may_dispatch(action: a.StateAction) -> bool:
    """Whether actions of this type may come from a client."""
    return type(action) in CLIENT_ACTIONS


def belongs(state: LiveState[Any], action: a.StateAction) -> bool:
    """Whether the action is one of this channel's own."""
    return type(action) in _ACTIONS_OF[type(state)]
