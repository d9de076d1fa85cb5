"""Reads and writes private files. A file is written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from serai.errors import ConfigInvalid

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_private(path: Path, what: str) -> bytes | None:
    """Return the content of a private file; `None` when there is no such file.

    Raises:
        ConfigInvalid: Others may read or write it, or it cannot be read.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigInvalid(f"the {what} {path} cannot be read: {error.strerror}") from None
    if mode & _OTHERS:
        raise ConfigInvalid(
            f"the {what} {path} can be read by others (mode {stat.S_IMODE(mode):04o})",
            remedy=f"Run 'chmod 600 {path}'",
        )
    return data


def find_private(path: Path, data: bytes, what: str) -> bytes:
    """Return the content of a private file; if there is none, create it with this content.

    Raises:
        ConfigInvalid: Others may read or write it, or it cannot be read or created.
    """
    found = read_private(path, what)
    if found is not None:
        return found
    try:
        _put(path, data, what, os.link)  # unlike a rename, this never takes the place of another's file
    except FileExistsError:  # someone else made one at the same moment: theirs counts
        return read_private(path, what) or b""
    return data


def replace_private(path: Path, data: bytes, what: str) -> None:
    """Write a private file. It replaces an old one atomically.

    Raises:
        ConfigInvalid: It cannot be written.
    """
    _put(path, data, what, os.replace)


def _put(path: Path, data: bytes, what: str, place: Callable[[Path, Path], None]) -> None:
    try:
        write_private(path, data, place=place, sync=True)
        _sync_directory(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise ConfigInvalid(f"the {what} {path} cannot be written: {error.strerror}") from None


def write_private(
    path: Path, data: bytes, *, place: Callable[[Path, Path], None] = os.replace, sync: bool = False
) -> None:
    """Write a private file beside its place, then move it there. With `sync`, it is on the disk afterwards.

    Raises:
        OSError: It cannot be written; the old file is unchanged.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
