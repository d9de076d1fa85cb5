"""Reads TOML from untrusted sources with bounds, which the standard library's reader does not have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from serai.contract.record import MAX_DEPTH, checked
from serai.errors import ConfigInvalid, ParseError

T = TypeVar("T")

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
MAX_TOML = 256 * 1024
"""Longest text that is read, in characters."""
_MAX_DOTS = 500
"""Most dots in a line. The reader's time grows with the square of a dotted key's parts."""
_MOST = 160
"""Longest quoted text in a message, in characters."""


class BrokenToml(ValueError):
    """A text that is not TOML, or exceeds the bounds. The message is short, whatever the text contains."""


def read_toml(text: str) -> dict[str, Any]:
    """Read a table.

    Raises:
        BrokenToml: The text is not TOML, or exceeds the bounds.
    """
    if len(text) > MAX_TOML:
        raise BrokenToml(f"it is larger than {MAX_TOML // 1024} KiB")
    if max(line.count(".") for line in text.split("\n")) > _MAX_DOTS:
        raise BrokenToml(f"it has a line with more than {_MAX_DOTS} dots")
    try:
        table = tomllib.loads(text)
        checked(msgspec.json.encode(table))  # all readers can write the table as JSON
        msgspec.msgpack.encode(table)  # this accepts integers of 64 bits only
    except tomllib.TOMLDecodeError as error:
        raise BrokenToml(briefly(str(error))) from None
    except (OverflowError, ValueError, RecursionError, ParseError):
        problem = f"it has an integer of more than 64 bits, or is nested deeper than {MAX_DEPTH} levels"
        raise BrokenToml(problem) from None
    return table


def briefly(text: str) -> str:
    """Return untrusted text as one short line, without control characters of terminals."""
    if len(text) > _MOST:
        text = f"{text[: _MOST // 2]} … {text[-_MOST // 2 :]}"
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def read_entries(
    table: Any, kind: type[T], name: str, place: str, check: Callable[[T], str | None]
) -> dict[str, T]:
    """Read the entries of a file's table of named things (`[agents.NAME]`), by name.

    Args:
        table: The parsed table.
        kind: The type of an entry.
        name: The table's name.
        place: The file, for messages.
        check: Returns the problem of an entry that has the right shape, if any.

    Raises:
        ConfigInvalid: It is not a table, or an entry is invalid. The message names the entry, but no value:
            someone may have written a key there.
    """
    if not isinstance(table, dict):
        raise ConfigInvalid(f"{place}: {name} must be a table: [{name}.NAME]")
    found: dict[str, T] = {}
    for key, value in cast("dict[str, Any]", table).items():
        where = f"{place}: {name}.{briefly(key)}"
        if not is_name(key):
            raise ConfigInvalid(f"{where}: a name has small letters, digits, - and _ only")
        try:
            found[key] = msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise ConfigInvalid(f"{where}: {problem_of(error)}") from None
        if problem := check(found[key]):
            raise ConfigInvalid(f"{where}: {problem}")
    return found


def problem_of(error: msgspec.ValidationError) -> str:
    """Return the message of msgspec's error as the second half of a sentence."""
    problem = briefly(str(error))
    return f"{problem[:1].lower()}{problem[1:]}"


def is_name(name: str) -> bool:
    """Tell whether a name is valid: small letters, digits, and `-` or `_` between them."""
    return _NAME.fullmatch(name) is not None
