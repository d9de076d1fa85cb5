"""`resourceMove`, `resourceDelete` and `resourceMkdir`."""

from __future__ import annotations

import errno
import os
import stat

from serai.ahp.commands import EmptyResult, ResourceDeleteParams, ResourceMkdirParams, ResourceMoveParams
from serai.errors import InvalidParams
from serai.machine.draft import rename_exclusively
from serai.machine.files.copies import copy_file, copy_link
from serai.machine.files.place import Place, etag, find, find_or_make
from serai.machine.files.refusals import conflict, denied, exists, not_found, told
from serai.machine.files.roots import Access, Roots
from serai.machine.files.threads import alone_at
from serai.machine.paths import identity, remove_tree, sync_directory

__all__ = ["delete", "make_directory", "move"]

_IN_THE_WAY = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR})
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})


def move(params: ResourceMoveParams, roots: Roots) -> EmptyResult:
    """Give a file, a directory or a link another name. A link is moved itself, and replaced itself.

    Within one file system this is one step. From one to another a file is copied and then removed; a
    directory is refused. A directory that is not empty is never replaced.

    Raises:
        ProtocolError: `NOT_FOUND`, `PERMISSION_DENIED` (also for a root itself, and for a directory that
            would go to another file system), or `ALREADY_EXISTS`: with `failIfExists` when there is anything,
            else when what is there cannot be replaced by it; `CONFLICT` when another program changed it while
            it was copied, or it could not be removed.
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
        with told(params.destination):
            renamed = _rename(source, destination, exclusive=exclusive)
        if not renamed:
            _copy_and_remove(source, destination, exclusive=exclusive)
    return EmptyResult()


def _rename(source: Place, destination: Place, *, exclusive: bool) -> bool:
    """Rename in one step. Returns `False` when the other place is on another file system."""
    with alone_at(source, destination):
        if destination.look() is not None and exclusive:
            raise exists(destination.uri)
        old, new = source.name, destination.name
        old_in, new_in = source.directory, destination.directory
        try:
            if exclusive:
                rename_exclusively(old, new, source_in=old_in, destination_in=new_in)
            else:
                os.rename(old, new, src_dir_fd=old_in, dst_dir_fd=new_in)
        except FileNotFoundError:
            raise not_found(source.uri) from None
        except OSError as error:
            if error.errno == errno.EXDEV:
                return False
            if error.errno in _IN_THE_WAY:
                raise exists(destination.uri) from None
            raise
        sync_directory(new_in)
        sync_directory(old_in)
    return True


def _copy_and_remove(source: Place, destination: Place, *, exclusive: bool) -> None:
    with told(source.uri):
        before = source.look()
    if before is None:
        raise not_found(source.uri)
    if stat.S_ISDIR(before.st_mode):
        raise denied(
            source.uri,
            "a directory cannot be moved to another file system; copy it, and then delete the original",
        )
    if stat.S_ISLNK(before.st_mode):
        copy_link(source, destination, exclusive=exclusive)
    else:
        before = copy_file(source, destination, exclusive=exclusive, moved=True)
    with alone_at(source):
        try:
            now = source.look()
            if now is None or etag(now) != etag(before):
                raise conflict(source.uri, "was changed by another program meanwhile; there is a copy now")
            os.unlink(source.name, dir_fd=source.directory)
        except OSError as error:
            raise conflict(
                source.uri, f"could not be removed ({error.strerror}); there is a copy now"
            ) from None


def delete(params: ResourceDeleteParams, roots: Roots) -> EmptyResult:
    """Delete a file, a link or a directory. Of a link only the link goes, never what it leads to.

    A pipe or a socket goes as well, as it would with its directory: it is not opened. A file with several
    names may be deleted: the others stay. A directory that is a root stays.

    Raises:
        ProtocolError: `NOT_FOUND` or `PERMISSION_DENIED`.
        InvalidParams: It is a directory with something in it, and `recursive` was not asked for.
    """
    with (
        find(params.uri, roots, Access.WRITE, follow=False, itself=False, whole=True, pipes=True) as place,
        told(params.uri),
        alone_at(place),
    ):
        info = place.look()
        if info is None:
            raise not_found(params.uri)
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(place.name, dir_fd=place.directory)
        elif params.recursive:
            remove_tree(place.directory, place.name)
        else:
            try:
                os.rmdir(place.name, dir_fd=place.directory)
            except OSError as error:
                if error.errno not in _NOT_EMPTY:
                    raise
                raise InvalidParams(
                    f"{params.uri} is not empty; ask for it with 'recursive'", field="params.recursive"
                ) from None
        sync_directory(place.directory)
    return EmptyResult()


def make_directory(params: ResourceMkdirParams, roots: Roots) -> EmptyResult:
    """Make a directory, and those above it that are missing. One that is there already is well.

    Raises:
        ProtocolError: `ALREADY_EXISTS` when it, or something above it, is no directory; `PERMISSION_DENIED`.
    """
    find_or_make(params.uri, roots).close()
    return EmptyResult()
