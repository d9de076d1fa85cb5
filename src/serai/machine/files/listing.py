"""`resourceList` and `resourceResolve`: list directories, and describe files."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta

from serai.ahp.commands import (
    DirectoryEntry,
    ResourceListParams,
    ResourceListResult,
    ResourceResolveParams,
    ResourceResolveResult,
    ResourceType,
)
from serai.errors import ProtocolError
from serai.machine.files.content import content_type
from serai.machine.files.place import etag, find
from serai.machine.files.refusals import client_errors, not_found
from serai.machine.files.roots import Roots
from serai.uris import uri_of

_KINDS = {
    stat.S_IFREG: ResourceType.FILE,
    stat.S_IFDIR: ResourceType.DIRECTORY,
    stat.S_IFLNK: ResourceType.SYMLINK,
}


def list_directory(params: ResourceListParams, roots: Roots) -> ResourceListResult:
    """List a directory, by name.

    AHP has two types here. A link to a directory that may be read counts as a directory. All else is a
    `file`, also what would be refused when it is opened: pipes, links that lead outside.

    A name that is not UTF-8 cannot be asked for. It is listed with U+FFFD for each byte that is no text, so
    that a person sees that something is there.

    Raises:
        ProtocolError: `NOT_FOUND` or `PERMISSION_DENIED`.
        InvalidParams: It is no directory.
    """
    with find(params.uri, roots) as place:
        handle = place.open_directory()
        try:
            with client_errors(params.uri), os.scandir(handle) as entries:
                found = [
                    DirectoryEntry(name=_shown(entry.name), type=_type(entry, place.path, roots))
                    for entry in entries
                ]
        finally:
            os.close(handle)
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
        with find(uri_of(path), roots) as place:
            return place.is_directory
    except ProtocolError:
        return False


def resolve(params: ResourceResolveParams, roots: Roots) -> ResourceResolveResult:
    """Describe a resource. Its content is not read, so files with several names are described, too.

    `ctime` is the time of creation, which Python tells on macOS alone. Sizes, content types and etags are
    those of files; a link that was not followed has its own size.

    Raises:
        ProtocolError: `NOT_FOUND`, also for a link that leads nowhere, or `PERMISSION_DENIED`.
    """
    follow = params.follow_symlinks is not False
    with find(params.uri, roots, follow=follow) as place, client_errors(params.uri):
        info = place.info
        if info is None:
            raise not_found(params.uri)
        kind = _KINDS[stat.S_IFMT(info.st_mode)]
        made: float | None = getattr(info, "st_birthtime", None)
        is_file = kind is ResourceType.FILE
        return ResourceResolveResult(
            uri=uri_of(place.path) if follow else params.uri,
            type=kind.value,
            size=None if kind is ResourceType.DIRECTORY else info.st_size,
            mtime=_iso(info.st_mtime_ns),
            ctime=None if made is None else _iso(int(made * 1_000_000_000)),
            content_type=content_type(place.name) if is_file else None,
            etag=etag(info) if is_file else None,
        )


def _iso(nanoseconds: int) -> str:
    """Format a time as JavaScript does."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
