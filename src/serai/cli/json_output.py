"""JSON for programs, and harmless where a person looks at it."""

from __future__ import annotations

import json
import re
import sys

from serai.ahp import wire

__all__ = ["json_text", "print_json"]

# JSON lets these stand as they are. To a terminal some are commands, and others cannot be written at all.
_ESCAPED = re.compile("[\x7f-\x9f\ud800-\udfff]")


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value of the protocol, or anything that msgspec can write, as JSON; without `indent` in one line.

    Infinite numbers, and what is no number, become `null`, as over the wire: JSON has none of them.
    """
    separators = (",", ":") if indent is None else None
    plain = wire.to_json(value)
    try:
        text = json.dumps(plain, ensure_ascii=False, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        plain = json.loads(json.dumps(plain), parse_constant=lambda _: None)
        text = json.dumps(plain, ensure_ascii=False, indent=indent, separators=separators)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: object) -> None:
    """Print a value. It is UTF-8, whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(json_text(value, indent=2).encode() + b"\n")
    sys.stdout.buffer.flush()
