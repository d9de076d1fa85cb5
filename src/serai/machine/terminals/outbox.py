"""What a terminal has to tell, as AHP actions that wait to be taken."""

from __future__ import annotations

import time
from pathlib import Path

from serai.ahp import actions as a
from serai.machine.terminals import marks

__all__ = ["TerminalOutbox"]

_UNSEEN = 137
"""What is told of an end that nobody saw. Who would have seen it was killed, and what it kept is killed then:
128 and the number of that signal."""


class TerminalOutbox:
    """Turns what is in a terminal's output into actions, in their order.

    Text is in one action as long as nothing else happens. Of titles and directories only the last is kept: a
    program may set a title with every line that it writes.
    """

    def __init__(self) -> None:
        self.size = 0
        """How many characters of text wait."""
        self.at_prompt = False
        """Whether the shell waits for a command, as far as it has told."""
        self._actions: list[a.TerminalAction] = []
        self._text: list[str] = []
        self._title: str | None = None
        self._cwd: str | None = None
        self._told: tuple[str | None, str | None] = None, None
        """The title and the directory that were taken last."""
        self._exited: a.TerminalExitedAction | None = None
        self._detects = False
        self._commands = 0
        self._command: tuple[str, float] | None = None

    def __bool__(self) -> bool:
        return bool(self._actions or self._text) or not all(
            each is None for each in (self._title, self._cwd, self._exited)
        )

    def take(self) -> list[a.TerminalAction]:
        """All that waits; then nothing does."""
        self._end_text()
        actions, self._actions = self._actions, []
        if self._title is not None:
            actions.append(a.TerminalTitleChangedAction(title=self._title))
        if self._cwd is not None:
            actions.append(a.TerminalCwdChangedAction(cwd=self._cwd))
        if self._exited is not None:
            actions.append(self._exited)
        title, cwd = self._told
        self._told = (
            title if self._title is None else self._title,
            cwd if self._cwd is None else self._cwd,
        )
        self._title = self._cwd = self._exited = None
        self.size = 0
        return actions

    def tell(self, events: list[marks.Event]) -> None:
        """Add what was found in the output."""
        for event in events:
            match event:
                case marks.Data(text):
                    self._text.append(text)
                    self.size += len(text)
                case marks.Title(text):
                    self._title = _news(text, self._told[0])
                case marks.Cwd(path) if path.startswith("/"):
                    self._cwd = _news(Path(path).as_uri(), self._told[1])
                case _:
                    self._tell_of_command(event)

    def exited(self, status: int | None) -> None:
        """The program has ended, and with it the command that it ran last.

        A terminal without a code is one that runs, so there is always one.
        """
        self._finish(status)
        self._exited = a.TerminalExitedAction(exit_code=_UNSEEN if status is None else status)

    def _tell_of_command(self, event: marks.Event) -> None:
        match event:
            case marks.MarkedCommand(line):
                self._finish(None)  # the end of the one before was not told
                self._start(line)
            case marks.CommandFinished(exit_code):
                self._finish(exit_code)
            case marks.PromptStart():
                self.at_prompt = True
                if not self._detects:
                    self._detects = True
                    self._add(a.TerminalCommandDetectionAvailableAction())
            case _:
                pass

    def _start(self, line: str) -> None:
        self.at_prompt = False
        self._commands += 1
        name = f"command-{self._commands}"
        self._command = name, time.monotonic()
        now = int(time.time() * 1000)
        self._add(a.TerminalCommandExecutedAction(command_id=name, command_line=line, timestamp=now))

    def _finish(self, exit_code: int | None) -> None:
        if self._command is None:
            return
        name, began = self._command
        self._command = None
        took = int((time.monotonic() - began) * 1000)
        self._add(a.TerminalCommandFinishedAction(command_id=name, exit_code=exit_code, duration_ms=took))

    def _add(self, action: a.TerminalAction) -> None:
        self._end_text()
        self._actions.append(action)

    def _end_text(self) -> None:
        if self._text:
            self._actions.append(a.TerminalDataAction(data="".join(self._text)))
            self._text.clear()


def _news(value: str, told: str | None) -> str | None:
    return None if value == told else value
