"""Actions of the root channel."""

from __future__ import annotations

from typing import TypeAlias

from serai.ahp.actions.base import Action
from serai.ahp.types import AgentInfo, FreeForm, Number, TerminalInfo

__all__ = [
    "RootAction",
    "RootActiveSessionsChangedAction",
    "RootAgentsChangedAction",
    "RootConfigChangedAction",
    "RootTerminalsChangedAction",
]


class RootAgentsChangedAction(Action, tag="root/agentsChanged"):
    """The list of agents is another one."""

    agents: list[AgentInfo]


class RootActiveSessionsChangedAction(Action, tag="root/activeSessionsChanged"):
    """More or fewer sessions have a turn running."""

    active_sessions: Number


class RootTerminalsChangedAction(Action, tag="root/terminalsChanged"):
    """A terminal was made, claimed, left or disposed of."""

    terminals: list[TerminalInfo]


class RootConfigChangedAction(Action, tag="root/configChanged"):
    """Settings of the host were changed: merged into the old ones, or instead of them."""

    config: FreeForm
    replace: bool | None = None


RootAction: TypeAlias = (
    RootAgentsChangedAction
    | RootActiveSessionsChangedAction
    | RootTerminalsChangedAction
    | RootConfigChangedAction
)
