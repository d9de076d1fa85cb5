"""`resourceList` and `resourceMkdir`."""

from __future__ import annotations

import os
import stat

from serai.ahp.commands import (
    DirectoryEntry,
    EmptyResult,
    ResourceListParams,
    ResourceListResult,
    ResourceMkdirParams,
    ResourceType,
)
from serai.errors import ProtocolError
from serai.machine.files.lanes import takes_long
from serai.machine.files.refusals import not_found, told
from serai.machine.files.roots import Access, Roots
from serai.machine.files.walk import find, make_directories
from serai.uris import uri_of

__all__ = ["list_directory", "make_directory"]


def list_directory(params: ResourceListParams, roots: Roots) -> ResourceListResult:
    """What is in a directory, by name. Everything in it is listed.

    AHP has two types here. A link counts as what it leads to when that is a directory that may be read; all
    else is a `file`, also what would be refused when it is opened: pipes, links that lead outside.

    A name that is not UTF-8 cannot be asked for. It is listed with U+FFFD for each byte that is no text, so
    that a person sees that something is there.

    Raises:
        ProtocolError: `NOT_FOUND` or `PERMISSION_DENIED`.
        InvalidParams: It is no directory.
    """
    with find(params.uri, roots, Access.READ) as place:
        if place.info is None:
            raise not_found(params.uri)
        descriptor = place.open_directory()
        try:
            with told(params.uri), os.scandir(descriptor) as entries:
                found: list[DirectoryEntry] = []
                for entry in entries:
                    found.append(
                        DirectoryEntry(name=_shown(entry.name), type=_type(entry, place.path, roots))
                    )
                    takes_long(count=len(found))
        finally:
            os.close(descriptor)
    return ResourceListResult(entries=sorted(found, key=lambda entry: entry.name))


def _shown(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def _type(entry: os.DirEntry[str], directory: str, roots: Roots) -> str:
    try:
        is_directory = entry.is_dir(follow_symlinks=False) or (
            entry.is_symlink() and _leads_to_directory(f"{directory}/{entry.name}", roots)
        )
    except OSError:  # it is gone, or the file system does not say
        is_directory = False
    return (ResourceType.DIRECTORY if is_directory else ResourceType.FILE).value


def _leads_to_directory(path: str, roots: Roots) -> bool:
    try:
        with find(uri_of(path), roots, Access.READ) as place:
            return place.info is not None and stat.S_ISDIR(place.info.st_mode)
    except ProtocolError:
        return False


def make_directory(params: ResourceMkdirParams, roots: Roots) -> EmptyResult:
    """Make a directory, and those above it that are missing. One that is there already is well.

    Raises:
        ProtocolError: `ALREADY_EXISTS` when it, or something above it, is no directory; `PERMISSION_DENIED`.
    """
    make_directories(params.uri, roots).close()
    return EmptyResult()
