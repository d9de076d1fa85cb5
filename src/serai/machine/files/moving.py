"""`resourceMove`."""

from __future__ import annotations

import errno
import os
import stat

from serai.ahp.commands import EmptyResult, ResourceMoveParams
from serai.errors import InvalidParams
from serai.machine.files.copying import duplicate
from serai.machine.files.handles import identity, sync_directory
from serai.machine.files.kernel import rename_exclusively
from serai.machine.files.lanes import takes_long
from serai.machine.files.originals import Original, refuse_fixed, remove_original
from serai.machine.files.refusals import conflict, denied, exists, not_found, told
from serai.machine.files.roots import Access, Roots
from serai.machine.files.turns import alone_at
from serai.machine.files.versions import etag
from serai.machine.files.walk import Place, find

__all__ = ["move"]

_IN_THE_WAY = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR})


def move(params: ResourceMoveParams, roots: Roots) -> EmptyResult:
    """Give a file, a directory or a link another name. A link is moved itself, and replaced itself.

    Within one file system this is one step. From one to another it is a copy and then a removal. What cannot
    be removed is not copied; should the removal fail all the same, the copy is there, and what is left of the
    original. Of a directory nothing is removed that is not in the copy. A directory that is not empty is
    never replaced.

    Raises:
        ProtocolError: `NOT_FOUND`, `PERMISSION_DENIED` (also for a root itself, and for two names of one
            file), or `ALREADY_EXISTS`: with `failIfExists` when there is anything, else when what is there
            cannot be replaced by it; `CONFLICT` when another program changed it while it was copied, or it
            could not be removed.
        InvalidParams: A directory was to be moved into itself.
    """
    exclusive = bool(params.fail_if_exists)
    # What is moved can be read afterwards where it is then, so it must be readable where it is now.
    both = Access.READ | Access.WRITE
    with (
        find(params.source, roots, both, follow=False, itself=False, whole=True) as source,
        find(params.destination, roots, Access.WRITE, follow=False, itself=False) as destination,
    ):
        if source.info is None:
            raise not_found(params.source)
        if identity(source.info) in destination.above:
            raise InvalidParams("a directory cannot be moved into itself", field="params.destination")
        try:
            with told(params.destination):
                _rename(source, destination, exclusive=exclusive)
        except _OtherFileSystem:
            takes_long()
            _copy_and_remove(source, destination, exclusive=exclusive)
    return EmptyResult()


class _OtherFileSystem(Exception):
    """A rename cannot do it."""


def _rename(source: Place, destination: Place, *, exclusive: bool) -> None:
    with alone_at(source, destination):
        there = destination.look()
        if exclusive and there is not None:
            raise exists(destination.uri)
        if there is not None and _is_other_name(source, destination, there):
            raise denied(destination.uri, "it is another name (hard link) of the same file")
        places = {"source_in": source.directory, "destination_in": destination.directory}
        try:
            if exclusive:
                rename_exclusively(source.name, destination.name, **places)
            else:
                os.rename(
                    source.name,
                    destination.name,
                    src_dir_fd=source.directory,
                    dst_dir_fd=destination.directory,
                )
        except FileNotFoundError:
            raise not_found(source.uri) from None
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise _OtherFileSystem from None
            if error.errno in _IN_THE_WAY:
                raise exists(destination.uri) from None
            raise
        sync_directory(destination.directory)
        sync_directory(source.directory)


def _is_other_name(source: Place, destination: Place, there: os.stat_result) -> bool:
    """Whether both are names of one file. The system leaves both then, and says that it has renamed."""
    if (
        stat.S_ISDIR(there.st_mode)
        or there.st_nlink == 1
        or source.info is None
        or identity(there) != identity(source.info)
    ):
        return False
    return source.name != destination.name or identity(os.fstat(source.directory)) != identity(
        os.fstat(destination.directory)
    )


def _copy_and_remove(source: Place, destination: Place, *, exclusive: bool) -> None:
    before = source.info
    refuse_fixed(source.directory, source.uri)
    copied = duplicate(source, destination, exclusive=exclusive, moved=True)
    changed = conflict(source.uri, "was changed by another program meanwhile; there is a copy now")
    with alone_at(source):
        try:
            is_gone = _removed(source, before, copied)
        except OSError as error:
            raise conflict(
                source.uri, f"could not be removed ({error.strerror}); there is a copy now"
            ) from None
    if not is_gone:
        raise changed


def _removed(source: Place, before: os.stat_result | None, copied: Original | None) -> bool:
    """Remove what was copied. Says whether that was all that is there."""
    if copied is not None:
        return remove_original(source.directory, source.name, copied)
    now = source.look()
    if before is None or now is None or etag(now) != etag(before):
        return False
    os.unlink(source.name, dir_fd=source.directory)
    return True
