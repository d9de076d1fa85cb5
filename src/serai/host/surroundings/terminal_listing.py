"""Which terminals there are: the root channel lists them, and the next host reads of them.

Both hear of what happens to a terminal at once, but for titles: a program may set one with every line that it
writes. They are told once a second, and written down with what happens next, at the latest when it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from serai.ahp import actions as a, wire
from serai.ahp.types import Count, TerminalClaim

if TYPE_CHECKING:
    from serai.host.host import Host
    from serai.host.surroundings.terminal_channel import HostTerminal

_RECORDS = "serai-terminals"
"""Where it is written which terminals there are."""
_TOLD_EVERY = 1.0
"""How often the root channel tells of titles, in seconds."""


class TerminalRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What is written down of a terminal."""

    type: str
    uri: str
    title: str = ""
    claim: TerminalClaim | None = None
    cwd: str | None = None
    cols: Count | None = None
    rows: Count | None = None
    exit_code: Count | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the program had ended before its host did."""
        return self.type == "terminal.exited"


class TerminalListing:
    """What is told and written of the terminals of a host.

    Args:
        host: Whose terminals.
        terminals: Those that there are, by their URIs. It is the owner's, and changes.
    """

    def __init__(self, host: Host, terminals: Mapping[str, HostTerminal]) -> None:
        self._host = host
        self._terminals = terminals
        self._unwritten: dict[str, HostTerminal] = {}
        """Those whose title is not written down yet."""
        self._is_told = True
        """Whether the list that the root channel told last is the present one."""
        self._rest: asyncio.TimerHandle | None = None

    async def read(self) -> dict[str, TerminalRecord] | None:
        """The terminals of the hosts before, by their URIs; `None` when there never was one."""
        rows = await self._host.journal.store.rows(_RECORDS, 0)
        known: dict[str, TerminalRecord] = {}
        for row in rows:
            record = wire.decode(row.action, TerminalRecord)
            if record.type == "terminal.disposed":
                known.pop(record.uri, None)
            else:
                known[record.uri] = record
        return known if rows else None

    def tell(self, *, kept: bool = True) -> None:
        """Tell the root channel which terminals there are."""
        terminals = [channel.info for channel in self._terminals.values()]
        self._is_told = True
        self._host.root.act(a.RootTerminalsChangedAction(terminals=terminals), kept=kept)

    def changed(self, channel: HostTerminal, *, ended: bool = False) -> None:
        """Something happened that the root channel and the next host should know at once."""
        if self._is_listed(channel):
            self.note(channel, ended=ended)
            self.tell()

    def note(self, channel: HostTerminal, *, ended: bool = False) -> None:
        """Something happened that the next host should know."""
        if not self._is_listed(channel):
            return
        self._unwritten.pop(channel.uri, None)
        head = channel.live.head
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

    def titled(self, channel: HostTerminal) -> None:
        """A program has set the title: everyone is told soon."""
        if self._is_listed(channel):
            self._is_told = False
            self._unwritten[channel.uri] = channel
            if self._rest is None:
                self._tell_titles()

    def settle(self, channel: HostTerminal) -> None:
        """Write down what was not yet: there may be no later."""
        if self._unwritten.get(channel.uri) is channel:
            self.note(channel)

    def disposed(self, uri: str) -> None:
        """A terminal is no longer there. Whoever has forgotten several tells the root channel once."""
        self._unwritten.pop(uri, None)
        self._write(TerminalRecord(type="terminal.disposed", uri=uri))

    def _is_listed(self, channel: HostTerminal) -> bool:
        return self._terminals.get(channel.uri) is channel

    def _tell_titles(self) -> None:
        self._rest = None
        if not self._is_told:
            self._rest = asyncio.get_running_loop().call_later(_TOLD_EVERY, self._tell_titles)
            self.tell(kept=False)

    def _write(self, record: TerminalRecord) -> None:
        self._host.journal.record(_RECORDS, wire.encode(record))
