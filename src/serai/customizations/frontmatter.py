"""Parses files with fields and a text: Markdown with YAML 1.2 between two lines of dashes, or TOML.

All values of frontmatter are text, so that a version `3.10` keeps its zero. People often write what is not
quite YAML: `globs: *.ts`, or a description with a colon in it. The tools that it is meant for accept it, so
such values are put in quotes before they are parsed here.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any, cast

from serai.config.toml import BrokenToml, read_toml

_MAX_FRONTMATTER = 16 * 1024
"""Longest frontmatter, in characters: the parser needs some seconds for a megabyte."""
_MAX_DEPTH = 16
"""Deepest nesting of brackets: the parser needs minutes for thousands of them."""
_MAX_PARAGRAPH = 300

_BLOCK = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"\A---[ \t]*\r?\n")
# Plain lines. Most frontmatter has no others, and the parser takes 20 times as long.
_PLAIN = re.compile(
    r"""([A-Za-z][\w-]*):
        (?:[ ]+(?: ([A-Za-z0-9](?:[\w !"$-9;-~]|:(?=[!-~]))*) | "([^"\\]*)" | (\*[\w*?,./{} -]*) ))?
        [ \t]*""",
    re.ASCII | re.VERBOSE,
)
# A value without quotes that YAML would refuse, or read as an alias or a list.
_LOOSE = re.compile(
    r"""^([A-Za-z][\w-]*:[ \t]+)
        ( [*@`%][^\r\n]*?                         # a glob, or a sign that YAML keeps for itself
        | [^\s"'|>&!#\[{][^\r\n#]*?:[ ][^\r\n]*?  # a sentence with a colon
        | \[[^\[\]"'\r\n]*\][ \t]*+[^\s#][^\r\n]*?  # no list: `[file] [count]`
        | \{[^\r\n:]*\}[^\s#][^\r\n]*?             # no mapping: `{a,b}/*.ts`
        )[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)


_TOML_BODIES = ("prompt", "developer_instructions")


class BrokenText(ValueError):
    """A text that cannot be parsed. `line` counts from 1, where it is known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


def take_apart(path: str, text: str) -> tuple[dict[str, Any], str]:
    """Split a file into its fields and its body. Markdown without frontmatter is all body.

    Raises:
        BrokenText: It is TOML that has no body, or its fields cannot be read.
    """
    if path.endswith(".toml"):
        return _toml(text)
    found = _BLOCK.match(text)
    if found is not None:
        return _fields(found[1]), text[found.end() :]
    if _OPENING.match(text):
        raise BrokenText("the frontmatter has no end: a line '---' is missing", 1)
    return {}, text


def _toml(text: str) -> tuple[dict[str, Any], str]:
    try:
        table = read_toml(text)
    except BrokenToml as error:
        raise BrokenText(str(error)) from None
    body = next((table[key] for key in _TOML_BODIES if isinstance(table.get(key), str)), None)
    if body is None:
        raise BrokenText("it has no 'prompt' or 'developer_instructions'")
    return {key: value for key, value in table.items() if key not in _TOML_BODIES}, body


def first_paragraph(body: str) -> str | None:
    """Return a description of a text that has none: its first paragraph, else its first heading."""
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


def _fields(text: str) -> dict[str, Any]:
    if len(text) > _MAX_FRONTMATTER:
        raise BrokenText(f"the frontmatter is longer than {_MAX_FRONTMATTER // 1024} KiB", 2)
    lines = [_PLAIN.fullmatch(line) for line in text.splitlines()]
    fields = {line[1]: (line[2] or line[4] or "").rstrip() or line[3] or "" for line in lines if line}
    return fields if len(fields) == len(lines) else _yaml(_LOOSE.sub(_quoted, text))


def _quoted(line: re.Match[str]) -> str:
    return f"{line[1]}'{line[2].replace(chr(39), chr(39) * 2)}'"


def _yaml(text: str) -> dict[str, Any]:
    if max(accumulate((sign in "[{") - (sign in "]}") for sign in text), default=0) > _MAX_DEPTH:
        raise BrokenText(f"the frontmatter is nested deeper than {_MAX_DEPTH} levels", 2)
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to load, and not every folder has some

    try:
        value = cast("Any", YAML(typ="base", pure=True)).load(text)
    except Exception as error:  # noqa: BLE001 - the parser lets through what it meets in what it calls
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise BrokenText(str(problem), (mark.line if mark else 0) + 2) from None
    if not isinstance(value, dict | None):
        raise BrokenText("the frontmatter is no list of fields ('name: value')", 2)
    return {str(key): item for key, item in cast("dict[Any, Any]", value or {}).items()}
