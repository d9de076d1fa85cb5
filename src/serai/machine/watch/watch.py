"""A watch on a folder or a file, and all watches of a host together.

    watches = Watches()
    watch = await watches.watch(folder, recursive=True, excludes=["**/node_modules/**"])
    async for changes in watch:
        ...                      # a list of `ResourceChange`s: 1 to 1,000
    await watch.close()

Links are not followed: a link is told as itself. The root may be reached through links; what is told has the
root's own name in it.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Self
from urllib.parse import quote_from_bytes

from serai.ahp.types import ResourceChange, ResourceChangeType
from serai.errors import ProtocolError
from serai.machine.watch.changes import Pending
from serai.machine.watch.failures import not_found, replaced, watch_failed
from serai.machine.watch.folders import Identity
from serai.machine.watch.globs import PathFilter
from serai.machine.watch.source import Event, Source, source_for
from serai.machine.watch.watcher import Watcher
from serai.uris import uri_of

__all__ = ["Watch", "Watches"]

_ADDED, _UPDATED, _DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED


class Watch:
    """One watch: batches of changes, for one reader.

    A folder that disappears is told as `deleted`, and the watch ends. A file may come and go; its watch ends
    with the folder that it is in. `updated` on the root may mean that too much has changed to be told one by
    one. A folder that is moved away is told as `deleted`, and stands for all that was in it; so it is told
    also when only some of that was asked for, and before the `added` of another one that has its name by
    then. Made by `Watches.watch`.
    """

    def __init__(
        self,
        root: str,
        real: str,
        *,
        is_file: bool,
        recursive: bool,
        filter: PathFilter,  # noqa: A002 - it is the word for it
        hides: Callable[[str], bool],
        leave: Callable[[Watch], Awaitable[None]],
    ) -> None:
        self.uri = uri_of(root)
        """The root, as it was named."""
        self._real = real
        self._below = f"{real.rstrip('/')}/"
        self._prefix = self.uri.rstrip("/")
        self._is_file = is_file
        self._there = True
        self._recursive = recursive
        self._filter = filter
        self._hides = hides
        self._pending = Pending(self.uri)
        self._news = asyncio.Event()
        self._over = False
        self._error: ProtocolError | None = None
        self._leave = leave

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[ResourceChange]:
        """The next batch; never empty. Cancelling loses nothing.

        Raises:
            StopAsyncIteration: The watch was closed, or its root is gone.
            ProtocolError: The system does not watch any further.
        """
        while not self._pending:
            if self._error is not None:
                raise self._error
            if self._over:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._pending.take()

    async def close(self) -> None:
        """End. Who reads gets what is there already, then the end. Doing it again does nothing.

        Cancelling is safe: it ends all the same.
        """
        self.end(None)
        await self._leave(self)

    # -- what the watcher calls ----------------------------------------------------------------------------

    def hear(self, events: Sequence[Event]) -> Callable[[], None] | None:
        """Pick what is meant, in the watcher's thread."""
        chosen: list[tuple[str, ResourceChangeType, bool]] = []
        gone = False
        for kind, path, whole in events:
            if path.startswith(self._below):
                relative = path[len(self._below) :]
                if self._concerns(relative, whole=whole) and not self._hides(path):
                    chosen.append((f"{self._prefix}/{quote_from_bytes(os.fsencode(relative))}", kind, whole))
            elif path == self._real and self._is_file:
                chosen.append((self.uri, self._of_file(kind), False))
            elif path == self._real or self._real.startswith(f"{path.rstrip('/')}/"):
                if kind is _DELETED:
                    gone = True
                    if self._there:
                        chosen.append((self.uri, kind, whole))
                    break
                if kind is _UPDATED:
                    chosen.append((self.uri, kind, whole))
        return partial(self._take, chosen, gone) if chosen or gone else None

    def _concerns(self, relative: str, *, whole: bool) -> bool:
        """Whether a change is meant: also that of a folder which may have had in it what is meant."""
        if not self._recursive:
            return "/" not in relative and self._filter.passes(relative)
        return self._filter.passes(relative) or (whole and self._filter.may_hold(relative))

    def end(self, error: ProtocolError | None) -> None:
        """Nothing comes any more."""
        if not self._over:
            self._over = True
            self._error = error
        self._news.set()

    def _of_file(self, kind: ResourceChangeType) -> ResourceChangeType:
        """A file that is replaced by another one of its name was `updated`."""
        before, self._there = self._there, kind is not _DELETED
        return _UPDATED if kind is _ADDED and before else kind

    def _take(self, chosen: list[tuple[str, ResourceChangeType, bool]], gone: bool) -> None:
        if self._over:
            return
        for uri, kind, whole in chosen:
            self._pending.add(uri, kind, whole=whole)
        self._over = gone
        self._news.set()


class Watches:
    """All watches of a host. Those that look at the same folder share one watch of the system.

    Args:
        make_source: Where changes come from.
    """

    def __init__(self, make_source: Callable[..., Source] = source_for) -> None:
        self._make_source = make_source
        self._watchers: list[Watcher] = []
        self._open: dict[Watch, Watcher] = {}

    def __len__(self) -> int:
        return len(self._open)

    async def watch(
        self,
        root: Path,
        *,
        recursive: bool = False,
        includes: Iterable[str] = (),
        excludes: Iterable[str] = (),
        hides: Callable[[str], bool] = lambda _path: False,
        of: Identity | None = None,
    ) -> Watch:
        """Watch a folder or a file. Everything that happens after it returns is told.

        Cancelling is safe: nothing stays behind.

        Args:
            root: An absolute path.
            recursive: Whether what is in its folders is meant too.
            includes: Patterns of what is meant, relative to the root; none at all means everything.
            excludes: Patterns of what is not. An excluded folder costs nothing.
            hides: Says of a path below the root, in which links are resolved, whether nothing is told of it.
                Called in a thread.
            of: What the folder was found to be; of a file, what the folder is that it is in. Then the root
                has no links in it, and if another folder is there by now, it is not watched.

        Raises:
            InvalidParams: The patterns are too many.
            ProtocolError: There is no such path (-32008), it is not the one that is meant (-32009), or the
                system does not watch it (-32603, with `watch_limit` or `watch_failed` and a remedy in its
                data).
        """
        name = os.path.abspath(root)  # noqa: PTH100, ASYNC240 - asks nothing of the disk
        real, is_file, chosen = await asyncio.to_thread(
            _look, name, list(includes), list(excludes), follow=of is None
        )
        watch = Watch(
            name, real, is_file=is_file, recursive=recursive, filter=chosen, hides=hides, leave=self._left
        )
        if is_file:  # the folder is watched, since a file may be replaced by another one
            folder = real.rpartition("/")[0] or "/"
            watcher = self._watcher(folder, of, recursive=False, filter=PathFilter())
        else:
            folder = real
            watcher = self._watcher(folder, of, recursive=recursive, filter=chosen)
        watcher.add(watch)
        self._open[watch] = watcher
        try:
            await asyncio.shield(watcher.ready)
        except BaseException:
            await self._left(watch)
            raise
        # A watcher of a folder above goes by the names in it, and follows no link.
        if of is not None and watcher.root == folder and watcher.identity != of:
            await watch.close()
            raise replaced(name)
        return watch

    async def close(self) -> None:
        """End all watches."""
        for watch in list(self._open):
            await watch.close()

    def _watcher(
        self,
        folder: str,
        of: Identity | None,
        *,
        recursive: bool,
        filter: PathFilter,  # noqa: A002 - the same
    ) -> Watcher:
        for watcher in self._watchers:
            if watcher.root == folder and of is not None and watcher.identity not in {None, of}:
                continue  # that folder is gone, which will be told in a moment
            if watcher.covers(folder, recursive=recursive, excludes=filter.excludes):
                return watcher
        watcher = Watcher(folder, recursive=recursive, filter=filter, make_source=self._make_source)
        self._watchers.append(watcher)
        return watcher

    async def _left(self, watch: Watch) -> None:
        watcher = self._open.pop(watch, None)
        if watcher is None:
            return
        if watcher not in self._open.values():
            self._watchers.remove(watcher)
        await watcher.remove(watch)


def _look(
    root: str, includes: list[str], excludes: list[str], *, follow: bool
) -> tuple[str, bool, PathFilter]:
    """Where a path leads, whether a file is there, and what is meant of it. Reads the disk."""
    chosen = PathFilter(includes, excludes)
    try:
        real = os.path.realpath(root, strict=True) if follow else root
        mode = os.lstat(real).st_mode
    except FileNotFoundError:
        raise not_found(root) from None
    except OSError as error:
        raise watch_failed(root, error.strerror or "it cannot be read") from error
    if stat.S_ISLNK(mode):
        raise replaced(root)
    return real, not stat.S_ISDIR(mode), chosen
