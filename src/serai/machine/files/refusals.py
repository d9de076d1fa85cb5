"""The errors that clients get about files: one of AHP's numbers, and a sentence."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager

from serai.ahp.commands import AhpErrorCode, PermissionDeniedErrorData, ResourceRequestParams
from serai.ahp.types import ROOT
from serai.ahp.wire import to_json
from serai.errors import InvalidParams, ProtocolError

_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
_REFUSED = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO, errno.ENODEV}
)
_THERE = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def not_found(uri: str) -> ProtocolError:
    """Return the error for a file that does not exist."""
    return ProtocolError(f"there is no {uri}", number=AhpErrorCode.NOT_FOUND)


def exists(uri: str, what: str = "something") -> ProtocolError:
    """Return the error for a name that is taken."""
    return ProtocolError(f"there is {what} at {uri} already", number=AhpErrorCode.ALREADY_EXISTS)


def conflict(uri: str, what: str) -> ProtocolError:
    """Return the error for a file that has changed since the client, or the operation itself, saw it."""
    return ProtocolError(f"{uri} {what}", number=AhpErrorCode.CONFLICT)


def denied(uri: str, why: str) -> ProtocolError:
    """Return the error for a file that no grant would open."""
    return ProtocolError(f"{uri} is refused: {why}", number=AhpErrorCode.PERMISSION_DENIED)


def outside(uri: str, *, write: bool) -> ProtocolError:
    """Return the error for a file outside of the roots. Its data names the grant that would help.

    It says neither whether the file exists, nor where links lead.
    """
    request = ResourceRequestParams(
        channel=ROOT, uri=uri, read=None if write else True, write=True if write else None
    )
    return ProtocolError(
        f"{uri} is outside of what may be {'written' if write else 'read'} here",
        number=AhpErrorCode.PERMISSION_DENIED,
        data=to_json(PermissionDeniedErrorData(request=request)),
    )


def wrong_kind(uri: str, what: str) -> InvalidParams:
    """Return the error for a directory where a file is needed, or the other way round."""
    return InvalidParams(f"{uri} {what}", field="params.uri")


@contextmanager
def client_errors(uri: str) -> Generator[None]:
    """Turn errors of the system about a file into those that clients get. Other errors pass."""
    try:
        yield
    except OSError as error:
        raise client_error(error, uri) from error


def client_error(error: OSError, uri: str) -> ProtocolError:
    """Return what a client gets for an error of the system about a file."""
    number, said = error.errno, error.strerror or type(error).__name__
    if number in _MISSING:
        return not_found(uri)
    if number in _THERE:
        return exists(uri)
    if number in _REFUSED:
        return denied(uri, said)
    if number in _FULL:
        return ProtocolError(f"{uri} cannot be written, the disk is full ({said}); the file is unchanged")
    return ProtocolError(f"{uri} cannot be used ({said})")
