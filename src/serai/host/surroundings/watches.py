"""Watches as channels: the changes in a folder, for as long as someone follows it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.commands import AhpErrorCode, CreateResourceWatchParams
from serai.ahp.reducers import LiveResourceWatch
from serai.ahp.types import ResourceChange, ResourceChanges, ResourceWatchState
from serai.errors import ProtocolError, SeraiError
from serai.host.channels import Channel
from serai.host.surroundings.files import Files
from serai.machine.files import FileRoot, Roots, find
from serai.machine.files.refusals import not_found
from serai.machine.watch.watch import Watch

_log = logging.getLogger(__name__)

_FOLLOWED_WITHIN = 30.0
"""Seconds after which a watch without followers ends."""
_DRAFT = re.compile(r"/\.serai-[0-9a-f]{16}(?:\.tmp)?(?:/|\Z)")
"""Drafts, which the host writes beside a place before they are put there whole."""


class HostWatch(Channel):
    """One watch, as its followers see it. It ends when its maker may not read there any more."""

    def __init__(self, files: Files, uri: str, state: ResourceWatchState, watch: Watch, maker: str) -> None:
        super().__init__(files.host.journal, files.host.now, uri, LiveResourceWatch(state))
        self._host = files.host
        self._files = files
        self._maker = maker
        self._watch = watch
        self._root = state.root.rstrip("/")
        self._pump = asyncio.create_task(self._tell(), name=f"watch {uri}")
        self._patience = asyncio.get_running_loop().call_later(_FOLLOWED_WITHIN, self._give_up)

    async def _tell(self) -> None:
        try:
            async for changes in self._watch:
                if not await self._may_be_told():
                    break
                items = [self._as_asked(change) for change in changes]
                self.act(a.ResourceWatchChangedAction(changes=ResourceChanges(items=items)))
                await self.journal.room()
        except SeraiError as error:
            _log.warning("the watch on %s has ended: %s", self._root, error)
        finally:
            self._patience.cancel()
            self._host.channels.remove(self.uri)
            self._host.run(self._watch.close())

    async def _may_be_told(self) -> bool:
        try:
            await asyncio.to_thread(_found, self._watch.uri, await self._files.for_client(self._maker))
        except ProtocolError as error:
            return error.number != AhpErrorCode.PERMISSION_DENIED
        return True

    def _as_asked(self, change: ResourceChange) -> ResourceChange:
        """Return a change under the name by which the client asked for the folder, despite links."""
        real = self._watch.uri.rstrip("/")
        if real == self._root:
            return change
        return replace(change, uri=f"{self._root}{change.uri.removeprefix(real)}")

    def _give_up(self) -> None:
        if not self.journal.subscriptions.is_followed(self.uri):
            self.left()

    def left(self) -> None:
        """End the watch: nobody follows it any more."""
        self._pump.cancel()
        self._host.run(self._watch.close())

    def abandoned(self) -> None:
        """Give a follower that has lost its connection some time to come back."""
        self._patience.cancel()
        grace = self._host.settings.client_grace_seconds
        self._patience = asyncio.get_running_loop().call_later(grace, self._give_up)

    async def close(self) -> None:
        """End the watch."""
        self._patience.cancel()
        self._pump.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._pump
        await self._watch.close()


async def create_watch(files: Files, params: CreateResourceWatchParams, client_id: str) -> str:
    """Watch a folder or a file for a client. Returns the channel of its changes.

    Raises:
        ProtocolError: It is not there, may not be had, or cannot be watched.
        InvalidParams: There are too many patterns.
    """
    host, roots = files.host, await files.for_client(client_id)
    path = await asyncio.to_thread(_found, params.uri, roots)
    hides = await asyncio.to_thread(_hiding, host.home)
    watch = await host.watches.watch(
        path,
        recursive=bool(params.recursive),
        includes=params.includes.items if params.includes else (),
        excludes=params.excludes.items if params.excludes else (),
        hides=hides,
    )
    uri = f"ahp-resource-watch:/{host.new_id()}"
    state = ResourceWatchState(
        root=params.uri,
        recursive=bool(params.recursive),
        includes=params.includes,
        excludes=params.excludes,
    )
    host.channels.add(HostWatch(files, uri, state, watch, client_id))
    return uri


def _found(uri: str, roots: Roots) -> Path:
    """Return the real path of a URI: later links are not followed."""
    with find(uri, roots) as place:
        if place.info is None:
            raise not_found(uri)
        return Path(place.path)


def _hiding(home: Path) -> Callable[[str], bool]:
    """Return a function that tells whether a real path is the host's own. Reads the disk."""
    own = FileRoot.of(home)
    return lambda path: own.holds(path) or ("/.serai-" in path and _DRAFT.search(path) is not None)
