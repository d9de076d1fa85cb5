"""The frontmatter of Markdown files: YAML 1.2 between two lines of dashes.

ruamel.yaml reads the text into events; the values are made here. That leaves out what frontmatter does not
need and what a stranger's file could abuse: no anchors and aliases (so nothing expands), no tags, no dates.
Numbers stay text, so that a version `3.10` keeps its nought.

Frontmatter that people write is often not quite YAML: `globs: *.ts`, or a description with a colon in it. The
tools that it is meant for read it, so it is read here too.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

__all__ = ["MAX_FRONTMATTER", "Broken", "Document", "Value", "first_paragraph", "read"]

MAX_FRONTMATTER = 16 * 1024
"""The longest frontmatter that is read, in characters: the parser needs some seconds for a megabyte."""

Value: TypeAlias = "str | bool | list[Value] | dict[str, Value] | None"

_MAX_DEPTH = 16
_MAX_PARAGRAPH = 300
_BLOCK = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"\A---[ \t]*\r?\n")
# A line whose value is what stands there. Most frontmatter has no other, and this is 20 times as fast.
_PLAIN = re.compile(
    r"""([A-Za-z][\w-]*):[ ]+
        (?: ([A-Za-z](?:[ !"$-9;-~]|:(?=[ ]*[!-~]))*)  # begins with a letter, and has no '#'
          | "([^"\\\x00-\x1f\x7f]*)"
          | (\*[\w*?,./{} -]*) )                    # a glob, which YAML would take for an alias
        [ \t]*""",
    re.ASCII | re.VERBOSE,
)
_WORDS = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
# A line that YAML may refuse, or take for an alias, since its value is not in quotes.
_LOOSE = re.compile(r"^([A-Za-z][\w-]*:[ \t]+)([^\s\"'|>&!#][^\r\n]*?)[ \t]*$", re.MULTILINE)
# What goes on behind its bracket is no list: `[file] [count]`.
_NO_LIST = re.compile(r"\[[^\[\]\"']*\][ \t]*+[^\s#]")
# The parser takes no tabs behind a name; YAML does.
_TAB = re.compile(r"^([A-Za-z][\w-]*:)[ ]*\t[ \t]*", re.MULTILINE)


class Broken(Exception):
    """Frontmatter that cannot be read. `line` counts from 1."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


class Document(NamedTuple):
    """A Markdown file in its two parts."""

    fields: dict[str, Value]
    body: str


def read(text: str) -> Document:
    """Take a file apart. Without frontmatter, all of it is body.

    Raises:
        Broken: There is frontmatter that cannot be read.
    """
    found = _BLOCK.match(text)
    if found is None:
        if _OPENING.match(text):
            raise Broken("the frontmatter has no end: a line '---' is missing", 1)
        return Document({}, text)
    return Document(_fields(found[1]), text[found.end() :])


def first_paragraph(body: str) -> str | None:
    """What a text is about, when it does not say so: its first paragraph, else its first heading."""
    heading = None
    words: list[str] = []
    for line in body[:4096].splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            heading = heading or stripped.lstrip("#").strip()
        elif stripped and not stripped.startswith(("<!--", "```", "---")):
            words += stripped.split()
            continue
        if words:
            break
    paragraph = " ".join(words) or heading
    if paragraph and len(paragraph) > _MAX_PARAGRAPH:
        return paragraph[: _MAX_PARAGRAPH - 1].rstrip() + "…"
    return paragraph or None


def _fields(text: str) -> dict[str, Value]:
    if len(text) > MAX_FRONTMATTER:
        raise Broken(f"the frontmatter is longer than {MAX_FRONTMATTER // 1024} KiB", 2)
    plain = _plain_fields(text)
    return _yaml_fields(text) if plain is None else plain


def _yaml_fields(text: str) -> dict[str, Value]:
    if _bracket_depth(text) > _MAX_DEPTH:
        raise Broken(f"the frontmatter is nested deeper than {_MAX_DEPTH} levels", 2)
    try:
        return _yaml(text)
    except Broken as broken:
        loosened = _LOOSE.sub(_quoted, _TAB.sub(r"\1 ", text))
        if loosened == text:
            raise
        try:
            return _yaml(loosened)
        except Broken:
            raise broken from None


def _plain_fields(text: str) -> dict[str, Value] | None:
    fields: dict[str, Value] = {}
    for line in text.splitlines():
        found = _PLAIN.fullmatch(line)
        if found is None or found[1] in fields:
            return None
        name, bare, quoted, glob = found.groups()
        word = bare.rstrip() if bare else ""
        fields[name] = _WORDS.get(word, word) if bare else quoted if quoted is not None else glob.rstrip()
    return fields


def _bracket_depth(text: str) -> int:
    """How deep brackets go, those in quotes included. The parser needs minutes for thousands of them."""
    steps = ((c in "[{") - (c in "]}") for c in text if c in "[]{}")
    return max(accumulate(steps), default=0)


def _quoted(line: re.Match[str]) -> str:
    key, value = line[1], line[2]
    match value[0]:
        case "[":
            is_loose = _NO_LIST.match(value) is not None
        case "{":
            is_loose = ": " in value or not value.endswith("}")
        case first:
            is_loose = first in "*@`%" or ": " in value
    return f"{key}'{value.replace(chr(39), chr(39) * 2)}'" if is_loose else line[0]


def _yaml(text: str) -> dict[str, Value]:
    try:
        value = _Builder().built(text)
    except Broken:
        raise
    except MarkedYAMLError as error:
        raise _broken(error) from None
    except Exception as error:  # noqa: BLE001 - the parser lets through what it meets in what it calls
        raise Broken(str(error).partition("\n")[0] or "this is not YAML", 2) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Broken("the frontmatter is no list of fields ('name: value')", 2)
    return value


def _broken(error: Any) -> Broken:
    # The parser's types are not declared; what is used of them is.
    mark = error.problem_mark or error.context_mark
    problem = str(error.problem or error.context or "this is not YAML")
    return Broken(problem.partition("\n")[0], (mark.line if mark else 0) + 2)


class _Builder:
    """Makes values of events. It keeps its own stack, so depth costs no recursion."""

    def __init__(self) -> None:
        self._top: list[Value] = []
        self._stack: list[list[Value] | dict[str, Value]] = [self._top]
        self._keys: list[str | None] = [None]

    def built(self, text: str) -> Value:
        for event in _events(text):
            self._take(event, event.start_mark.line + 2)
        return self._top[0] if self._top else None

    def _take(self, event: Any, line: int) -> None:
        match event:
            case ScalarEvent():
                self._put(_scalar(event), line)
            case MappingStartEvent():
                self._open({}, line)
            case SequenceStartEvent():
                self._open([], line)
            case MappingEndEvent() | SequenceEndEvent():
                self._stack.pop()
                self._keys.pop()
            case AliasEvent():
                raise Broken("aliases ('*name') are not read here; put the value in quotes", line)
            case DocumentStartEvent() if self._top:
                raise Broken("the frontmatter has more than one part", line)
            case _:
                pass

    def _open(self, value: list[Value] | dict[str, Value], line: int) -> None:
        if len(self._stack) > _MAX_DEPTH:
            raise Broken(f"the frontmatter is nested deeper than {_MAX_DEPTH} levels", line)
        self._put(value, line)
        self._stack.append(value)
        self._keys.append(None)

    def _put(self, value: Value, line: int) -> None:
        here, key = self._stack[-1], self._keys[-1]
        if isinstance(here, list):
            here.append(value)
        elif key is not None:
            here[key] = value
            self._keys[-1] = None
        elif isinstance(value, list | dict):
            raise Broken("a field's name is no text", line)
        else:
            name = value if isinstance(value, str) else str(value).lower()
            if name in here:
                raise Broken(f"the field '{name}' is there twice", line)
            self._keys[-1] = name


def _events(text: str) -> Any:
    return cast("Any", YAML(typ="safe", pure=True)).parse(text)


def _scalar(event: Any) -> Value:
    value: str = event.value
    is_bare = event.style is None and event.tag is None
    return _WORDS.get(value, value) if is_bare else value
