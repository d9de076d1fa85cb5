"""Changes one setting in a person's `serai.toml` and leaves everything else, with its comments, as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from serai.config.load import read_settings
from serai.config.paths import Paths
from serai.config.private import replace_private
from serai.errors import ConfigInvalid

_KEY = re.compile(r"[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_-]+)*")
_HEADER = re.compile(r"\s*\[")


def set_setting(paths: Paths, key: str, value: str) -> str:
    """Set a setting in the person's file, if the result is valid. Return the line that was written.

    A value is TOML. Any other value is taken as text, or for a list as several texts with commas.

    Raises:
        ConfigInvalid: There is no such setting, or it cannot have this value.
    """
    if not _KEY.fullmatch(key):
        raise ConfigInvalid(f"{key!r} is not the name of a setting")
    file = paths.user_config.resolve()
    try:
        before = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        before = ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"{file} cannot be read: {error}") from error
    problem: ConfigInvalid | None = None
    for written in _written(value):
        after = with_setting(before, key, written)
        try:
            read_settings(after.encode(), file)
        except ConfigInvalid as error:
            problem = problem or error
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_private(file, after.encode(), "settings file")
        return f"{key} = {written}"
    assert problem is not None  # noqa: S101 - text can always be written
    raise problem


def with_setting(text: str, key: str, written: str) -> str:
    """Return the text of a file with a setting, whose value is given as TOML.

    Raises:
        ConfigInvalid: The file is not TOML, or has the setting in a form that is not supported here.
    """
    table, _, name = key.rpartition(".")
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    start, end = _table(lines, table)
    if start is None:
        lines += [*(["\n"] if lines else []), f"[{table}]\n", f"{name} = {written}\n"]
    else:
        at = next((n for n in range(start, end) if re.match(rf"\s*{re.escape(name)}\s*=", lines[n])), None)
        if at is None:
            while end > start and not lines[end - 1].strip():
                end -= 1
            lines.insert(end, f"{name} = {written}\n")
        else:
            last = _end_of_value(lines, at, end)
            comment = re.search(r"\s+#[^\"']*$", lines[last - 1].rstrip("\n"))
            lines[at:last] = [f"{name} = {written}{comment[0] if comment else ''}\n"]
    after = "".join(lines)
    if _read(after) != _changed(_read(text), key.split("."), _read(f"x = {written}")["x"]):
        raise ConfigInvalid(f"{key} cannot be set here", remedy="Edit the file yourself: 'serai config path'")
    return after


def _table(lines: list[str], table: str) -> tuple[int | None, int]:
    """Return the first line of a table and the line after it. The table without a name begins the file."""
    headers = [n for n, line in enumerate(lines) if _HEADER.match(line)]
    if not table:
        return 0, headers[0] if headers else len(lines)
    for place, n in enumerate(headers):
        if re.match(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?$", lines[n]):
            return n + 1, headers[place + 1] if place + 1 < len(headers) else len(lines)
    return None, 0


def _end_of_value(lines: list[str], at: int, end: int) -> int:
    """Return the line after the value that begins at a line: a list may have several lines."""
    for last in range(at + 1, end + 1):
        try:
            tomllib.loads("".join(lines[at:last]))
        except tomllib.TOMLDecodeError:
            continue
        return last
    return end


def _written(value: str) -> Iterator[str]:
    """Return the possible readings of a value, the plainest first."""
    try:
        if list(tomllib.loads(f"x = {value}")) == ["x"] and "\n" not in value and "#" not in value:
            yield value
    except tomllib.TOMLDecodeError:
        pass
    yield json.dumps(value, ensure_ascii=False)
    yield json.dumps([part.strip() for part in value.split(",") if part.strip()], ensure_ascii=False)


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem = f"the file is not TOML: {error}"
        raise ConfigInvalid(problem, remedy="Edit it: 'serai config path'") from error


def _changed(table: dict[str, Any], key: list[str], value: Any) -> dict[str, Any]:
    first, *rest = key
    return {**table, first: _changed(table.get(first, {}), rest, value) if rest else value}
