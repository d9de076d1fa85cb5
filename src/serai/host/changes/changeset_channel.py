"""One changeset, as its followers see it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from serai.ahp import actions as a
from serai.ahp.reducers import LiveChangeset
from serai.ahp.types import (
    URI,
    ChangesetFile,
    ChangesetOperation,
    ChangesetState,
    ChangesetStatus,
    ErrorInfo,
)
from serai.changes.view import Which, actions_between
from serai.host.channels import Channel

if TYPE_CHECKING:
    from serai.host.changes.session_changes import SessionChanges
    from serai.host.host import Host

MOST_FILES = 2_000
"""Most files that a changeset shows. All are counted, and its operations work on all."""
_AT_ONCE = 100
"""Number of actions after which other tasks get their turn."""


class ChangesetChannel(Channel):
    """A changeset that someone follows.

    Args:
        host: The host.
        uri: The changeset's URI.
        which: Its kind, and its turn if it has one.
        owner: The changes of its session.
    """

    live: LiveChangeset

    def __init__(self, host: Host, uri: URI, which: Which, owner: SessionChanges) -> None:
        state = ChangesetState(status=ChangesetStatus.COMPUTING.value, files=[])
        super().__init__(host.journal, host.now, uri, LiveChangeset(state))
        self.which = which
        self.is_final = False
        """True when the files that it shows will not change any more."""
        self._owner = owner
        self._is_open = True
        # A client that followed it before may know other files, and hears of this when it comes back.
        self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.COMPUTING.value))
        self.act(a.ChangesetClearedAction())

    def offer(self, operations: list[ChangesetOperation]) -> None:
        """Publish the operations that it has."""
        if self._is_open and operations != self.live.head.operations:
            self.act(a.ChangesetOperationsChangedAction(operations=operations))

    async def show(self, files: list[ChangesetFile], *, final: bool) -> None:
        """Show these files, with as few actions as possible."""
        for number, action in enumerate(actions_between(self.live.head.files, files), start=1):
            if number % _AT_ONCE == 0:
                await self.journal.room()
                await asyncio.sleep(0)
            if not self._is_open:
                return
            self.act(action)
        if self.live.head.status != ChangesetStatus.READY:
            self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.READY.value))
        self.is_final = final

    def fail(self, error: ErrorInfo) -> None:
        """Show why the changes are not known. The files stay as they were last seen."""
        self.is_final = False
        if self._is_open and self.live.head.error != error:
            self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.ERROR.value, error=error))

    def take_back(self) -> None:
        """Close the changeset of a turn that was taken back."""
        if self._is_open:
            self.act(a.ChangesetClearedAction())
            self.fail(ErrorInfo(error_type="taken_back", message="this turn was taken back"))
            self.left()

    def left(self) -> None:
        """Close the changeset: nobody follows it any more."""
        if self._is_open:
            self._is_open = False
            self._owner.left(self)
