"""Terminals as channels: anyone may follow one, its holder hands it over, and the root channel lists them.

What is shown is numbered and published, not stored. That a terminal was there is stored: after a restart it
is still listed, has ended, and says why.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from serai.ahp import actions as a
from serai.ahp import wire
from serai.ahp.commands import CreateTerminalParams
from serai.ahp.errors import AhpErrorCode
from serai.ahp.rules import Judgement, Verdict, judge, rejected
from serai.ahp.rules.verdict import ACCEPTED
from serai.ahp.types import (
    Count,
    TerminalClaim,
    TerminalClientClaim,
    TerminalContentPart,
    TerminalInfo,
    TerminalSessionClaim,
    TerminalState,
    TerminalUnclassifiedPart,
    ToolResultTerminalContent,
)
from serai.errors import InvalidParams, ProtocolError
from serai.host.channels import Channel
from serai.host.project import directory_of
from serai.journal.subscriptions import Subscriber
from serai.processes.child import Exit
from serai.processes.processes import Processes
from serai.redact import StreamRedactor
from serai.terminals.scrollback import BoundedTerminal
from serai.terminals.terminal import BATCH, Terminal

if TYPE_CHECKING:
    from serai.host.host import Host

__all__ = ["HostTerminal", "Terminals"]

_RECORDS = "serai-terminals"
"""Where it is written which terminals there are."""
_MAX_ENDED = 64
"""So many terminals that have ended can still be looked at."""
_HUNG_UP = 129
"""What shells say of a program that was ended by a hang-up: 128 and the number of the signal."""
_LONG = 0.005
"""Text is dealt with in portions that take no longer than this, in seconds,"""
_PORTION = 4096
"""but are no smaller than this."""
_STOPPED = "[the host was stopped, and this terminal with it]\r\n"


class HostTerminal(Channel):
    """One terminal, as those who follow it see it."""

    live: BoundedTerminal

    def __init__(self, host: Host, uri: str, state: TerminalState, owner: Terminals) -> None:
        super().__init__(host.journal, host.now, uri, BoundedTerminal(state))
        self._owner = owner
        self._host = host
        self._stream: StreamRedactor = host.redactor.stream(observed=True)
        self._terminal: Terminal | None = None
        self._pump: asyncio.Task[None] | None = None
        self._portion = BATCH
        """How much text is dealt with at once."""

    def run(self, terminal: Terminal) -> None:
        """Show what a program does."""
        self._terminal = terminal
        self._pump = asyncio.create_task(self._show(terminal), name=f"terminal {self.uri}")

    @property
    def info(self) -> TerminalInfo:
        """What the root channel lists."""
        head = self.live.head
        return TerminalInfo(resource=self.uri, title=head.title, claim=head.claim, exit_code=head.exit_code)

    @property
    def content(self) -> ToolResultTerminalContent:
        """What a tool call shows of it."""
        return ToolResultTerminalContent(resource=self.uri, title=self.live.head.title)

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended."""
        return self._pump is None or self._pump.done()

    @property
    def exit(self) -> Exit | None:
        """How the program ended; `None` while it runs, or when another host has run it."""
        return self._terminal.exit if self._terminal is not None else None

    def type(self, text: str) -> bool:
        """Type. Returns `False`, and types nothing, when the program reads too slowly or has ended."""
        return self._terminal is not None and self._terminal.write(text)

    async def wait(self) -> Count | None:
        """Wait until all that the program wrote is shown; how it ended. Cancelling ends nothing."""
        if self._pump is not None:
            await asyncio.shield(self._pump)
        return self.live.head.exit_code

    def text(self) -> str:
        """What is on it, as far as it is kept."""
        content = self.live.snapshot().content
        return "".join(
            part.value if isinstance(part, TerminalUnclassifiedPart) else getattr(part, "output", "")
            for part in content
        )

    async def _show(self, terminal: Terminal) -> None:
        while actions := await terminal.batch():
            for action in actions:
                if isinstance(action, a.TerminalDataAction):
                    await self._show_data(action.data)
                else:
                    self._show_one(action)
            await self.journal.room()

    async def _show_data(self, text: str) -> None:
        """Show text, all at once unless it is full of what looks like secrets: that takes its time."""
        while text:
            portion, text = text[: self._portion], text[self._portion :]
            begun = time.perf_counter()
            self._show_text(self._stream.feed(portion))
            took = time.perf_counter() - begun
            if took > _LONG or len(portion) == self._portion:
                fitting = int(len(portion) * min(2.0, _LONG / max(took, 1e-6)))
                self._portion = max(_PORTION, min(BATCH, fitting))
            if text:
                await asyncio.sleep(0)  # let others have their turn

    def _show_one(self, action: a.StateAction) -> None:
        match action:
            case a.TerminalExitedAction():
                self._show_text(self._stream.flush())
                self.act(action)
                self._owner.changed(self, "terminal.exited")
            case a.TerminalTitleChangedAction():
                self.act(action)
                self._owner.changed(self, "terminal.titled")
            case _:
                self._show_text(self._stream.flush())  # a command begins or ends: its text is whole
                self.act(self._host.redactor.redact_action(action, observed=True))

    def _show_text(self, text: str) -> None:
        if text:
            self.act(a.TerminalDataAction(data=text))

    # -- clients -------------------------------------------------------------------------------------------

    def judge(self, action: a.StateAction, sender: str) -> Judgement:
        """What is to become of a client's action. A terminal whose holder is gone, anyone may claim."""
        judgement = judge(self.live.whole, action, sender)
        if not isinstance(action, a.TerminalClaimedAction):
            return judgement
        if judgement.verdict is Verdict.REJECT and self._owner.is_there(self.live.head.claim):
            return judgement
        if not self._owner.is_there(action.claim):
            return rejected("no_such_holder", "there is no such session, or no such client is connected")
        return ACCEPTED

    def dispatch(self, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> None:
        """Take an action from a client. What is typed is told to nobody but who typed it."""
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
        """Let a client's action happen, and what follows from it."""
        self.act(action, origin)
        match action:
            case a.TerminalClaimedAction():
                self._owner.changed(self, "terminal.claimed")
            case a.TerminalTitleChangedAction():
                self._owner.changed(self, "terminal.titled")
            case a.TerminalClearedAction() if self._terminal is not None:
                self._terminal.clear()
            case _:
                pass

    async def close(self) -> None:
        """End the program and all that it started."""
        if self._terminal is not None and not self.has_ended:
            await self._terminal.end()
        if self._pump is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._pump


class Terminals:
    """The terminals of a host."""

    def __init__(self, host: Host, processes: Processes) -> None:
        self._host = host
        self._processes = processes
        self._all: dict[str, HostTerminal] = {}
        self._disposing: dict[str, HostTerminal] = {}

    # -- opening and closing -------------------------------------------------------------------------------

    async def restore(self) -> None:
        """After a start: terminals of before have ended, and say so."""
        rows = await self._host.journal.store.rows(_RECORDS, 0)
        known: dict[str, _Record] = {}
        for row in rows:
            record = wire.decode(row.action, _Record)
            if record.type == "terminal.disposed":
                known.pop(record.uri, None)
            else:
                known[record.uri] = record
        for record in known.values():
            if isinstance(record.claim, TerminalSessionClaim) and not self._host.knows(record.claim.session):
                self._write(_Record(type="terminal.disposed", uri=record.uri))
                continue
            notice: list[TerminalContentPart] = [TerminalUnclassifiedPart(value=_STOPPED)]
            state = TerminalState(
                title=record.title,
                claim=record.claim or TerminalClientClaim(client_id=""),
                cwd=record.cwd,
                content=[] if record.type == "terminal.exited" else notice,
                exit_code=record.exit_code if record.type == "terminal.exited" else _HUNG_UP,
            )
            self._add(HostTerminal(self._host, record.uri, state, self))
        if known:
            self._tell_root()

    # -- making and ending ---------------------------------------------------------------------------------

    async def create(self, params: CreateTerminalParams, client_id: str) -> None:
        """Start a shell in a terminal, for a client or for a session.

        Raises:
            ProtocolError: There is one of that URI, or no such session.
            InvalidParams: The claim is another client's, or the size or the folder cannot be.
            SeraiError: The shell cannot be started.
        """
        match params.claim:
            case TerminalClientClaim(client_id=claimed) if claimed != client_id:
                raise InvalidParams("a client can claim for itself only", field="params.claim.clientId")
            case TerminalSessionClaim(session=session) if not self._host.knows(session):
                raise ProtocolError(f"there is no session {session}", number=AhpErrorCode.SESSION_NOT_FOUND)
            case TerminalClientClaim() | TerminalSessionClaim():
                pass
            case _:
                raise InvalidParams("a client or a session claims a terminal", field="params.claim.kind")
        await self.start(
            params.channel,
            params.claim,
            title=params.name,
            cwd=params.cwd,
            cols=80 if params.cols is None else params.cols,
            rows=24 if params.rows is None else params.rows,
        )

    async def start(
        self,
        uri: str,
        claim: TerminalClaim,
        *,
        argv: Sequence[str] | None = None,
        title: str | None = None,
        cwd: str | None = None,
        cols: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
    ) -> HostTerminal:
        """Start a program in a terminal; by default the person's shell. `env` is added to the host's own.

        Raises:
            ProtocolError: There is one of that URI.
            InvalidParams: The size or the folder cannot be.
            SeraiError: The program cannot be started.
        """
        if uri in self._all:
            raise ProtocolError(f"{uri} exists already", number=AhpErrorCode.ALREADY_EXISTS)
        folder = self._folder(cwd, claim)
        if cwd is not None and not await asyncio.to_thread(folder.is_dir):
            raise InvalidParams(f"there is no folder {folder}", field="params.cwd")
        state = TerminalState(
            title=title or (argv[0] if argv else "shell"),
            claim=claim,
            cwd=folder.as_uri(),
            cols=cols,
            rows=rows,
            content=[],
        )
        channel = self._all[uri] = HostTerminal(self._host, uri, state, self)
        try:
            terminal = await Terminal.start(
                self._processes,
                argv=argv,
                cwd=folder,
                cols=cols,
                rows=rows,
                extra=env,
                what=f"the terminal {uri}",
            )
        except BaseException:
            del self._all[uri]
            raise
        if self._all.get(uri) is not channel:  # someone disposed of it before it was there
            await terminal.end()
            raise ProtocolError(f"{uri} was disposed of", number=AhpErrorCode.NOT_FOUND)
        channel.run(terminal)
        self._add(channel)
        self._forget_oldest()
        self.changed(channel, "terminal.created")
        return channel

    def is_there(self, claim: TerminalClaim) -> bool:
        """Whether who claims a terminal is there: a client that is connected, or a session."""
        match claim:
            case TerminalClientClaim(client_id=client_id):
                return self._host.clients.is_connected(client_id)
            case TerminalSessionClaim(session=session):
                return self._host.knows(session)
            case _:
                return False

    def _folder(self, cwd: str | None, claim: TerminalClaim) -> Path:
        """Where a terminal starts: where it was asked to, else in its session's folder."""
        if cwd is None and isinstance(claim, TerminalSessionClaim):
            session = self._host.loaded(claim.session)
            cwd = session.live.head.summary.working_directory if session else None
        cwd = cwd or self._host.settings.default_directory
        folder = directory_of(cwd) if cwd else Path.home()
        if folder is None:
            raise InvalidParams(f"{cwd} is no folder of this machine", field="params.cwd")
        return folder

    async def dispose(self, uri: str) -> None:
        """End a terminal and forget it.

        Raises:
            ProtocolError: There is no such terminal.
        """
        channel = self._all.get(uri)
        if channel is None:
            raise ProtocolError(f"there is no terminal {uri}", number=AhpErrorCode.NOT_FOUND)
        await self._dispose(channel)

    async def dispose_of(self, session: str) -> None:
        """End the terminals of a session that is disposed of."""
        claimed = [
            channel
            for channel in self._all.values()
            if isinstance(claim := channel.live.head.claim, TerminalSessionClaim) and claim.session == session
        ]
        await asyncio.gather(*map(self._dispose, claimed))

    async def _dispose(self, channel: HostTerminal) -> None:
        if self._disposing.get(channel.uri) is not None:
            return
        self._disposing[channel.uri] = channel  # its name is taken until nothing of it is left
        try:
            await channel.close()
        finally:
            del self._disposing[channel.uri]
        self._all.pop(channel.uri, None)
        self._host.channels.remove(channel.uri)
        self._write(_Record(type="terminal.disposed", uri=channel.uri))
        self._tell_root()

    def _forget_oldest(self) -> None:
        ended = [channel for channel in self._all.values() if channel.has_ended]
        for channel in ended[: max(0, len(ended) - _MAX_ENDED)]:
            del self._all[channel.uri]
            self._host.channels.remove(channel.uri)
            self._write(_Record(type="terminal.disposed", uri=channel.uri))

    # -- the root channel and the record -------------------------------------------------------------------

    def changed(self, channel: HostTerminal, what: str) -> None:
        """Something happened that the root channel and the next host should know."""
        head = channel.live.head
        if self._all.get(channel.uri) is channel:
            self._write(
                _Record(
                    type=what if head.exit_code is None else "terminal.exited",
                    uri=channel.uri,
                    title=head.title,
                    claim=head.claim,
                    cwd=head.cwd,
                    exit_code=head.exit_code,
                )
            )
            self._tell_root()

    def _add(self, channel: HostTerminal) -> None:
        self._all[channel.uri] = channel
        self._host.channels.add(channel)

    def _tell_root(self) -> None:
        terminals = [channel.info for channel in self._all.values()]
        self._host.root.act(a.RootTerminalsChangedAction(terminals=terminals))

    def _write(self, record: _Record) -> None:
        self._host.journal.record(_RECORDS, wire.encode(record))


class _Record(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is written down of a terminal."""

    type: str
    uri: str
    title: str = ""
    claim: TerminalClaim | None = None
    cwd: str | None = None
    exit_code: Count | None = None
