"""What goes wrong with the database."""

from __future__ import annotations

from serai.errors.base import SeraiError

__all__ = [
    "DatabaseCorrupt",
    "DatabaseLocked",
    "Fenced",
    "SchemaNewer",
    "StorageFailed",
    "StorageUnavailable",
    "StorageUnreadable",
    "WrongKey",
]


class Fenced(SeraiError):
    """Another host has taken over a session: what this one wanted to write was not written."""

    code = "fenced"


class StorageUnavailable(SeraiError):
    """Nothing was written, and it may work later: the disk is full, for instance."""

    code = "storage_unavailable"


class StorageFailed(SeraiError):
    """It is not known what was written. The host ends, and recovers from the journal when it starts."""

    code = "storage_failed"


class StorageUnreadable(SeraiError):
    """The database cannot be opened. The message names the file; nothing was changed."""

    code = "storage_unreadable"


class DatabaseCorrupt(StorageUnreadable):
    """The database's content is damaged."""

    code = "database_corrupt"


class DatabaseLocked(StorageUnreadable):
    """Another host holds the database; the message says which."""

    code = "database_locked"


class SchemaNewer(StorageUnreadable):
    """A newer Serai wrote the database."""

    code = "schema_newer"


class WrongKey(StorageUnreadable):
    """The key does not open the database, or the file is no database of ours."""

    code = "wrong_key"
