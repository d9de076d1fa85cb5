"""One terminal as a channel: its program's output is shown, masked, and clients' input goes in."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, Verdict, judge, rejected
from serai.ahp.rules.session import ACCEPTED
from serai.ahp.types import (
    Count,
    TerminalClientClaim,
    TerminalInfo,
    TerminalSessionClaim,
    TerminalState,
    TerminalUnclassifiedPart,
    ToolResultTerminalContent,
)
from serai.errors import InvalidParams
from serai.host.channels import Channel
from serai.host.core import HostCore
from serai.journal.subscriptions import Subscriber
from serai.machine.processes.child import Exit
from serai.machine.terminals.scrollback import BoundedTerminal
from serai.machine.terminals.terminal import Terminal
from serai.redact import StreamRedactor

if TYPE_CHECKING:
    from serai.host.surroundings.terminals import Terminals

_SILENCE = 0.03
"""Seconds without output after which held-back text is shown: someone may be waiting for it."""


class HostTerminal(Channel):
    """One terminal, as its followers see it."""

    live: BoundedTerminal

    def __init__(self, host: HostCore, uri: str, state: TerminalState, owner: Terminals) -> None:
        super().__init__(host.journal, host.now, uri, BoundedTerminal(state))
        self._owner = owner
        self._host = host
        self._stream: StreamRedactor = host.redactor.stream(observed=True)
        self._terminal: Terminal | None = None
        self._pump: asyncio.Task[None] | None = None
        self.followed: asyncio.Task[None] | None = None
        """The task that follows the program's end, when the host runs it for a reason of its own."""
        self._silence: asyncio.TimerHandle | None = None
        """The timer that shows held-back text when no more comes."""

    def run(self, terminal: Terminal) -> None:
        """Show the output of a program."""
        self._terminal = terminal
        self._pump = asyncio.create_task(self._show(terminal), name=f"terminal {self.uri}")

    @property
    def info(self) -> TerminalInfo:
        """The entry in the root channel's list of terminals."""
        head = self.live.head
        return TerminalInfo(resource=self.uri, title=head.title, claim=head.claim, exit_code=head.exit_code)

    @property
    def content(self) -> ToolResultTerminalContent:
        """The content for a tool call that shows the terminal."""
        return ToolResultTerminalContent(resource=self.uri, title=self.live.head.title)

    @property
    def has_ended(self) -> bool:
        """True when the program has ended."""
        return self._pump is None or self._pump.done()

    @property
    def exit(self) -> Exit | None:
        """The end of the program; `None` while it runs, or when another host has run it."""
        return self._terminal.exit if self._terminal is not None else None

    def type(self, text: str) -> bool:
        """Type text. Returns `False`, and types nothing, when the program reads too slowly or has ended."""
        return self._terminal is not None and self._terminal.write(text)

    async def wait(self) -> Count | None:
        """Wait until all output is shown, and return the exit code. Cancelling ends nothing."""
        if self._pump is not None:
            await asyncio.shield(self._pump)
        return self.live.head.exit_code

    def text(self) -> str:
        """Return its text, as far as it is kept."""
        content = self.live.snapshot().content
        return "".join(
            part.value if isinstance(part, TerminalUnclassifiedPart) else getattr(part, "output", "")
            for part in content
        )

    async def _show(self, terminal: Terminal) -> None:
        try:
            while actions := await terminal.batch():
                self._end_silence()
                for action in actions:
                    if isinstance(action, a.TerminalDataAction):
                        self._show_text(self._stream.feed(action.data))
                    else:
                        self._show_one(action)
                if self._stream.held:
                    self._silence = asyncio.get_running_loop().call_later(_SILENCE, self._show_beginning)
                await self.journal.room()
        finally:
            self._end_silence()

    def _end_silence(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _show_beginning(self) -> None:
        """Show held-back text after a silence: most likely it is no secret."""
        self._silence = None
        self._show_text(self._stream.let_go())

    def _show_one(self, action: a.StateAction) -> None:
        match action:
            case a.TerminalExitedAction():
                self._show_text(self._stream.flush())
                self.act(action)
                self._owner.changed(self, ended=True)
            case a.TerminalTitleChangedAction():
                self.act(self._host.redactor.redact_value(action, observed=True))
                self._owner.titled()
            case _:
                self._show_text(self._stream.flush())  # a command begins or ends: its text is whole
                self.act(self._host.redactor.redact_value(action, observed=True))
                if isinstance(action, a.TerminalCwdChangedAction):
                    self._owner.note(self)

    def _show_text(self, text: str) -> None:
        if text:
            # It was bytes, so it can be written: that is left to when someone hears of it.
            action = a.TerminalDataAction(data=text)
            self.live.apply(action, self._now())
            self.journal.append(self.uri, action, kept=False)

    # -- clients -------------------------------------------------------------------------------------------

    def may_use(self, client_id: str, sender: Subscriber) -> bool:
        """Tell whether a client may do more than look: it holds the terminal, or the holder is gone.

        A terminal of a session is held by all who follow the session.
        """
        claim = self.live.head.claim
        if isinstance(claim, TerminalClientClaim) and claim.client_id == client_id:
            return True
        if isinstance(claim, TerminalSessionClaim) and self.journal.subscriptions.follows(
            claim.session, sender
        ):
            return True
        return not self._owner.is_there(claim)

    def judge(self, action: a.StateAction, sender: str) -> Judgement:
        """Judge a client's action. A terminal whose holder is gone can be claimed by anyone."""
        judgement = judge(self.live.whole, action, sender)
        if not isinstance(action, a.TerminalClaimedAction):
            return judgement
        if judgement.verdict is Verdict.REJECT and self._owner.is_there(self.live.head.claim):
            return judgement
        if not self._owner.is_there(action.claim):
            return rejected("no_such_holder", "there is no such session, or no such client is connected")
        return ACCEPTED

    def dispatch(self, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> None:
        """Take an action from a client. Input is echoed only to the client that typed it."""
        is_claim = isinstance(action, a.TerminalClaimedAction)
        if not is_claim and not self.may_use(origin.client_id, sender):
            reason = "not_holder: someone else holds the terminal; ask them to hand it over"
            self.journal.reject(self.uri, action, origin, reason, sender)
            return
        if isinstance(action, a.TerminalInputAction) and self.live.head.exit_code is None:
            if self.type(action.data):
                self.journal.echo(self.uri, action, origin, sender)
            else:
                reason = "terminal_busy: the program does not read what is typed"
                self.journal.reject(self.uri, action, origin, reason, sender)
            return
        if isinstance(action, a.TerminalResizedAction) and self._terminal is not None:
            try:
                self._terminal.resize(action.cols, action.rows)
            except InvalidParams as error:
                self.journal.reject(self.uri, action, origin, f"bad_size: {error}", sender)
                return
        super().dispatch(action, origin, sender)

    def accept(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        """Let a client's action happen, with its effects."""
        if isinstance(action, a.TerminalTitleChangedAction):
            action = self._host.redactor.redact_value(action, observed=False)
        self.act(action, origin)
        match action:
            case a.TerminalClaimedAction() | a.TerminalTitleChangedAction():
                self._owner.changed(self)
            case a.TerminalResizedAction():
                self._owner.note(self)
            case a.TerminalClearedAction() if self._terminal is not None:
                self._terminal.clear()
            case _:
                pass

    async def close(self) -> None:
        """End the program and all processes that it started."""
        if self._terminal is not None and not self.has_ended:
            await self._terminal.end()
        if self._pump is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._pump
