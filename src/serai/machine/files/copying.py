"""`resourceCopy`."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from serai.ahp.commands import EmptyResult, ResourceCopyParams
from serai.errors import InvalidParams
from serai.machine.files.drafts import Draft, draft_name, put
from serai.machine.files.handles import identity, names_in, open_directory
from serai.machine.files.kernel import sync_file_system
from serai.machine.files.lanes import takes_long
from serai.machine.files.leftovers import noted
from serai.machine.files.originals import Original, is_unchanged, keep_all_attributes, keep_attributes
from serai.machine.files.refusals import conflict, denied, exists, not_found, told
from serai.machine.files.roots import Access, Roots
from serai.machine.files.streams import copy_range
from serai.machine.files.trees import copy_tree, keep_link, remove_tree
from serai.machine.files.turns import alone_at
from serai.machine.files.walk import Place, find

__all__ = ["copy", "duplicate"]


def copy(params: ResourceCopyParams, roots: Roots) -> EmptyResult:
    """Copy a file, or a directory with all that is in it. The copy is there as a whole or not at all.

    A link that is named is followed, on both sides; links inside a directory are copied as links. A file that
    is there is replaced and keeps its permissions. A directory is never replaced: that would delete what is
    in it.

    Raises:
        ProtocolError: `NOT_FOUND`, `PERMISSION_DENIED`, or `ALREADY_EXISTS`: with `failIfExists` when there
            is anything, else when a directory is there or something is in a directory's way.
        InvalidParams: A directory was to be copied into itself.
    """
    exclusive = bool(params.fail_if_exists)
    with (
        find(params.source, roots, Access.READ, whole=True) as source,
        find(params.destination, roots, Access.WRITE, follow=not exclusive) as destination,
    ):
        duplicate(source, destination, exclusive=exclusive)
    return EmptyResult()


def duplicate(source: Place, destination: Place, *, exclusive: bool, moved: bool = False) -> Original | None:
    """Make a copy of what is at one place at another. A link is copied as a link.

    Args:
        source: What to copy.
        destination: Where the copy is to be.
        exclusive: Whether there must be nothing yet.
        moved: Whether the original is removed afterwards. Then the copy has its owner, permissions, times
            and attributes, whatever was there, and is on the disk when this returns. A directory takes the
            place of an empty one.

    Returns:
        Of a directory that is moved, what was copied of it.

    Raises:
        ProtocolError: As `copy`; `CONFLICT` when a directory that is moved was changed meanwhile.
        InvalidParams: The same.
    """
    with told(source.uri):
        info = source.look()
    if info is None:
        raise not_found(source.uri)
    if stat.S_ISDIR(info.st_mode):
        takes_long()
        return _copy_directory(source, destination, exclusive=exclusive, moved=moved)
    if stat.S_ISLNK(info.st_mode):
        _copy_link(source, destination, exclusive=exclusive, like=info if moved else None)
    else:
        _copy_file(source, destination, exclusive=exclusive, moved=moved)
    return None


def _copy_file(source: Place, destination: Place, *, exclusive: bool, moved: bool) -> None:
    original, info = source.open()
    try:
        takes_long(size=info.st_size)
        with told(destination.uri):
            there = _replaceable(destination, exclusive=exclusive)
            # What was private stays so, also where something public was.
            kept = (
                _Moved(destination, info, original) if moved else Draft(destination, there or _as_new(info))
            )
            with kept as draft:
                copy_range(original, draft.descriptor, 0, info.st_size, at=0)
                if moved:
                    os.utime(draft.descriptor, ns=(info.st_atime_ns, info.st_mtime_ns))
                with alone_at(destination):
                    draft.commit(exclusive=exclusive)
    finally:
        os.close(original)


class _Moved(Draft):
    """A draft of a file that is moved. It is as that one was, and has nothing of what it replaces.

    Args:
        place: Where it is to be.
        info: What the file is,
        original: and its handle.
    """

    def __init__(self, place: Place, info: os.stat_result, original: int) -> None:
        super().__init__(place, info)
        self._original = original

    def _take_over_attributes(self) -> None:
        keep_attributes(self._original, self.descriptor)


def _as_new(info: os.stat_result) -> os.stat_result:
    """A copy has the permissions of what it is a copy of, and belongs to whoever made it."""
    fields = list(info)
    fields[stat.ST_UID], fields[stat.ST_GID] = os.geteuid(), os.getegid()
    return os.stat_result(fields)


def _replaceable(place: Place, *, exclusive: bool) -> os.stat_result | None:
    """What a file is about to take the place of."""
    there = place.look()
    if there is None:
        return None
    if exclusive or stat.S_ISDIR(there.st_mode):
        raise exists(place.uri, "a directory" if stat.S_ISDIR(there.st_mode) else "something")
    if stat.S_ISREG(there.st_mode) and there.st_nlink > 1:
        raise denied(place.uri, "it has several names (hard links), and one may be outside")
    return there if stat.S_ISREG(there.st_mode) else None


def _copy_link(source: Place, destination: Place, *, exclusive: bool, like: os.stat_result | None) -> None:
    with told(source.uri):
        target = os.readlink(source.name, dir_fd=source.directory)
    with told(destination.uri), alone_at(destination):
        _replaceable(destination, exclusive=exclusive)
        name = draft_name()
        with noted(destination, name):
            os.symlink(target, name, dir_fd=destination.directory)
            try:
                if like is not None:
                    keep_link(destination.directory, name, like)
                put(destination, name, exclusive=exclusive)
            except BaseException:
                os.unlink(name, dir_fd=destination.directory)
                raise


def _copy_directory(source: Place, destination: Place, *, exclusive: bool, moved: bool) -> Original | None:
    with told(source.uri):
        original = source.open_directory()
        try:
            held = identity(os.fstat(original))
            if held in destination.above:
                raise InvalidParams("a directory cannot be copied into itself", field="params.destination")
            with told(destination.uri):
                replaces = moved and not exclusive and _is_empty(destination)
                if destination.look() is not None and not replaces:
                    raise exists(destination.uri)
                copied = Original(held) if moved else None
                _make_copy(original, source, destination, copied, exclusive=not replaces)
                return copied
        finally:
            os.close(original)


def _is_empty(place: Place) -> bool:
    """Whether an empty directory is at a place."""
    there = place.look()
    if there is None or not stat.S_ISDIR(there.st_mode):
        return False
    directory = place.open_directory()
    try:
        return not names_in(directory)
    finally:
        os.close(directory)


def _make_copy(
    original: int, source: Place, destination: Place, copied: Original | None, *, exclusive: bool
) -> None:
    name = draft_name()
    with noted(destination, name):
        os.mkdir(name, 0o700, dir_fd=destination.directory)
        try:
            copy = open_directory(destination.directory, name)
            try:
                copy_tree(original, copy, source.uri, copied)
                if copied is not None:
                    keep_all_attributes(original, copy, copied)
                    sync_file_system(copy)
                    if not is_unchanged(original, copied):
                        raise conflict(source.uri, "was changed by another program meanwhile")
            finally:
                os.close(copy)
            with alone_at(destination):
                put(destination, name, exclusive=exclusive)  # the system replaces empty directories only
        except BaseException:
            with suppress(OSError):
                remove_tree(destination.directory, name, destination.uri)
            raise
