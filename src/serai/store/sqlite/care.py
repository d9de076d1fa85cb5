"""Checks of a database, and the erasing of sessions."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator

import apsw

from serai.store.sqlite import relay
from serai.store.sqlite.connection import SQL, Database
from serai.store.sqlite.locator import decode

_BLOB_PREFIX = b"serai-blob:/"
_BLOB_REFERENCE = re.compile(_BLOB_PREFIX + rb"([0-9a-f]{64})")

_WITH_MARKS = 2
"""Version of the schema from which on channels have marks."""


def check(connection: Database, *, full: bool) -> list[str]:
    """Return the problems of a database; empty when there are none.

    Args:
        connection: The connection, only read from.
        full: Also compare indexes with tables, and locators with the rows that they list.
    """
    problems: list[str] = []
    try:
        with connection:  # one moment for all of it
            pragma = "integrity_check" if full else "quick_check"
            problems += [line for (line,) in connection.execute(f"PRAGMA {pragma}") if line != "ok"]
            problems += _check_invariants(connection, full=full)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        problems.append(str(error))
    return problems


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


def erase(db: Database, uri: str) -> None:
    """Delete all rows of a session, in one transaction.

    Raises:
        apsw.Error: Nothing was deleted.
    """
    channels: list[int] = []
    deferred, deliveries = f"serai-deferred:{uri}", f"serai-deliveries:{uri}"  # channels of earlier versions
    for name in (uri, deferred, deliveries, f"serai-agent:{uri}"):
        channel: int | None = db.execute(SQL["channel_id"], (name,)).get
        if channel is not None:
            channels.append(channel)
    with db:
        suspects = _references(db.execute(SQL["contents_of_session"], (uri, deferred)))
        suspects.update(digest for (digest,) in db.execute(SQL["uses_of_session"], (uri,)))
        for channel in channels:
            for query in ("purge_rows", "purge_locators", "purge_channel"):
                db.execute(SQL[query], (channel,))
        for query in ("purge_session", "purge_disposed", "purge_head", "purge_turns", "purge_uses"):
            db.execute(SQL[query], (uri,))
        relay.erase(db, uri)
        for query in ("forget_listed_terminals", "forget_terminals"):  # in this order
            db.execute(SQL[query], (uri,))
        if suspects:
            suspects -= {digest for (digest,) in db.execute(SQL["used_blobs"])}
            suspects -= _references(db.execute(SQL["contents_with_blobs"], (_BLOB_PREFIX,)))
            db.executemany(SQL["purge_blob"], [(digest,) for digest in suspects])


def _references(contents: Iterable[tuple[bytes, ...]]) -> set[str]:
    return {digest.decode() for (content,) in contents for digest in _BLOB_REFERENCE.findall(content)}
