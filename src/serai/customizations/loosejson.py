"""JSON as people keep it in settings: comments and commas too many are read over.

Nothing moves while comments are taken out, so a place in the cleaned text is the same place in the file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from serai.ahp.types import TextPosition, TextRange
from serai.depth import checked
from serai.errors import ParseError

__all__ = ["BrokenJson", "member_spans", "parse", "text_range"]

# Possessive throughout: no input makes them go back over what they have read.
_STRING = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?")
_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])")
_TOKEN = re.compile(rf'{_STRING}|[{{}}\[\],:]|[^\s{{}}\[\],:"]++')
_NOT_A_BREAK = re.compile(r"[^\n]")


class BrokenJson(Exception):
    """A file that is not JSON, comments aside. `line` counts from 1."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


def parse(text: str) -> Any:
    """Read JSON with comments.

    Raises:
        BrokenJson: It is not JSON, or is nested too deeply.
    """
    try:
        checked(text)
        return _strict(text)
    except (ParseError, ValueError, RecursionError):
        pass
    cleaned = _without_comments(text)
    try:
        checked(cleaned)
        return _strict(cleaned)
    except json.JSONDecodeError as error:
        raise BrokenJson(f"{error.msg}, at column {error.colno}", error.lineno) from None
    except ParseError as error:
        raise BrokenJson(error.message, 1) from None
    except (ValueError, RecursionError) as error:
        raise BrokenJson(f"this is not readable JSON: {error}", 1) from None


def member_spans(text: str, path: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Where the members of an object stand: from the key's first quote to the value's end.

    The text must be readable. `path` names the object from the outermost one on.
    """
    spans: dict[str, tuple[int, int]] = {}
    stack: list[_Frame] = []

    def ended(position: int) -> None:
        if stack and stack[-1].key is not None and stack[-1].path == path:
            spans[stack[-1].key] = (stack[-1].start, position)

    for token in _TOKEN.finditer(_without_comments(text)):
        sign = token[0]
        here = stack[-1] if stack else None
        if sign in "{[":
            inner = (*here.path, here.key or "") if here else ()
            stack.append(_Frame(inner, is_object=sign == "{"))
        elif sign in "}]":
            stack.pop()
            ended(token.end())
        elif sign == ",":
            if here:
                here.key = None
        elif sign == ":":
            pass
        elif here and here.is_object and here.key is None:
            here.key, here.start = json.loads(sign), token.start()
        else:
            ended(token.end())
    return spans


def text_range(text: str, start: int, end: int) -> TextRange:
    """A span as lines and characters. Characters count in UTF-16, as editors do."""
    return TextRange(start=_position(text, start), end=_position(text, end))


@dataclass(slots=True)
class _Frame:
    path: tuple[str, ...]
    is_object: bool
    key: str | None = field(default=None)
    start: int = 0


def _position(text: str, offset: int) -> TextPosition:
    line_start = text.rfind("\n", 0, offset) + 1
    before = text[line_start:offset].encode("utf-16-le", "surrogatepass")
    return TextPosition(line=text.count("\n", 0, offset), character=len(before) // 2)


def _strict(text: str) -> Any:
    return json.loads(text, parse_constant=_refused)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _without_comments(text: str) -> str:
    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else _NOT_A_BREAK.sub(" ", found[0])

    return _COMMA.sub(blank, _COMMENT.sub(blank, text))
