"""Terminals as channels: anyone may follow one, its holder hands it over, and the root channel lists them.

Output is numbered and published, not stored. The existence of a terminal is stored: after a restart it is
still listed, has ended, and says why. Titles are published once a second, and recorded with the next event,
at the latest the program's end: a program may set one with every line that it writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from serai.ahp import actions as a, wire
from serai.ahp.channels import ChannelKind, kind_of, problem_with_choice
from serai.ahp.commands import AhpErrorCode, CreateTerminalParams
from serai.ahp.extensions import InstallAgentParams, SignInParams
from serai.ahp.types import (
    Count,
    TerminalClaim,
    TerminalClientClaim,
    TerminalSessionClaim,
    TerminalState,
    TerminalUnclassifiedPart,
)
from serai.errors import InvalidParams, ProtocolError
from serai.host.core import HostCore
from serai.host.surroundings.files import directory_of, problem_with_folder
from serai.host.surroundings.terminal_channel import HostTerminal
from serai.journal.subscriptions import Subscriber
from serai.machine.terminals.marks import TITLE_SHOWN, cleaned
from serai.machine.terminals.terminal import Terminal

__all__ = ["HostTerminal", "Terminals"]

_RECORDS = "serai-terminals"
"""The channel of the records of terminals."""
_TOLD_EVERY = 1.0
"""Seconds between two publications of titles."""
_MAX_ENDED = 64
"""Most terminals that have ended and can still be looked at."""
_HUNG_UP = 129
"""Exit code of a program that was ended by a hang-up: 128 and the number of the signal."""
_STOPPED = "[the host was stopped, and this terminal with it]\r\n"
_NOT_KEPT = "[what this terminal showed is not kept when the host is stopped]\r\n"


class TerminalRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The record of a terminal."""

    type: str
    uri: str
    title: str = ""
    claim: TerminalClaim | None = None
    cwd: str | None = None
    cols: Count | None = None
    rows: Count | None = None
    exit_code: Count | None = None


class Terminals:
    """The terminals of a host."""

    def __init__(self, host: HostCore, home: Path) -> None:
        self._host = host
        self._home = home
        """The person's home: the host's programs for clients start there."""
        self._all: dict[str, HostTerminal] = {}
        self._following: set[asyncio.Task[None]] = set()
        """Tasks that wait for the end of the host's programs for clients."""
        self._is_told = True
        """True when the published list of terminals is the present one."""
        self._rest: asyncio.TimerHandle | None = None

    # -- opening and closing -------------------------------------------------------------------------------

    async def restore(self) -> None:
        """List the terminals of the host before, which have ended."""
        rows = await self._host.journal.store.rows(_RECORDS, 0)
        if not rows:
            return
        records = [wire.decode(row.action, TerminalRecord) for row in rows]
        for record in {record.uri: record for record in records}.values():
            if record.type == "terminal.disposed":
                continue
            claim = record.claim
            if isinstance(claim, TerminalSessionClaim) and claim.session not in self._host.folders:
                self._write(TerminalRecord(type="terminal.disposed", uri=record.uri))
                continue
            has_ended = record.type == "terminal.exited"
            notice = TerminalUnclassifiedPart(value=_NOT_KEPT if has_ended else _STOPPED)
            state = TerminalState(
                title=record.title,
                claim=record.claim or TerminalClientClaim(client_id=""),
                cwd=record.cwd,
                cols=record.cols,
                rows=record.rows,
                content=[notice],
                exit_code=_HUNG_UP if record.exit_code is None else record.exit_code,
            )
            self._add(HostTerminal(self._host, record.uri, state, self))
        self._tell()  # also of terminals that were erased with their session

    # -- making and ending ---------------------------------------------------------------------------------

    async def create(self, params: CreateTerminalParams, client_id: str) -> None:
        """Start a shell in a terminal, for a client or for a session.

        Raises:
            ProtocolError: There is one of that URI, or no such session.
            InvalidParams: The claim is another client's, or the URI, the size or the folder cannot be.
            SeraiError: The shell cannot be started.
        """
        match params.claim:
            case TerminalClientClaim(client_id=claimed) if claimed != client_id:
                raise InvalidParams("a client can claim for itself only", field="params.claim.clientId")
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
            ProtocolError: There is one of that URI, or no such session.
            InvalidParams: The URI, the size or the folder cannot be.
            SeraiError: The program cannot be started.
        """
        _check_uri(uri)
        if cwd is not None and (problem := await asyncio.to_thread(problem_with_folder, cwd)):
            raise InvalidParams(problem, field="params.cwd")
        folder = self._folder(cwd, claim)
        if uri in self._all:
            raise ProtocolError(f"{uri} exists already", number=AhpErrorCode.ALREADY_EXISTS)
        state = TerminalState(
            title=self._title(title, claim) or self._title(argv[0] if argv else "", claim) or "shell",
            claim=claim,
            cwd=folder.as_uri(),
            cols=cols,
            rows=rows,
            content=[],
        )
        channel = self._all[uri] = HostTerminal(self._host, uri, state, self)
        try:
            terminal = await Terminal.start(
                self._host.processes,
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
        self.changed(channel)
        return channel

    async def start_for(
        self,
        asked: SignInParams | InstallAgentParams,
        client_id: str,
        argv: Sequence[str],
        *,
        title: str,
        env: Mapping[str, str] | None = None,
        then: Callable[[], Awaitable[None]],
    ) -> HostTerminal:
        """Run a program of the host's in a terminal for a client, which outlives the connection.

        It starts in the person's home: a folder that nobody trusts must not have a say in it. `then` follows
        its end; `HostTerminal.followed` waits for that.

        Raises:
            InvalidParams: The URI or the size cannot be.
            ProtocolError: There is a terminal of that URI.
            SeraiError: The program cannot be started.
        """
        if asked.terminal is not None and kind_of(asked.terminal) is not ChannelKind.TERMINAL:
            raise InvalidParams("a terminal's URI begins with ahp-terminal:/", field="params.terminal")
        terminal = await self.start(
            asked.terminal or f"ahp-terminal:/{self._host.new_id()}",
            TerminalClientClaim(client_id=client_id),
            argv=argv,
            title=title,
            cwd=self._home.as_uri(),
            cols=80 if asked.cols is None else asked.cols,
            rows=24 if asked.rows is None else asked.rows,
            env=env,
        )

        async def follow() -> None:
            await terminal.wait()
            await then()

        terminal.followed = following = asyncio.create_task(follow())
        self._following.add(following)
        following.add_done_callback(self._following.discard)
        return terminal

    async def close(self) -> None:
        """Stop waiting for the ends of terminals. The terminals end as channels do."""
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)

    def is_there(self, claim: TerminalClaim) -> bool:
        """Tell whether the holder of a terminal is there: a connected client, or a session."""
        match claim:
            case TerminalClientClaim(client_id=client_id):
                return self._host.clients.is_connected(client_id)
            case TerminalSessionClaim(session=session):
                return session in self._host.folders
            case _:
                return False

    def _folder(self, cwd: str | None, claim: TerminalClaim) -> Path:
        """Return the folder of a new terminal: the requested one, else its session's."""
        if isinstance(claim, TerminalSessionClaim):
            if (folders := self._host.folders.get(claim.session)) is None:
                missing = f"there is no session {claim.session}"
                raise ProtocolError(missing, number=AhpErrorCode.SESSION_NOT_FOUND)
            cwd = cwd or folders[0]
        cwd = cwd or self._host.default_directory
        folder = directory_of(cwd) if cwd else Path.home()
        if folder is None:
            raise InvalidParams(f"{cwd} is no folder of this machine", field="params.cwd")
        return folder

    def _title(self, wanted: str | None, claim: TerminalClaim) -> str:
        """Return a title as it is shown: masked before it is cut, so that no half of a secret stays."""
        observed = not isinstance(claim, TerminalClientClaim)  # what a person typed is theirs
        return self._host.redactor.redact(cleaned(wanted or ""), observed=observed)[:TITLE_SHOWN]

    async def dispose(self, uri: str, client_id: str, sender: Subscriber) -> None:
        """End a terminal and forget it, for a client.

        Raises:
            ProtocolError: There is no such terminal, or someone else holds it.
        """
        channel = self._all.get(uri)
        if channel is None:
            raise ProtocolError(f"there is no terminal {uri}", number=AhpErrorCode.NOT_FOUND)
        if not channel.may_use(client_id, sender):
            raise ProtocolError(f"someone else holds {uri}", number=AhpErrorCode.PERMISSION_DENIED)
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
        await channel.close()  # its name is taken until nothing of it is left
        if self._all.get(channel.uri) is channel:
            self._forget(channel)
            self._tell()

    def _forget_oldest(self) -> None:
        ended = [channel for channel in self._all.values() if channel.has_ended]
        for channel in ended[: max(0, len(ended) - _MAX_ENDED)]:
            self._forget(channel)

    def _forget(self, channel: HostTerminal) -> None:
        self._all.pop(channel.uri, None)
        self._host.channels.remove(channel.uri)
        self._write(TerminalRecord(type="terminal.disposed", uri=channel.uri))

    def _add(self, channel: HostTerminal) -> None:
        self._all[channel.uri] = channel
        self._host.channels.add(channel)

    # -- what the root channel and the next host are told --------------------------------------------------

    def changed(self, channel: HostTerminal, *, ended: bool = False) -> None:
        """Record a change of a terminal, and publish the list."""
        if self._all.get(channel.uri) is channel:
            self.note(channel, ended=ended)
            self._tell()

    def note(self, channel: HostTerminal, *, ended: bool = False) -> None:
        """Record a change of a terminal for the next host."""
        head = channel.live.head
        if self._all.get(channel.uri) is channel:
            self._write(
                TerminalRecord(
                    type="terminal.exited" if ended or head.exit_code is not None else "terminal.changed",
                    uri=channel.uri,
                    title=head.title,
                    claim=head.claim,
                    cwd=head.cwd,
                    cols=head.cols,
                    rows=head.rows,
                    exit_code=head.exit_code,
                )
            )

    def titled(self) -> None:
        """Publish the new title of a terminal soon."""
        self._is_told = False
        if self._rest is None:
            self._tell_titles()

    def _tell_titles(self) -> None:
        self._rest = None
        if not self._is_told:
            self._rest = asyncio.get_running_loop().call_later(_TOLD_EVERY, self._tell_titles)
            self._tell(kept=False)

    def _tell(self, *, kept: bool = True) -> None:
        terminals = [channel.info for channel in self._all.values()]
        self._is_told = True
        self._host.root.act(a.RootTerminalsChangedAction(terminals=terminals), kept=kept)

    def _write(self, record: TerminalRecord) -> None:
        self._host.journal.record(_RECORDS, wire.encode(record))


def _check_uri(uri: str) -> None:
    if problem := problem_with_choice(uri):
        raise InvalidParams(f"a terminal's URI {problem}", field="params.channel")
