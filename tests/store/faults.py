"""A disk that fails, fills up or loses its power: a layer of SQLite's own, below the encryption."""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import apsw

_CLASSES: dict[int, type[apsw.Error]] = {
    apsw.SQLITE_FULL: apsw.FullError,
    apsw.SQLITE_READONLY: apsw.ReadOnlyError,
    apsw.SQLITE_IOERR: apsw.IOError,
}


def failure(code: int) -> apsw.Error:
    """An error as SQLite's own layer would report it."""
    error: Any = _CLASSES[code & 0xFF](f"injected {code}")
    error.result, error.extendedresult = code & 0xFF, code
    return error


class Disk:
    """What the layer does, and what it remembers. `name` is for `SqliteStore(Tuning(vfs=...))`."""

    def __init__(self, name: str) -> None:
        self.name = f"multipleciphers-{name}"
        self._lock = Lock()
        # By operation and end of the file's name: the code that it fails with.
        self._failing: dict[tuple[str, str], int] = {}
        # By file: what is on the disk for sure, and what was written since its last sync.
        self._synced: dict[str, bytes] = {}
        self._pending: dict[str, list[tuple[int, bytes | None]]] = {}
        self._layer = _Layer(name, self)

    @contextmanager
    def failing(self, operation: str, suffix: str, code: int) -> Generator[None]:
        """While it lasts, an operation (`write` or `sync`) on some files fails."""
        self._failing[operation, suffix] = code
        try:
            yield
        finally:
            del self._failing[operation, suffix]

    def pull_the_plug(self, database: Path, destination: Path, chance: random.Random) -> None:
        """Write what a loss of power at this moment may leave: of what was not synced, anything."""
        with self._lock:
            for suffix in ("", "-wal"):
                name = str(database) + suffix
                content = bytearray(self._synced.get(name, b""))
                for offset, data in self._pending.get(name, []):
                    if chance.random() < 0.5:
                        _put(content, offset, data)
                destination.with_name(destination.name + suffix).write_bytes(content)

    # -- what the layer calls ------------------------------------------------------------------------------

    def opened(self, name: str) -> None:
        with self._lock:
            if name not in self._synced:
                path = Path(name)
                self._synced[name] = path.read_bytes() if path.exists() else b""
                self._pending[name] = []

    def wrote(self, name: str, offset: int, data: bytes | None) -> None:
        with self._lock:
            self._pending[name].append((offset, data))

    def synced(self, name: str) -> None:
        with self._lock:
            content = bytearray(self._synced[name])
            for offset, data in self._pending[name]:
                _put(content, offset, data)
            self._synced[name] = bytes(content)
            self._pending[name] = []

    def check(self, operation: str, name: str) -> None:
        for (failing, suffix), code in self._failing.items():
            if failing == operation and name.endswith(suffix):
                raise failure(code)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, filename: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = filename.filename() if isinstance(filename, apsw.URIFilename) else str(filename)
        super().__init__("unix", filename, flags)
        disk.opened(self._name)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.check("write", self._name)
        super().xWrite(data, offset)
        self._disk.wrote(self._name, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._disk.wrote(self._name, newsize, None)

    def xSync(self, flags: int) -> None:  # noqa: ARG002, N802 - nothing is synced really: that takes time
        self._disk.check("sync", self._name)
        self._disk.synced(self._name)


class _Layer(apsw.VFS):
    def __init__(self, name: str, disk: Disk) -> None:
        self._disk = disk
        super().__init__(name, "unix")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self._disk, name, flags)


def _put(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
