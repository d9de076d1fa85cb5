"""Actions of the terminal channel."""

from __future__ import annotations

from typing import TypeAlias

from serai.ahp.actions.root import Action
from serai.ahp.types import URI, Count, Number, TerminalClaim


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
