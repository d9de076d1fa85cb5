"""Writes to the relay's tables, and the index of words for searching."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from serai.store.contract import RelayWrite
from serai.store.sqlite.connection import SQL, Database

_OF_AGENTS = ("session_messages", "steps", "agent_session", "run_messages", "run_steps", "workflow_run")
"""Tables of model sessions and workflow runs, each before the one that it refers to."""
_INDEXED_AT_ONCE = 50
"""Most messages, and most turns, of one indexing step: a batch may have to wait for it."""
_INDEXED_BYTES = 64 * 1024
"""Bytes of messages or turns after which a step ends, too."""


_IN_BULK = ("add_message", "add_delivery", "put_delivery")
_AT_ONCE = (32, 16, 8, 4, 2, 1)
"""Numbers of rows that one statement of those writes. Other threads get a turn between two statements."""


def write(db: Database, writes: Iterable[tuple[int, RelayWrite]], first: int) -> None:
    """Write a batch's changes for the relay, inside the batch's transaction.

    Args:
        db: The database.
        writes: The changes, each with the index of its item in the batch.
        first: The number of the batch's first item.

    Raises:
        apsw.Error: A change is not valid.
    """
    # The most frequent statements go first, each in one go: they depend on none of the others.
    bulk: dict[str, list[Any]] = {statement: [] for statement in _IN_BULK}
    others: list[tuple[str, tuple[Any, ...]]] = []
    for item, (statement, values) in writes:
        if statement in bulk:
            bulk[statement] += (first + item, *values)
        else:
            others.append((statement, (first + item, *values)))
    for statement, values in bulk.items():
        if values:
            _write_rows(db, statement, values)
    for statement, group in groupby(others, key=itemgetter(0)):
        db.executemany(SQL[statement], [values for _, values in group])


def _write_rows(db: Database, statement: str, values: list[Any]) -> None:
    width = SQL[statement].count("?")
    start, rows = 0, len(values) // width
    for count in _AT_ONCE:
        while rows >= count:
            until = start + count * width
            db.execute(_of_rows(statement, count), values[start:until])
            start, rows = until, rows - count


@cache
def _of_rows(statement: str, count: int) -> str:
    """Return a statement for several rows of values."""
    before, _, after = SQL[statement].partition("VALUES ")
    row, closing, rest = after.partition(") AS ")
    return f"{before}VALUES {', '.join([row] * count)}{closing}{rest}"


def erase(db: Database, session: str) -> None:
    """Erase a session's deliveries, identity and transcript, and the index of all words."""
    db.execute(SQL["purge_deliveries"], (session,))
    db.execute(SQL["purge_identity"], (session,))
    for table in _OF_AGENTS:
        db.execute(SQL[f"purge_{table}"], (session,))
    db.execute(SQL["purge_words"])
    db.execute(SQL["set_indexed"], (0, 0))


class _MessageText(msgspec.Struct):
    text: str = ""


class _TurnWords(msgspec.Struct, rename="camel"):
    """The words of a completed turn: the question and the text of the answer."""

    user_message: _MessageText
    response_parts: list[_TurnPart] = []


class _TurnPart(msgspec.Struct):
    kind: str = ""
    content: msgspec.Raw = msgspec.Raw(b"")


_read_message = msgspec.json.Decoder(_MessageText).decode
_read_turn = msgspec.json.Decoder(_TurnWords).decode


def index_words(db: Database) -> bool:
    """Index the next few messages and turns, in a transaction of its own. Returns whether more are left.

    Raises:
        apsw.Error: Nothing was indexed.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        messages, turns = db.execute(SQL["indexed"]).get
        new_messages, more_messages = _next(db, "messages_to_index", messages)
        new_turns, more_turns = _next(db, "turns_to_index", turns)
        words = [(2 * seq, _read_message(message).text) for seq, message in new_messages]
        words += [(2 * row + 1, words_of_turn(turn)) for row, turn in new_turns]
        if words:
            db.executemany(SQL["add_words"], words)
            until = new_messages[-1][0] if new_messages else messages
            db.execute(SQL["set_indexed"], (until, new_turns[-1][0] if new_turns else turns))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return more_messages or more_turns


def _next(db: Database, query: str, after: int) -> tuple[list[tuple[int, bytes]], bool]:
    """Return the next rows for one step, and whether there may be more."""
    rows: list[tuple[int, bytes]] = []
    size = 0
    for number, data in db.execute(SQL[query], (after, _INDEXED_AT_ONCE)):
        rows.append((number, data))
        size += len(data)
        if size >= _INDEXED_BYTES:
            break
    return rows, size >= _INDEXED_BYTES or len(rows) == _INDEXED_AT_ONCE


def words_of_turn(turn: bytes) -> str:
    """Return the question and the answer of a turn, as text to search."""
    read_turn = _read_turn(turn)
    texts = [
        msgspec.json.decode(part.content, type=str)
        for part in read_turn.response_parts
        if part.kind == "markdown" and bytes(part.content).startswith(b'"')
    ]
    return "\n".join([read_turn.user_message.text, *texts])
