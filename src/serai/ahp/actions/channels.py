"""The base of all actions, and the actions of every channel but the session channel."""

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
    """A change to the state of one channel. The envelope names the channel."""


class RootAgentsChangedAction(Action, tag="root/agentsChanged"):
    """The list of agents has changed."""

    agents: list[AgentInfo]


class RootActiveSessionsChangedAction(Action, tag="root/activeSessionsChanged"):
    """The number of sessions with a running turn has changed."""

    active_sessions: Number


class RootTerminalsChangedAction(Action, tag="root/terminalsChanged"):
    """A terminal was created, claimed, released or disposed of."""

    terminals: list[TerminalInfo]


class RootConfigChangedAction(Action, tag="root/configChanged"):
    """Settings of the host have changed: they are merged into the old ones, or replace them."""

    config: FreeForm
    replace: bool | None = None


RootAction: TypeAlias = (
    RootAgentsChangedAction
    | RootActiveSessionsChangedAction
    | RootTerminalsChangedAction
    | RootConfigChangedAction
)


class TerminalDataAction(Action, tag="terminal/data"):
    """The terminal has put out data."""

    data: str


class TerminalInputAction(Action, tag="terminal/input"):
    """A client has sent input. It changes no state: its effects come back as data."""

    data: str


class TerminalResizedAction(Action, tag="terminal/resized"):
    """The size of the terminal has changed."""

    cols: Count
    rows: Count


class TerminalClaimedAction(Action, tag="terminal/claimed"):
    """The holder of the terminal has changed."""

    claim: TerminalClaim


class TerminalTitleChangedAction(Action, tag="terminal/titleChanged"):
    """The title of the terminal has changed."""

    title: str


class TerminalCwdChangedAction(Action, tag="terminal/cwdChanged"):
    """The working directory of the shell has changed."""

    cwd: URI


class TerminalExitedAction(Action, tag="terminal/exited"):
    """The process has ended. Without a code, a signal ended it, or its end was not observed."""

    exit_code: Count | None = None


class TerminalClearedAction(Action, tag="terminal/cleared"):
    """The content of the terminal was cleared."""


class TerminalCommandDetectionAvailableAction(Action, tag="terminal/commandDetectionAvailable"):
    """The shell reports the beginning and the end of each command."""


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
    """The host has begun to compute the changeset, has completed it, or has failed."""

    status: Annotated[str, ChangesetStatus]
    error: ErrorInfo | None = None


class ChangesetFileSetAction(Action, tag="changeset/fileSet"):
    """A file was added to the changeset, or has changed again."""

    file: ChangesetFile


class ChangesetFileRemovedAction(Action, tag="changeset/fileRemoved"):
    """A file was removed from the changeset."""

    file_id: str


class ChangesetOperationsChangedAction(Action, tag="changeset/operationsChanged"):
    """The possible operations have changed; absent means none."""

    operations: list[ChangesetOperation] | None = None


class ChangesetClearedAction(Action, tag="changeset/cleared"):
    """The changeset is empty now."""


ChangesetAction: TypeAlias = (
    ChangesetStatusChangedAction
    | ChangesetFileSetAction
    | ChangesetFileRemovedAction
    | ChangesetOperationsChangedAction
    | ChangesetClearedAction
)


class ResourceWatchChangedAction(Action, tag="resourceWatch/changed"):
    """Resources have changed. The action changes no state: the state of a watch is only what it watches."""

    changes: ResourceChanges


ResourceWatchAction: TypeAlias = ResourceWatchChangedAction
