"""What a client is told when a file cannot be had: one of AHP's numbers, and a sentence."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager

from serai.ahp.commands import AhpErrorCode, PermissionDeniedErrorData, ResourceRequestParams
from serai.ahp.types import ROOT
from serai.ahp.wire import to_json
from serai.errors import InvalidParams, ProtocolError
from serai.machine.files.roots import Access

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
_REFUSED = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO, errno.ENODEV}
)
_THERE = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def not_found(uri: str) -> ProtocolError:
    """There is nothing of that name."""
    return ProtocolError(f"there is no {uri}", number=AhpErrorCode.NOT_FOUND)


def exists(uri: str, what: str = "something") -> ProtocolError:
    """Something is in the way."""
    return ProtocolError(f"there is {what} at {uri} already", number=AhpErrorCode.ALREADY_EXISTS)


def conflict(uri: str, what: str) -> ProtocolError:
    """It is not as the client, or the operation itself, had seen it."""
    return ProtocolError(f"{uri} {what}", number=AhpErrorCode.CONFLICT)


def denied(uri: str, why: str) -> ProtocolError:
    """It may not be had, and no grant would help."""
    return ProtocolError(f"{uri} is refused: {why}", number=AhpErrorCode.PERMISSION_DENIED)


def outside(uri: str, access: Access) -> ProtocolError:
    """It lies outside what may be used this way. The data says which grant would help.

    Whether it is there at all is not said, nor where links lead.
    """
    writing = Access.WRITE in access
    request = ResourceRequestParams(
        channel=ROOT, uri=uri, read=True if Access.READ in access else None, write=True if writing else None
    )
    return ProtocolError(
        f"{uri} is outside what may be {'written' if writing else 'read'} here",
        number=AhpErrorCode.PERMISSION_DENIED,
        data=to_json(PermissionDeniedErrorData(request=request)),
    )


def wrong_kind(uri: str, what: str) -> InvalidParams:
    """It is there, and is not what the command is for: a directory, or none."""
    return InvalidParams(f"{uri} {what}", field="params.uri")


@contextmanager
def told(uri: str) -> Generator[None]:
    """Turns what the system says about a file into what a client is told. Other errors pass."""
    try:
        yield
    except OSError as error:
        raise translated(error, uri) from error


def translated(error: OSError, uri: str) -> ProtocolError:
    """What a client is told when the system says this about a file."""
    number, said = error.errno, error.strerror or type(error).__name__
    if number in _MISSING:
        return not_found(uri)
    if number in _THERE:
        return exists(uri)
    if number in _REFUSED:
        return denied(uri, said)
    if number in _FULL:
        return ProtocolError(f"{uri} cannot be written, the disk is full ({said}); it is as it was")
    return ProtocolError(f"{uri} cannot be used ({said})")
