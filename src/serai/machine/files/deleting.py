"""`resourceDelete`."""

from __future__ import annotations

import errno
import os
import stat

from serai.ahp.commands import EmptyResult, ResourceDeleteParams
from serai.errors import InvalidParams
from serai.machine.files.handles import sync_directory
from serai.machine.files.lanes import takes_long
from serai.machine.files.refusals import not_found, told
from serai.machine.files.roots import Access, Roots
from serai.machine.files.trees import remove_tree
from serai.machine.files.turns import alone_at
from serai.machine.files.walk import find

__all__ = ["delete"]

_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})


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
            takes_long()
            remove_tree(place.directory, place.name, params.uri)
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
