"""SQL is data: the statements of `sql/queries.sql`, by name."""

from __future__ import annotations

import re
from importlib.resources import files

__all__ = ["SQL", "parse"]

_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


def parse(text: str) -> dict[str, str]:
    """Statements by name: `-- name --`, comment lines, then the statement.

    Raises:
        ValueError: A name stands there twice, or has no statement.
    """
    _, *parts = _NAME.split(text)
    statements: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        statement = " ".join(_COMMENT.sub("", body).split())
        if not statement or name in statements:
            raise ValueError(f"the query {name!r} stands there twice, or is empty")
        statements[name] = statement
    return statements


SQL = parse(files("serai.store").joinpath("sql", "queries.sql").read_text(encoding="utf-8"))
"""The statements of the SQLite store."""
