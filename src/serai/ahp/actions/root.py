"""What all actions have in common, and the actions of the root channel."""

from __future__ import annotations

from typing import TypeAlias

from serai.ahp.types import AgentInfo, FreeForm, Number, TerminalInfo
from serai.ahp.wire import Value


class Action(Value, tag_field="type"):
    """A change to one channel's state. Which channel, its envelope says."""


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
