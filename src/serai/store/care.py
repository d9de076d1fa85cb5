"""Looking after a database: checking it, erasing from it, bringing a copy back."""

from __future__ import annotations

import re
import shutil
import time
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw

from serai.errors import DatabaseCorrupt, StorageUnreadable
from serai.store.connection import connect, look_at, raw_key, salt_of, unreadable
from serai.store.database import Database
from serai.store.files import beside, sync
from serai.store.locator import decode
from serai.store.lock import FileLock
from serai.store.mentions import RECORDS, ROOT, terminals_of, without
from serai.store.migrations import MIGRATIONS
from serai.store.opening import inspect
from serai.store.queries import SQL

__all__ = ["check", "erase", "restore"]

_BLOB_PREFIX = b"serai-blob:/"
_BLOB_REFERENCE = re.compile(_BLOB_PREFIX + rb"([0-9a-f]{64})")

_WITH_MARKS = 2
"""The version of the schema from which on channels have marks."""

_ANOTHER = "name another copy"
"""What a person does about a copy that cannot be restored."""

# A restored copy does not know which numbers were given out after it was made. No host gives out as many as
# this between two restores, and there is room for two million of them below 2 ** 53.
_RESTORE_JUMP = 1 << 32

# The same copy may be restored again, and what was given out in between be lost. So a restored database has
# numbers from now on, in microseconds: no host uses them up faster. 2 ** 53 of them last to 2255.
_NUMBERS_PER_SECOND = 1_000_000


def check(connection: Database, *, full: bool) -> list[str]:
    """What is wrong with a database; empty when nothing is.

    Args:
        connection: Only read from.
        full: Also compare indexes with tables, and locators with the rows that they list.
    """
    try:
        with connection:  # one moment for all of it
            pragma = "integrity_check" if full else "quick_check"
            problems = [line for (line,) in connection.execute(f"PRAGMA {pragma}") if line != "ok"]
            return problems + list(_check_invariants(connection, full=full))
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]


def _check_invariants(db: Database, *, full: bool) -> Iterator[str]:
    for (uri,) in db.execute(SQL["check_heads"]):
        yield f"the head of {uri} reflects more than there is"
    for (digest,) in db.execute(SQL["check_blob_uses"]):
        yield f"the content {digest} is in use, but missing"
    if db.execute(SQL["check_ceiling"]).get:
        yield "there are rows with numbers that were not given out"
    if db.execute(SQL["check_channels"]).get:
        yield "there are rows whose channel has no name"
    if full:
        yield from _check_locators(db)


def _check_locators(db: Database) -> Iterator[str]:
    rows: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))
    for seq, channel in db.execute(SQL["check_located"]):
        rows[channel].append(seq)
    listed: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))
    # Up to its mark the rows of a channel are pruned. A copy from before there was pruning has no marks.
    marks: dict[int, int] = {}
    if int(db.pragma("user_version")) >= _WITH_MARKS:
        marks.update((channel, mark) for channel, mark in db.execute(SQL["check_marks"]))
    for channel, numbers in db.execute(SQL["check_locators"]):
        try:
            found = decode(numbers)
            listed[channel].extend(found[bisect_right(found, marks.get(channel, 0)) :])
        except ValueError as error:
            yield f"a locator of channel {channel} is damaged: {error}"
    for channel in sorted(rows.keys() | listed.keys()):
        if rows[channel] != listed[channel]:
            yield f"the locators of channel {channel} do not list its rows"


def erase(db: Database, uri: str) -> dict[str, int]:
    """Delete all that is kept of a session, in one transaction, and return its channels, which are gone too.

    Raises:
        apsw.Error: Nothing was deleted.
    """
    deliveries = f"serai-deliveries:{uri}"
    channels: dict[str, int] = {}
    for name in (uri, deliveries, f"serai-agent:{uri}"):
        channel: int | None = db.execute(SQL["channel_id"], (name,)).get
        if channel is not None:
            channels[name] = channel
    with db:
        suspects = _references(db.execute(SQL["contents_of_session"], (uri, deliveries)))
        suspects.update(digest for (digest,) in db.execute(SQL["uses_of_session"], (uri,)))
        for channel in channels.values():
            for query in ("purge_rows", "purge_locators", "purge_channel"):
                db.execute(SQL[query], (channel,))
        for query in ("purge_session", "purge_disposed", "purge_head", "purge_turns", "purge_uses"):
            db.execute(SQL[query], (uri,))
        _erase_mentions(db, uri)
        if suspects:
            suspects -= {digest for (digest,) in db.execute(SQL["used_blobs"])}
            suspects -= _references(db.execute(SQL["contents_with_blobs"], (_BLOB_PREFIX,)))
            db.executemany(SQL["purge_blob"], [(digest,) for digest in suspects])
    return channels


def _erase_mentions(db: Database, uri: str) -> None:
    records = (action for _, action in db.execute(SQL["rows_of_channel"], (RECORDS,)))
    terminals = terminals_of(uri, records)
    for channel in (RECORDS, ROOT) if terminals else ():
        for seq, action in db.execute(SQL["rows_of_channel"], (channel,)).fetchall():
            left = without(channel, action, terminals)
            if left is not action:
                db.execute(SQL["rewrite_row"], (left, seq))


def _references(contents: Iterable[tuple[bytes, ...]]) -> set[str]:
    return {digest.decode() for (content,) in contents for digest in _BLOB_REFERENCE.findall(content)}


def restore(
    backup: Path, destination: Path, key: bytes | str, *, now: Callable[[], float] = time.time
) -> Path | None:
    """Put a copy in the place of a database, and return where the present one was moved to, if there is one.

    The copy is checked in full first. It blocks; no host may run on the database.
    No number is given out that was given out before, also when the same copy is restored a second time.

    Raises:
        DatabaseLocked: A host runs on the database.
        StorageUnreadable: The copy cannot be used. The present database is as it was.
    """
    destination = destination.resolve()
    lock = FileLock(destination)
    lock.take()
    try:
        if not backup.is_file() or not backup.stat().st_size or backup.resolve() == destination:
            raise StorageUnreadable(
                f"{backup} is no copy of a database", remedy="Name a file of 'serai backup'"
            )
        fresh = destination.with_name(f"{destination.name}.new")
        try:
            raw = inspect(backup, key, newest=MIGRATIONS[-1].version, otherwise=_ANOTHER)
            _clear(fresh)
            for suffix in ("", "-wal"):
                if beside(backup, suffix).exists():
                    shutil.copyfile(beside(backup, suffix), beside(fresh, suffix))
                    beside(fresh, suffix).chmod(0o600)
            given_out = max(_given_out(destination, key), round(now() * _NUMBERS_PER_SECOND))
            _adopt(fresh, raw, backup, given_out)
            sync(fresh)
            aside = _move_aside(destination)
            fresh.replace(destination)
            sync(destination.parent)
        finally:
            _clear(fresh)
    except OSError as error:
        raise StorageUnreadable(
            f"{backup} could not be restored to {destination} ({error.strerror})",
            remedy="Check the folder's permissions and the free space",
        ) from error
    finally:
        lock.release()
    return aside


def _given_out(database: Path, key: bytes | str) -> int:
    """Which numbers a database may have given out; 0 when it cannot be read, or is not there."""
    try:
        connection = look_at(database, raw_key(key, salt_of(database)))
        try:
            state: tuple[int, int, int] | None = connection.execute(SQL["state"]).get
            return state[0] if state else 0
        finally:
            connection.close()
    except (OSError, apsw.Error):
        return 0


def _adopt(fresh: Path, raw: bytes, backup: Path, given_out: int) -> None:
    """Check a copy in full, and set aside the numbers that may have been given out since it was made."""
    try:
        connection = connect(fresh, raw)
        try:
            # Copies are not in this mode; the log of what was no copy is taken in when it is closed.
            connection.pragma("journal_mode", "wal")
            problems = check(connection, full=True)
            if problems:
                raise DatabaseCorrupt(
                    f"{backup} is damaged ({problems[0]})",
                    remedy=f"{_ANOTHER.capitalize()}; nothing was changed",
                )
            ceiling = connection.execute(SQL["state"]).get[0]
            connection.execute(SQL["open_state"], (max(ceiling + _RESTORE_JUMP, given_out),))
        finally:
            connection.close()
    except apsw.Error as error:
        raise unreadable(error, backup, otherwise=_ANOTHER) from error


def _move_aside(database: Path) -> Path | None:
    if not database.exists():
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = database.with_name(f"{database.name}.replaced-{stamp}")
    # The log goes first: it must never lie beside another database.
    for suffix in ("-wal", "-shm", ""):
        file = beside(database, suffix)
        if file.exists():
            file.replace(beside(aside, suffix))
    return aside


def _clear(fresh: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        beside(fresh, suffix).unlink(missing_ok=True)
