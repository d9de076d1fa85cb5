"""The schema's history: numbered files, each applied once, in one transaction with its record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import apsw

from serai.errors import StorageUnreadable
from serai.store.sqlite.connection import Database, copy_database

APPLICATION_ID = 0x53455241
"""`SERA`, in the header of our databases."""

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(NamedTuple):
    """A step from one schema to the next. The schema's version is the number of its last step."""

    version: int
    name: str
    script: str


def read_migrations() -> tuple[Migration, ...]:
    """Read all migrations of this Serai, in order."""
    folder = files("serai.store.sqlite").joinpath("sql", "migrations")
    found = [
        Migration(int(match[1]), match[2], file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return tuple(sorted(found))


MIGRATIONS = read_migrations()


def migrate(connection: Database, migrations: Sequence[Migration], *, path: Path, keep_copy: bool) -> None:
    """Bring a database up to date. Keep a copy from before each step if that is wanted.

    A copy is `<name>.before-<version>` beside the database. It can be brought back with `restore`.

    Raises:
        StorageUnreadable: A step failed. The database is as it was before that step.
    """
    version = int(connection.pragma("user_version"))
    for step in migrations:
        if step.version <= version:
            continue
        copy = path.with_name(f"{path.name}.before-{step.version:04d}")
        try:
            if keep_copy:
                copy_database(connection, copy)
            _apply(connection, step)
        except (apsw.Error, OSError) as error:
            kept = f"; {copy} is a copy from before" if keep_copy else ""
            raise StorageUnreadable(
                f"{path} could not be migrated by {step.version:04d}_{step.name} ({error}){kept}",
                remedy="This step changed nothing. Make room on the disk, or use the Serai that made it",
            ) from error


def _apply(connection: Database, step: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations "
            "(version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT"
        )
        connection.execute(step.script)
        connection.execute(
            "INSERT INTO migrations (version, name, applied_at) VALUES (?, ?, datetime('now'))",
            (step.version, step.name),
        )
        # Both are in the header, so they are part of the transaction.
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", step.version)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
