"""One changeset, as those who follow it see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
    from serai.host.host import Host

MOST_FILES = 2_000
"""Most files that a changeset shows. All are counted, and its operations work on all."""
_AT_ONCE = 100
"""Actions after which others get their turn."""


class ChangesetChannel(Channel):
    """A changeset that someone follows.

    Args:
        host: The host.
        uri: Its name.
        which: Which of the session's changesets it is.
        left: Is called when nobody follows it any more.
    """

    live: LiveChangeset

    def __init__(self, host: Host, uri: URI, which: Which, left: Callable[[ChangesetChannel], None]) -> None:
        state = ChangesetState(status=ChangesetStatus.COMPUTING.value, files=[])
        super().__init__(host.journal, host.now, uri, LiveChangeset(state))
        self.which = which
        self._left = left
        self._is_open = True
        self._is_final = False
        # Whoever followed it before may know it otherwise, and hears of this when coming back.
        self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.COMPUTING.value))
        self.act(a.ChangesetClearedAction())

    @property
    def is_final(self) -> bool:
        """Whether what it shows will not change any more."""
        return self._is_final

    def offer(self, operations: list[ChangesetOperation]) -> None:
        """Say what can be done with it."""
        if self._is_open and operations != self.live.head.operations:
            self.act(a.ChangesetOperationsChangedAction(operations=operations))

    async def show(self, files: list[ChangesetFile], *, final: bool) -> None:
        """Show these files, by as few actions as possible."""
        for number, action in enumerate(actions_between(self.live.head.files, files), start=1):
            if number % _AT_ONCE == 0:
                await self.journal.room()
                await asyncio.sleep(0)
            if not self._is_open:
                return
            self.act(action)
        if self.live.head.status != ChangesetStatus.READY:
            self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.READY.value))
        self._is_final = final

    def fail(self, error: ErrorInfo) -> None:
        """Say why it is not known what changed. The files stay as they were last seen."""
        self._is_final = False
        if self._is_open and self.live.head.error != error:
            self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.ERROR.value, error=error))

    def take_back(self) -> None:
        """There is no such turn any more: say so, and let go of it."""
        if self._is_open:
            self.act(a.ChangesetClearedAction())
            self.fail(ErrorInfo(error_type="taken_back", message="this turn was taken back"))
            self.left()

    def end(self) -> None:
        """It shows nothing any more."""
        self._is_open = False

    def left(self) -> None:
        """Nobody follows it any more."""
        if self._is_open:
            self.end()
            self._left(self)
