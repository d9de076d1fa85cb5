"""What all actions have in common, and the actions of the channels beside the sessions."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from serai.ahp.types import (
    URI,
    AgentInfo,
    ChangesetFile,
    ChangesetOperation,
    ChangesetStatus,
    Count,
    ErrorInfo,
    FreeForm,
    Number,
    ResourceChanges,
    TerminalClaim,
    TerminalInfo,
)
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


class TerminalDataAction(Action, tag="terminal/data"):
    """The terminal wrote something."""

    data: str


class TerminalInputAction(Action, tag="terminal/input"):
    """Someone typed something. It changes no state: what it causes comes back as data."""

    data: str


class TerminalResizedAction(Action, tag="terminal/resized"):
    """The terminal has another size."""

    cols: Count
    rows: Count


class TerminalClaimedAction(Action, tag="terminal/claimed"):
    """Someone else holds the terminal."""

    claim: TerminalClaim


class TerminalTitleChangedAction(Action, tag="terminal/titleChanged"):
    """The terminal has another title."""

    title: str


class TerminalCwdChangedAction(Action, tag="terminal/cwdChanged"):
    """The shell is in another directory."""

    cwd: URI


class TerminalExitedAction(Action, tag="terminal/exited"):
    """The process has ended; without a code, by a signal or unseen."""

    exit_code: Count | None = None


class TerminalClearedAction(Action, tag="terminal/cleared"):
    """What was on it is gone."""


class TerminalCommandDetectionAvailableAction(Action, tag="terminal/commandDetectionAvailable"):
    """The shell tells where commands begin and end."""


class TerminalCommandExecutedAction(Action, tag="terminal/commandExecuted"):
    """A command has begun."""

    command_id: str
    command_line: str
    timestamp: Number


class TerminalCommandFinishedAction(Action, tag="terminal/commandFinished"):
    """A command has ended."""

    command_id: str
    exit_code: Count | None = None
    duration_ms: Number | None = None


TerminalAction: TypeAlias = (
    TerminalDataAction
    | TerminalInputAction
    | TerminalResizedAction
    | TerminalClaimedAction
    | TerminalTitleChangedAction
    | TerminalCwdChangedAction
    | TerminalExitedAction
    | TerminalClearedAction
    | TerminalCommandDetectionAvailableAction
    | TerminalCommandExecutedAction
    | TerminalCommandFinishedAction
)


class ChangesetStatusChangedAction(Action, tag="changeset/statusChanged"):
    """The host began to compute, is done, or failed."""

    status: Annotated[str, ChangesetStatus]
    error: ErrorInfo | None = None


class ChangesetFileSetAction(Action, tag="changeset/fileSet"):
    """A file is new in the set, or has changed again."""

    file: ChangesetFile


class ChangesetFileRemovedAction(Action, tag="changeset/fileRemoved"):
    """A file is no longer changed."""

    file_id: str


class ChangesetOperationsChangedAction(Action, tag="changeset/operationsChanged"):
    """Other operations are possible; none when absent."""

    operations: list[ChangesetOperation] | None = None


class ChangesetClearedAction(Action, tag="changeset/cleared"):
    """Nothing is changed any more."""


ChangesetAction: TypeAlias = (
    ChangesetStatusChangedAction
    | ChangesetFileSetAction
    | ChangesetFileRemovedAction
    | ChangesetOperationsChangedAction
    | ChangesetClearedAction
)


class ResourceWatchChangedAction(Action, tag="resourceWatch/changed"):
    """Resources have changed. It passes through: a watch's state is what it watches."""

    changes: ResourceChanges


ResourceWatchAction: TypeAlias = ResourceWatchChangedAction
