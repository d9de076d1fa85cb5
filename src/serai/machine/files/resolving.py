"""`resourceResolve`: what something is and where it really is."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta

from serai.ahp.commands import ResourceResolveParams, ResourceResolveResult, ResourceType
from serai.machine.files.content_types import content_type
from serai.machine.files.kernel import born
from serai.machine.files.refusals import not_found, told
from serai.machine.files.roots import Access, Roots
from serai.machine.files.versions import etag
from serai.machine.files.walk import find
from serai.uris import uri_of

__all__ = ["resolve"]

_KINDS = {
    stat.S_IFREG: ResourceType.FILE,
    stat.S_IFDIR: ResourceType.DIRECTORY,
    stat.S_IFLNK: ResourceType.SYMLINK,
}


def resolve(params: ResourceResolveParams, roots: Roots) -> ResourceResolveResult:
    """What a resource is. Nothing of it is read, so files with several names are told about too.

    `ctime` is when it was made, and is left out where the system does not know. Sizes, content types and
    etags are those of files; a link that was not followed has its own size.

    Raises:
        ProtocolError: `NOT_FOUND`, also for a link that leads nowhere, or `PERMISSION_DENIED`.
    """
    follow = params.follow_symlinks is not False
    with find(params.uri, roots, Access.READ, follow=follow) as place, told(params.uri):
        info = place.info
        if info is None:
            raise not_found(params.uri)
        kind = _KINDS[stat.S_IFMT(info.st_mode)]
        made = born(place.name, place.directory, info)
        is_file = kind is ResourceType.FILE
        return ResourceResolveResult(
            uri=uri_of(place.path) if follow else params.uri,
            type=kind.value,
            size=None if kind is ResourceType.DIRECTORY else info.st_size,
            mtime=_iso(info.st_mtime_ns),
            ctime=None if made is None else _iso(made),
            content_type=content_type(place.name) if is_file else None,
            etag=etag(info) if is_file else None,
        )


def _iso(nanoseconds: int) -> str | None:
    """A time as JavaScript writes it; `None` for one that no calendar has."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
