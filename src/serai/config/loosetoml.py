"""TOML from strangers: read with bounds, since the standard library's reader has none."""

from __future__ import annotations

import re
import tomllib
from typing import Any

__all__ = ["read_toml"]

_MAX_TOML = 256 * 1024
_MAX_PARTS = 64
# The reader's time grows with the square of a dotted key's parts.
_DOTTED = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{_MAX_PARTS}}}")


def read_toml(text: str) -> dict[str, Any]:
    """Read a table.

    Raises:
        TOMLDecodeError: It is not TOML, or is larger or deeper than what is read here.
    """
    if len(text) > _MAX_TOML:
        raise tomllib.TOMLDecodeError(f"it is larger than {_MAX_TOML // 1024} KiB")
    if _DOTTED.search(text):
        raise tomllib.TOMLDecodeError(f"it has a key of more than {_MAX_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
