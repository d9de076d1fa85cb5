"""What the content URIs of a changeset lead to."""

from __future__ import annotations

from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import URI
from serai.changes.closed import Closed
from serai.changes.reaching import read_file
from serai.changes.records import shown
from serai.changes.showing import ContentAddress, content_address
from serai.errors import FileInTheWay, ProtocolError

__all__ = ["kept_at", "read_now"]


def kept_at(uri: URI, session_id: str) -> ContentAddress:
    """The kept content of a session that a URI names.

    Raises:
        ProtocolError: It names none, or another session's.
    """
    address = content_address(uri)
    if address is None or address.session_id != session_id:
        raise ProtocolError("this session has no content at that URI", number=AhpErrorCode.NOT_FOUND)
    return address


def read_now(directory: str, path: str, max_bytes: int, closed: Closed) -> bytes:
    """A file of a working directory as it is now. Reads the disk.

    Raises:
        ProtocolError: There is none, or it cannot be read, or is the host's own.
    """
    try:
        found = read_file(directory, path, max_bytes, closed)
    except FileInTheWay as error:
        raise ProtocolError(error.message, number=AhpErrorCode.PERMISSION_DENIED) from None
    if found is None:
        raise ProtocolError(f"{shown(path)} is gone", number=AhpErrorCode.NOT_FOUND)
    return found.data
