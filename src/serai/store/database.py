"""What is used of a connection of apsw, with types: its own stubs need a newer Python to be complete."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, cast

import apsw

__all__ = ["Cursor", "Database", "open_database", "table_of"]


class Cursor(Protocol):
    """The rows of a statement."""

    @property
    def get(self) -> Any:
        """The only value, the only row, or all rows; `None` when there is nothing."""
        ...

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        ...

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All other rows."""
        ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Database(Protocol):
    """A connection. `with` makes one transaction of a block."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, statements: str, bindings: Sequence[Any] | None = None, /) -> Cursor:
        """Run statements."""
        ...

    def executemany(self, statements: str, bindings: Iterable[Sequence[Any]], /) -> Cursor:
        """Run a statement once for each of the bindings."""
        ...

    def pragma(self, name: str, value: int | str | None = None) -> Any:
        """Read or set something of SQLite's own."""
        ...

    def config(self, op: int, *args: int) -> int:
        """Change how the connection behaves."""
        ...

    def set_busy_timeout(self, milliseconds: int) -> None:
        """How long to wait for a lock."""
        ...

    def status(self, op: int, reset: bool = False) -> tuple[int, int]:
        """A counter of SQLite's: its value, and the highest that it had."""
        ...

    def wal_autocheckpoint(self, n: int) -> None:
        """After how many pages a commit does a checkpoint; 0 for never."""
        ...

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]:
        """Move pages from the log to the file; returns the log's length and how much of it is done."""
        ...

    def interrupt(self) -> None:
        """Make what runs now fail. Any thread may call."""
        ...

    def close(self) -> None:
        """Close it."""
        ...

    def __enter__(self) -> object: ...

    def __exit__(self, *args: object) -> bool | None: ...


def open_database(filename: str, *, flags: int, vfs: str | None, statements: int) -> Database:
    """Make a connection; `statements` is how many prepared ones it keeps."""
    make = cast("Callable[..., Database]", apsw.Connection)
    return make(filename, flags=flags, vfs=vfs, statementcachesize=statements)


def table_of(numbers: array[int]) -> object:
    """A binding for `carray(?)`: an array, which is not empty, as a table."""
    bind = cast("Callable[[array[int]], object]", apsw.carray)  # pyright: ignore[reportUnknownMemberType]
    return bind(numbers)
