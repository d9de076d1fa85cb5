"""Who holds a database, and where that one can be reached."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from serai.errors import DatabaseLocked
from serai.store.sqlite.lock import FileLock, write_address


def test_a_holder_is_told_with_where_it_is_once_it_has_said_so(tmp_path: Path) -> None:
    database = tmp_path / "history.db"
    lock, other = FileLock(database), FileLock(database)
    assert other.holder() is None
    lock.take()
    try:
        holder = other.holder()
        assert holder is not None
        assert (holder.pid, holder.address) == (os.getpid(), None)
        write_address(database, "127.0.0.1:7791")
        told = other.holder()
        assert told is not None
        assert (told.pid, told.since, told.address) == (holder.pid, holder.since, "127.0.0.1:7791")
        with pytest.raises(DatabaseLocked, match=rf"the process {os.getpid()} at 127\.0\.0\.1:7791, since"):
            other.take()
    finally:
        lock.release()
    assert other.holder() is None


def test_a_holder_that_cannot_be_read_is_somebody(tmp_path: Path) -> None:
    database = tmp_path / "history.db"
    lock = FileLock(database)
    lock.take()
    try:
        (tmp_path / "history.db.lock").write_text("?")
        assert str(FileLock(database).holder()) == "another process"
    finally:
        lock.release()
