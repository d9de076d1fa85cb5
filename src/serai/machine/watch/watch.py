"""Watches on folders and files, and the set of all watches of a host.

    watches = Watches()
    watch = await watches.watch(folder, recursive=True, excludes=["**/node_modules/**"])
    async for changes in watch:
        ...                      # a list of `ResourceChange`s: 1 to 1,000
    await watch.close()

Links are not followed: a link is reported as itself, and one on the way to the root leads nowhere.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self
from urllib.parse import quote_from_bytes

from serai.ahp.types import ResourceChange, ResourceChangeType
from serai.errors import ProtocolError
from serai.machine.files.refusals import not_found
from serai.machine.watch.events import WatchEvent, watch_failed
from serai.machine.watch.globs import PathFilter
from serai.uris import uri_of

if sys.platform == "linux":
    from serai.machine.watch.inotify import watch_folder
else:
    from serai.machine.watch.portable import watch_folder

BATCH_LIMIT = 1_000
"""Most changes in one batch."""
PENDING_LIMIT = 100_000
"""Most resources that wait. Beyond it, only the root is reported, as `updated`: read all of it again."""

_ADDED, _UPDATED, _DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED

_TOGETHER = {
    (False, True): _ADDED,
    (True, True): _UPDATED,
    (True, False): _DELETED,
    (False, False): None,
}
"""Combined change, by whether a resource was there before, and whether it is there now."""


class Pending:
    """Changes that wait to be taken: at most one for each resource, in the order of their first mention.

    A folder that was moved away begins a new chapter: later changes under its name come after its `deleted`
    and do not cancel it, since what was in the folder is never reported one by one.

    Args:
        root: The URI that stands for all when too many wait.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._kinds: dict[tuple[int, str], ResourceChangeType] = {}
        """Changes, by chapter and resource."""
        self._chapter = 0

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def add(self, uri: str, kind: ResourceChangeType, *, whole: bool = False) -> None:
        """Add a change of a resource; with `whole`, of a folder that was moved away with all in it."""
        key = self._chapter, uri
        before = self._kinds.pop(key, None) if whole else self._kinds.get(key)
        together = kind if whole or before is None else _TOGETHER[before is not _ADDED, kind is not _DELETED]
        if together is None:
            del self._kinds[key]
        else:
            self._kinds[key] = together
        self._chapter += whole
        if len(self._kinds) > PENDING_LIMIT:
            self._kinds = {(self._chapter, self._root): _UPDATED}

    def take(self) -> list[ResourceChange]:
        """Take the oldest changes, as many as fit into one batch."""
        taken = list(islice(self._kinds, BATCH_LIMIT))
        return [ResourceChange(uri=key[1], type=self._kinds.pop(key)) for key in taken]


class Watch:
    """A watch, which gives batches of changes to one reader.

    A folder that disappears is reported as `deleted`, and the watch ends. A file may come and go; its watch
    ends with its folder. `updated` on the root may mean that too much has changed to be reported one by one.
    A folder that is moved away is reported as `deleted`, which stands for all that was in it; so it is
    reported also when only some of that was asked for, and before the `added` of another folder with its
    name. Made by `Watches.watch`.
    """

    def __init__(
        self, root: str, *, is_file: bool, recursive: bool, chosen: PathFilter, hides: Callable[[str], bool]
    ) -> None:
        self.uri = uri_of(root)
        """URI of the root."""
        self._root = root
        self._below = f"{root.rstrip('/')}/"
        self._prefix = self.uri.rstrip("/")
        self._is_file = is_file
        self._there = True
        self._recursive = recursive
        self._filter = chosen
        self._hides = hides
        self._pending = Pending(self.uri)
        self._news = asyncio.Event()
        self.is_over = False
        """True once nothing comes any more."""
        self._error: ProtocolError | None = None
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        """Done once the folder is watched; fails with a `ProtocolError` when it cannot be."""
        self._ended: asyncio.Future[None] = self._loop.create_future()
        """Done when nothing more comes."""
        self._gone = False
        # For a file its folder is watched, since the file may be replaced by another one.
        self._folder = (root.rpartition("/")[0] or "/") if is_file else root
        is_deep = recursive and not is_file
        self._stop = watch_folder(self._folder, recursive=is_deep, prunes=chosen.prunes, sink=self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[ResourceChange]:
        """Return the next batch, which is never empty. Cancelling loses nothing.

        Raises:
            StopAsyncIteration: The watch was closed, or its root is gone.
            ProtocolError: The system does not watch any further.
        """
        while not self._pending:
            if self._error is not None:
                raise self._error
            if self.is_over:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._pending.take()

    async def close(self) -> None:
        """End the watch. Its reader gets what waits already, then the end. Repeated calls do nothing.

        Cancelling is safe: the watch ends all the same.
        """
        self._end(None)
        self._stop()
        await asyncio.shield(self._ended)

    # -- in the thread of the watch: see `Sink` ------------------------------------------------------------

    def opened(self) -> None:
        """Note that the folder is watched."""
        self._call(lambda: None if self.ready.done() else self.ready.set_result(None))

    def changed(self, events: Sequence[WatchEvent]) -> None:
        """Take the chosen changes from a batch."""
        if self._gone:
            return
        chosen: list[tuple[str, ResourceChangeType, bool]] = []
        for kind, path, whole in events:
            if path.startswith(self._below):
                relative = path[len(self._below) :]
                if self._concerns(relative, whole) and not self._hides(path):
                    chosen.append((f"{self._prefix}/{quote_from_bytes(os.fsencode(relative))}", kind, whole))
            elif path == self._root and self._is_file:
                chosen.append((self.uri, self._kind_for_file(kind), False))
            elif path == self._folder and kind is not _ADDED:
                self._gone = kind is _DELETED
                if self._there or not self._gone:
                    chosen.append((self.uri, kind, whole))
                if self._gone:
                    self._stop()
                    break
        if chosen or self._gone:
            self._call(partial(self._take, chosen, self._gone))

    def ended(self, error: ProtocolError | None) -> None:
        """Note that nothing more comes."""
        self._call(lambda: self._finish(error))

    def _call(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop is closed, so nobody waits any more
            self._stop()

    def _concerns(self, relative: str, whole: bool) -> bool:
        """Tell whether a change is chosen; also that of a folder which may have contained chosen files."""
        if not self._recursive:
            return "/" not in relative and self._filter.passes(relative)
        return self._filter.passes(relative) or (whole and not self._filter.prunes(relative))

    # -- on the event loop ---------------------------------------------------------------------------------

    def _finish(self, error: ProtocolError | None) -> None:
        self._ended.set_result(None)
        if not self.ready.done():
            self.ready.set_exception(error or watch_failed(self._folder, "nobody wants it any more"))
            self.ready.exception()  # those who waited may have gone
        self._end(error)

    def _end(self, error: ProtocolError | None) -> None:
        if not self.is_over:
            self.is_over = True
            self._error = error
        self._news.set()

    def _kind_for_file(self, kind: ResourceChangeType) -> ResourceChangeType:
        """Return the kind of a change of a file: one that is replaced by another was `updated`."""
        before, self._there = self._there, kind is not _DELETED
        return _UPDATED if kind is _ADDED and before else kind

    def _take(self, chosen: list[tuple[str, ResourceChangeType, bool]], gone: bool) -> None:
        if self.is_over:
            return
        for uri, kind, whole in chosen:
            self._pending.add(uri, kind, whole=whole)
        self.is_over = gone
        self._news.set()


class Watches:
    """All watches of a host."""

    def __init__(self) -> None:
        self._open: set[Watch] = set()

    def __len__(self) -> int:
        return sum(not watch.is_over for watch in self._open)

    async def watch(
        self,
        root: Path,
        *,
        recursive: bool = False,
        includes: Iterable[str] = (),
        excludes: Iterable[str] = (),
        hides: Callable[[str], bool] = lambda _path: False,
    ) -> Watch:
        """Watch a folder or a file. All changes after the return are reported.

        Cancelling is safe: nothing stays behind.

        Args:
            root: An absolute path, without links.
            recursive: Also watch the folders below.
            includes: Patterns of the chosen paths, relative to the root; without any, all paths are chosen.
            excludes: Patterns of the other paths. An excluded folder costs nothing.
            hides: Tells whether changes of a real path below the root are kept secret. Called in a thread.

        Raises:
            InvalidParams: There are too many patterns.
            ProtocolError: There is no such path (-32008), or the system does not watch it (-32603, with
                `watch_limit` or `watch_failed` and a remedy in its data).
        """
        name = os.fspath(root)
        chosen = await asyncio.to_thread(PathFilter, [*includes], [*excludes])
        is_file = await asyncio.to_thread(_is_file, name)
        watch = Watch(name, is_file=is_file, recursive=recursive, chosen=chosen, hides=hides)
        self._open = {each for each in self._open if not each.is_over} | {watch}
        try:
            await asyncio.shield(watch.ready)
        except BaseException:
            await watch.close()
            raise
        return watch

    async def close(self) -> None:
        """End all watches."""
        while self._open:
            await self._open.pop().close()


def _is_file(path: str) -> bool:
    """Tell whether a path is something other than a folder. Reads the disk."""
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        raise not_found(path) from None
    except OSError as error:
        raise watch_failed(path, error.strerror or "it cannot be read") from error
