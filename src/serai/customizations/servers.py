"""Reads hooks and MCP servers from JSON and TOML files."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from serai.ahp.types import (
    CustomizationType,
    HookCustomization,
    McpServerCustomization,
    TextPosition,
    TextRange,
)
from serai.config.toml import BrokenToml, read_toml
from serai.customizations.containers import Contents, Definition, Origin, identity, in_one_line, read_text
from serai.customizations.trees import MAX_FILE, real_path
from serai.errors import FileUnreadable

_MAX_MEMORY = 32 * 1024 * 1024
"""Largest file that a tool keeps its memory in, in bytes."""
_MAX_PLACED = 64 * 1024
"""Longest text in which the places of servers are looked for: a thousand of them take half a second."""

# All possessive, so that no input makes them backtrack.
_STRING = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?")
_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])")


def loosened(text: str) -> str:
    """Replace comments and trailing commas in JSON by spaces, as people keep them in settings.

    Nothing moves, so that a place in the result is the same place in the file.
    """

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    return _COMMA.sub(blank, _COMMENT.sub(blank, text))


def read_json(origin: Origin, path: str, largest: int = MAX_FILE) -> tuple[dict[str, Any], str] | None:
    """Read a JSON file's object and its text without comments; `None` when there is no file.

    Raises:
        FileUnreadable: It cannot be read, or holds no object; the message names it, and the line.
    """
    text = read_text(origin, path, largest)
    if text is None:
        return None
    text, shown = loosened(text), origin.tree.shown(path)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileUnreadable(f"{shown}, line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise FileUnreadable(f"{shown}: this is not readable JSON ({error})") from None
    if not isinstance(value, dict):
        raise FileUnreadable(f"{shown}, line 1: it holds no JSON object")
    return cast("dict[str, Any]", value), text


def _read(origin: Origin, path: str, largest: int = MAX_FILE) -> tuple[dict[str, Any], str]:
    """Read the object of a JSON or TOML file, and the text of JSON. Both are empty without a file."""
    if not path.endswith(".toml"):
        return read_json(origin, path, largest) or ({}, "")
    text = read_text(origin, path)
    try:
        return read_toml(text or ""), ""
    except BrokenToml as error:
        raise FileUnreadable(f"{origin.tree.shown(path)}: {error}") from None


def members(value: Any) -> dict[str, Any]:
    """Return the members of a value that should be an object; none when it is something else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def read_hooks(origin: Origin, path: str, into: Contents) -> None:
    """Read the hooks of a file. A file without hooks is passed over.

    Raises:
        FileUnreadable: The file is broken; the message names it.
    """
    value, _ = _read(origin, path)
    if value.get("hooks") is not None:
        add_hooks(origin, path, value["hooks"], into, switched_off=value.get("disableAllHooks") is True)


def add_hooks(origin: Origin, path: str, hooks: Any, into: Contents, *, switched_off: bool = False) -> None:
    """Add the hooks that a file declares, by their events, as one child."""
    if not isinstance(hooks, dict):
        into.problems.append(f"{origin.tree.shown(path)}: 'hooks' is no object")
    elif hooks:
        child = HookCustomization(
            id=identity(CustomizationType.HOOK, origin.container, path),
            uri=origin.tree.uri(path),
            name=in_one_line(path.rpartition("/")[2]),
        )
        runnable = origin.trusted and not switched_off
        fields = members(cast("Any", hooks))
        into.definitions.append(Definition(child, origin.container, path, runnable, fields, origin.tree))


def read_servers(
    origin: Origin,
    path: str,
    key: str,
    into: Contents,
    *,
    bare: bool = False,
    is_memory: bool = False,
    project: str | None = None,
) -> None:
    """Read the MCP servers of a file, from its member `key`. A file without servers is skipped.

    Args:
        origin: The source of the file.
        path: The file: TOML when its name says so, otherwise JSON.
        key: The member that holds the servers.
        into: Receives the servers.
        bare: Without the member, treat the whole file as servers, as plugins may have it.
        is_memory: A tool keeps its memory in the file: it may be long, and also has servers in each of its
            `projects`.
        project: The real path of the working directory, if there is one. Among servers of the same name,
            those of the project count.

    Raises:
        FileUnreadable: The file is broken; the message names it.
    """
    value, text = _read(origin, path, _MAX_MEMORY if is_memory else MAX_FILE)
    servers: Any = value.get(key)
    if is_memory:
        servers = dict(members(servers))
        for name, settings in members(value.get("projects")).items():
            if project is not None and real_path(name) == project:
                servers |= members(members(settings).get(key))
    elif bare and key not in value and all(isinstance(item, dict) for item in value.values()):
        servers = value
    if servers is not None:
        add_servers(origin, path, key, servers, text, into)


def add_servers(origin: Origin, path: str, key: str, servers: Any, text: str, into: Contents) -> None:
    """Add the servers that a file declares; for JSON, each with its range in the file."""
    shown = origin.tree.shown(path)
    if not isinstance(servers, dict):
        into.problems.append(f"{shown}: '{key}' is no object")
        return
    for name, settings in cast("dict[str, Any]", servers).items():
        item = members(settings)
        if not any(item.get(how) for how in ("command", "url", "httpUrl", "serverUrl")):
            into.problems.append(f"{shown}: the MCP server '{name}' has neither a command nor a URL")
            continue
        child = McpServerCustomization(
            id=identity(CustomizationType.MCP_SERVER, origin.container, path, name),
            uri=origin.tree.uri(path),
            name=in_one_line(name),
            range=_range_of(text, name, item),
        )
        is_off = item.get("disabled") is True or item.get("enabled") is False
        runnable = origin.trusted and not is_off
        into.definitions.append(Definition(child, origin.container, path, runnable, item, origin.tree))


def _range_of(text: str, name: str, settings: dict[str, Any]) -> TextRange | None:
    """Return the range of a server: from its name to its end. A member with other settings does not count."""
    if len(text) > _MAX_PLACED:
        return None
    for found in re.finditer(rf"{re.escape(json.dumps(name, ensure_ascii=False))}\s*+:\s*+(?={{)", text):
        value, end = json.JSONDecoder().raw_decode(text, found.end())
        if value == settings:
            return TextRange(start=_position(text, found.start()), end=_position(text, end))
    return None


def _position(text: str, offset: int) -> TextPosition:
    """Return a position in UTF-16 units, as editors count."""
    line_start = text.rfind("\n", 0, offset) + 1
    before = text[line_start:offset].encode("utf-16-le", "surrogatepass")
    return TextPosition(line=text.count("\n", 0, offset), character=len(before) // 2)
