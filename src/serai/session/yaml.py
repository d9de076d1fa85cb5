"""YAML of agent files and workflows: read with the lines of all values, and written in one way only.

Documents are trees of plain values. Anchors, aliases, tags, a second document and a repeated key are refused,
because nothing needs them. Plain words have their meaning of YAML 1.2; a key is its own text. Readers of YAML
1.1 understand what is written here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from serai.contract.record import MAX_DEPTH as DEEPEST_JSON, mismatch
from serai.errors import DocumentInvalid, Mismatch

T = TypeVar("T")

MAX_BYTES = 16 * 1024 * 1024
"""Largest document that is read, in bytes."""
MAX_DEPTH = 2 * DEEPEST_JSON
"""Deepest nesting of values: any JSON may stand in a document, below other values."""


class LineMap(NamedTuple):
    """The line of a value, and the lines of the values in it."""

    line: int
    inside: dict[str, LineMap] | list[LineMap] | None = None


class Document(NamedTuple):
    """A parsed document: its value, and the lines of all its parts."""

    name: str
    """The file's name in messages."""
    value: Any
    lines: LineMap
    comment: int | None
    """The line of the first comment."""

    def error(self, what: str, *path: str | int) -> DocumentInvalid:
        """Return an error at a place in the document, or at the nearest place that exists."""
        lines = self.lines
        for step in path:
            inside = cast("Any", lines.inside)
            try:
                lines = inside[step]
            except (KeyError, IndexError, TypeError):
                break
        return DocumentInvalid(what, file=self.name, line=lines.line)

    def read(self, as_type: type[T]) -> T:
        """Convert the document to a type.

        Raises:
            DocumentInvalid: It does not fit.
        """
        try:
            return msgspec.convert(self.value, as_type)
        except msgspec.ValidationError as error:
            found = mismatch(str(error))
            steps: list[str | int] = [
                int(number) if number else name for name, number in _STEP.findall(found.field)
            ]
            if unknown := _UNKNOWN.search(found.problem):
                steps.append(unknown[1])
            what = f"{found.field}: {found.problem}" if found.field else found.problem
            raise self.error(what, *steps) from None


_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")


# -- reading -----------------------------------------------------------------------------------------------


def load(data: bytes, name: str) -> Document:
    """Read a document.

    Raises:
        DocumentInvalid: It is no YAML, has what is refused here, is too large, or nested too deeply.
    """
    if len(data) > MAX_BYTES:
        raise DocumentInvalid(f"it is larger than {MAX_BYTES >> 20} MiB", file=name, line=1)
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentInvalid("it is not UTF-8", file=name, line=line) from None
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to load, and most who run Serai read no document

    reader = _DocumentReader(text, name, cast("Any", YAML(typ="base", pure=True)).parse(text))
    try:
        return reader.document()
    except DocumentInvalid:
        raise
    except Exception as error:  # noqa: BLE001 - the parser passes on errors of other modules
        raise reader.error_of(error) from None


class _DocumentReader:
    """Builds values from the parser's events."""

    def __init__(self, text: str, name: str, events: Iterator[Any]) -> None:
        self._text = text
        self._name = name
        self._events = events
        self._passed = 0
        self._comment: int | None = None

    def document(self) -> Document:
        """Return the only document; an empty one if there is none."""
        value, lines = None, LineMap(1)
        is_found = False
        for event in self._events:
            if event.__class__.__name__ == "DocumentStartEvent":
                if is_found:
                    raise self._error("a second document begins here; there may be one", event)
                is_found = True
                value, lines = self._node(next(self._events), 1)
        self._look_for_comment(len(self._text))
        return Document(self._name, value, lines, self._comment)

    def error_of(self, error: Exception) -> DocumentInvalid:
        """Return an error of the parser as one line."""
        mark, position = getattr(error, "problem_mark", None), getattr(error, "position", None)
        line = mark.line if mark else self._text.count("\n", 0, position) if position else 0
        problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
        return DocumentInvalid(problem.partition("\n")[0], file=self._name, line=line + 1)

    def _node(self, event: Any, depth: int) -> tuple[Any, LineMap]:
        self._refuse(event)
        line = event.start_mark.line + 1
        kind = event.__class__.__name__
        if kind == "ScalarEvent":
            return self._scalar(event), LineMap(line)
        if depth > MAX_DEPTH:
            raise self._error(f"this is nested deeper than {MAX_DEPTH} levels", event)
        return self._list(line, depth) if kind == "SequenceStartEvent" else self._map(line, depth)

    def _refuse(self, event: Any) -> None:
        if event.__class__.__name__ == "AliasEvent" or event.anchor is not None:
            raise self._error("anchors and aliases are not read: write the value where it is used", event)
        if event.ctag is not None:
            raise self._error(f"the tag {str(event.ctag)!r} is not read here: leave it out", event)

    def _list(self, line: int, depth: int) -> tuple[Any, LineMap]:
        values: list[Any] = []
        lines: list[LineMap] = []
        while (event := next(self._events)).__class__.__name__ != "SequenceEndEvent":
            value, where = self._node(event, depth + 1)
            values.append(value)
            lines.append(where)
        return values, LineMap(line, lines)

    def _map(self, line: int, depth: int) -> tuple[Any, LineMap]:
        values: dict[str, Any] = {}
        lines: dict[str, LineMap] = {}
        while (event := next(self._events)).__class__.__name__ != "MappingEndEvent":
            self._refuse(event)
            if event.__class__.__name__ != "ScalarEvent":
                raise self._error("a key must be plain text", event)
            key = self._text_of(event)
            if key in values:
                raise self._error(f"the key {key!r} stands here for the second time", event)
            values[key], where = self._node(next(self._events), depth + 1)
            lines[key] = where._replace(line=event.start_mark.line + 1)
        return values, LineMap(line, lines)

    def _scalar(self, event: Any) -> Any:
        text = self._text_of(event)
        if event.style is not None or _PLAIN.fullmatch(text):
            return text
        try:
            return _meaning(text)
        except ValueError:
            raise self._error("this number is too large, or none", event) from None

    def _text_of(self, event: Any) -> str:
        start = event.start_mark.index
        # The rest of the line behind the sign of a block is no part of the text either.
        self._look_for_comment(self._text.find("\n", start) if event.style in {"|", ">"} else start)
        self._passed = event.end_mark.index
        return event.value

    def _look_for_comment(self, end: int) -> None:
        """Note the first comment: between scalars nothing else has a `#`."""
        if self._comment is None and (at := self._text.find("#", self._passed, end)) >= 0:
            self._comment = self._text.count("\n", 0, at) + 1

    def _error(self, what: str, event: Any) -> DocumentInvalid:
        return DocumentInvalid(what, file=self._name, line=event.start_mark.line + 1)


_NULL = {"", "~", "null", "Null", "NULL"}
_TRUE = {"true", "True", "TRUE"}
_FALSE = {"false", "False", "FALSE"}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_ENDLESS = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def _meaning(word: str) -> Any:
    """Return the value of a plain scalar in YAML 1.2.

    Raises:
        ValueError: It is a number that JSON does not have, or one with thousands of digits.
    """
    if word in _NULL:
        return None
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    if _DECIMAL.fullmatch(word):
        return int(word)
    if _OTHER_BASE.fullmatch(word):
        return int(word, 0)
    if _FLOAT.fullmatch(word) and math.isfinite(number := float(word)):
        return number
    if _FLOAT.fullmatch(word) or _ENDLESS.fullmatch(word):
        raise ValueError
    return word


# -- writing -----------------------------------------------------------------------------------------------

# A word that begins with a letter is a string in every YAML, unless it is one of a few.
_PLAIN = re.compile(
    r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[a-z](?:[a-z0-9_./-]|[ ](?=[a-z0-9]))*", re.IGNORECASE
)
_UNREADABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_MOST_OF_A_KEY = 1000
"""Longest key without a question mark before it: readers look no further for its colon."""

_json_string = json.JSONEncoder(ensure_ascii=False).encode


def dump(value: Any) -> str:
    """Write a value as YAML. Keys are sorted, so that a value has one form.

    Raises:
        Mismatch: It is, or has in it, what is no JSON: then nothing is written.
    """
    pieces: list[str] = []
    _write(value, "\n", pieces.append)
    pieces.append("\n")
    return "".join(pieces)


def _write(value: Any, indent: str, put: Callable[[str], None]) -> None:
    """Write a value at the current place; `indent` begins each further line."""
    if len(indent) >= 2 * MAX_DEPTH:
        raise Mismatch(f"this is nested deeper than {MAX_DEPTH} levels", field="")
    kind = value.__class__
    inner = indent + "  "
    begin = ""
    if kind is dict and value:
        for key in _sorted(value):
            name, item = _key(key), value[key]
            put(begin + name if len(name) <= _MOST_OF_A_KEY else f"{begin}? {name}{indent}")
            begin = indent
            if item and item.__class__ in _NESTED:
                put(":" + inner)
                _write(item, inner, put)
            else:
                put(": " + _scalar(item))
    elif value and kind in _NESTED:
        for item in value:
            put(begin + "- ")
            begin = indent
            _write(item, inner, put)
    else:
        put(_scalar(value))


_NESTED = frozenset({dict, list, tuple})


def _scalar(value: Any) -> str:
    match value:
        case str():
            return _string(value)
        case None | True | False:
            return "null" if value is None else "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            text = repr(value)  # YAML 1.1 needs a point in it
            return text if "." in text else text.replace("e", ".0e")
        case dict():
            return "{}"
        case list() | tuple():
            return "[]"
        case _:
            raise Mismatch(f"{value!r:.80} cannot be written", field="")


def _sorted(value: dict[Any, Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        raise Mismatch("its keys are not all text", field="") from None


@lru_cache(maxsize=256)
def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise Mismatch(f"the key {key!r:.80} is no text", field="")
    return _string(key)


def _string(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    quoted = _json_string(text)
    return _UNREADABLE.sub(_escaped, quoted) if not text.isascii() or "\x7f" in text else quoted


def _escaped(sign: re.Match[str]) -> str:
    if "\ud800" <= sign[0] <= "\udfff":
        raise Mismatch("half of a surrogate pair is no text", field="")
    return f"\\u{ord(sign[0]):04x}"
