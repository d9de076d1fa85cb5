"""`resourceCopy`, `resourceMove`, `resourceDelete` and `resourceMkdir`, for files, links and directories."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack

from serai.ahp.commands import (
    EmptyResult,
    ResourceCopyParams,
    ResourceDeleteParams,
    ResourceMkdirParams,
    ResourceMoveParams,
)
from serai.errors import InvalidParams
from serai.machine.draft import Draft, copy_entry, copy_range, rename_exclusively
from serai.machine.files.place import Place, find, find_or_make, open_regular
from serai.machine.files.refusals import client_errors, denied, exists, not_found
from serai.machine.files.roots import Roots
from serai.machine.files.threads import check_not_stopping, locked_places, notes_folder
from serai.machine.safe_paths import (
    identity,
    look,
    open_safely,
    remove_tree,
    sync_directory,
)

_IN_THE_WAY = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR})
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})


def copy(params: ResourceCopyParams, roots: Roots) -> EmptyResult:
    """Copy a file, or a directory with all that is in it. The copy appears as a whole or not at all.

    A named link is followed, on both sides; links inside a directory are copied as links. An existing file is
    replaced and keeps its permissions. A directory is never replaced: that would delete what is in it.

    Raises:
        ProtocolError: `NOT_FOUND`, `PERMISSION_DENIED`, or `ALREADY_EXISTS`: with `failIfExists` when the
            destination exists; else when it is a directory, or a directory was to take its place.
        InvalidParams: A directory was to be copied into itself.
    """
    exclusive = bool(params.fail_if_exists)
    with (
        find(params.source, roots, whole=True) as source,
        find(params.destination, roots, write=True, follow=not exclusive) as destination,
    ):
        with client_errors(source.uri):
            info = source.look()
        if info is None:
            raise not_found(source.uri)
        if stat.S_ISDIR(info.st_mode):
            _copy_directory(source, destination, info)
        else:
            _copy_file(source, destination, exclusive=exclusive)
    return EmptyResult()


def _copy_file(source: Place, destination: Place, *, exclusive: bool) -> None:
    """Copy a regular file to another place."""
    with ExitStack() as held:
        original, info = source.open()
        held.callback(os.close, original)
        like = None
        there = destination.look()
        if there is not None and (exclusive or stat.S_ISDIR(there.st_mode)):
            raise exists(destination.uri, "a directory" if stat.S_ISDIR(there.st_mode) else "something")
        if there is not None and stat.S_ISREG(there.st_mode):
            like, _ = destination.open(flags=os.O_RDWR)  # a file without write permission is not replaced
            held.callback(os.close, like)
        with (
            client_errors(destination.uri),
            Draft(destination.here, destination.name, notes=notes_folder()) as draft,
        ):
            new = draft.file(mode=stat.S_IMODE(info.st_mode) & 0o777, like=like)
            copy_range(original, new, 0, info.st_size)
            with locked_places(destination):
                draft.commit(exclusive=exclusive)


def _copy_directory(source: Place, destination: Place, info: os.stat_result) -> None:
    if identity(info) in destination.above:
        raise InvalidParams("a directory cannot be copied into itself", field="params.destination")

    def opened(directory: int, name: str) -> int:
        check_not_stopping()
        shown = source.uri if directory == source.here else f"{source.uri} (at {name!r})"
        found = look(directory, name)
        if found is not None and stat.S_ISDIR(found.st_mode):
            with client_errors(shown):
                return open_safely(directory, name)
        return open_regular(directory, name, shown)[0]

    with (
        client_errors(destination.uri),
        Draft(destination.here, destination.name, notes=notes_folder()) as draft,
    ):
        if destination.look() is not None:
            raise exists(destination.uri)
        copy_entry(source.here, source.name, destination.here, draft.beside, opened=opened)
        with locked_places(destination):
            draft.commit(exclusive=True)


def move(params: ResourceMoveParams, roots: Roots) -> EmptyResult:
    """Rename a file, a directory or a link. Links are moved and replaced themselves.

    The rename is atomic, so nothing is moved to another file system. A directory that is not empty is never
    replaced.

    Raises:
        ProtocolError: `NOT_FOUND`, `PERMISSION_DENIED` (also for a root itself, and for another file system),
            or `ALREADY_EXISTS`: with `failIfExists` when the destination exists; else when it cannot be
            replaced.
        InvalidParams: A directory was to be moved into itself.
    """
    exclusive = bool(params.fail_if_exists)
    with (
        find(params.source, roots, write=True, follow=False, itself=False, whole=True) as source,
        find(params.destination, roots, write=True, follow=False, itself=False) as destination,
    ):
        if source.info is None:
            raise not_found(params.source)
        if identity(source.info) in destination.above:
            raise InvalidParams("a directory cannot be moved into itself", field="params.destination")
        with client_errors(params.destination):
            _rename(source, destination, exclusive=exclusive)
    return EmptyResult()


def _rename(source: Place, destination: Place, *, exclusive: bool) -> None:
    with locked_places(source, destination):
        if destination.look() is not None and exclusive:
            raise exists(destination.uri)
        old, new = source.name, destination.name
        old_in, new_in = source.here, destination.here
        try:
            if exclusive:
                rename_exclusively(old, new, source_in=old_in, destination_in=new_in)
            else:
                os.rename(old, new, src_dir_fd=old_in, dst_dir_fd=new_in)
        except OSError as error:
            if error.errno == errno.EXDEV:
                why = "it cannot be moved to another file system; copy it, and then delete the original"
                raise denied(source.uri, why) from None
            if error.errno in _IN_THE_WAY:
                raise exists(destination.uri) from None
            raise
        sync_directory(new_in)
        sync_directory(old_in)


def delete(params: ResourceDeleteParams, roots: Roots) -> EmptyResult:
    """Delete a file, a link or a directory. A link is deleted itself, never its target.

    Of a file with several names, the other names stay. A directory that is a root stays.

    Raises:
        ProtocolError: `NOT_FOUND` or `PERMISSION_DENIED`.
        InvalidParams: The directory is not empty, and `recursive` was not asked for.
    """
    with (
        find(params.uri, roots, write=True, follow=False, itself=False, whole=True) as place,
        client_errors(params.uri),
        locked_places(place),
    ):
        info = place.look()
        if info is None:
            raise not_found(params.uri)
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(place.name, dir_fd=place.here)
        elif params.recursive:
            remove_tree(place.here, place.name)
        else:
            try:
                os.rmdir(place.name, dir_fd=place.here)
            except OSError as error:
                if error.errno not in _NOT_EMPTY:
                    raise
                raise InvalidParams(
                    f"{params.uri} is not empty; ask for it with 'recursive'", field="params.recursive"
                ) from None
        sync_directory(place.here)
    return EmptyResult()


def make_directory(params: ResourceMkdirParams, roots: Roots) -> EmptyResult:
    """Make a directory, with those above it that are missing. It may exist already.

    Raises:
        ProtocolError: `ALREADY_EXISTS` when it, or something above it, is no directory; `PERMISSION_DENIED`.
    """
    find_or_make(params.uri, roots)
    return EmptyResult()
