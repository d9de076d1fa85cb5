"""TOML from strangers: read with bounds, since the standard library's reader has none."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any, cast

from serai.depth import MAX_DEPTH

_MAX_TOML = 256 * 1024
_MAX_PARTS = 16
_MOST = 160
"""Longest text of a stranger in a message."""
_INTEGERS = range(-(2**63), 2**63)
"""What TOML has. Larger ones could be read, and then neither be shown nor be turned into a float."""
_TOO_LONG = "it has an integer of more than 64 bits"

# Strings and comments, where dots do not count. Possessive, and content with strings that never end: no input
# makes it go back over what it has read.
_QUIET = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+"{0,5}'
    r"|'''[^']*+(?:'(?!'')[^']*+)*+'{0,5}"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
# The reader's time grows with the square of a dotted key's parts.
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MAX_PARTS}}}")


class BrokenToml(ValueError):
    """A text that is not TOML, or more than is read. The message is short, whatever stands in the text."""


def read_toml(text: str) -> dict[str, Any]:
    """Read a table.

    Raises:
        BrokenToml: It is not TOML, or is larger or deeper than what is read here.
    """
    if len(text) > _MAX_TOML:
        raise BrokenToml(f"it is larger than {_MAX_TOML // 1024} KiB")
    if _DOTTED.search(_QUIET.sub(lambda found: "" if found[0].startswith("#") else "s", text)):
        raise BrokenToml(f"it has a key of more than {_MAX_PARTS} parts")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise BrokenToml("it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise BrokenToml(briefly(str(error))) from None
    except ValueError:  # Python's own, for a number with thousands of digits
        raise BrokenToml(_TOO_LONG) from None
    _check(table)
    return table


def briefly(text: str) -> str:
    """What a stranger has written, in one line, not too long, and with no sign that a terminal would obey."""
    if len(text) > _MOST:
        text = f"{text[: _MOST // 2]} … {text[-_MOST // 2 :]}"
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _check(table: dict[str, Any]) -> None:
    """See that whoever goes through a table meets nothing that is too deep or too large for them."""
    level: list[Any] = [table]
    for _ in range(MAX_DEPTH):
        if any(isinstance(value, int) and value not in _INTEGERS for value in level):
            raise BrokenToml(_TOO_LONG)
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return
    raise BrokenToml(f"it is nested deeper than {MAX_DEPTH} levels")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()
