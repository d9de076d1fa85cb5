"""Hooks and MCP servers: what would run, as JSON and TOML files declare it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, cast

from serai.ahp.types import (
    CustomizationType,
    HookCustomization,
    McpServerCustomization,
    TextPosition,
    TextRange,
)
from serai.config.toml import BrokenToml, read_toml
from serai.customizations.containers import Contents, Origin, identity, in_one_line, read_text
from serai.customizations.definitions import HookDefinition, McpServerDefinition
from serai.customizations.trees import MAX_FILE, real_path
from serai.errors import FileUnreadable

__all__ = [
    "MAX_SERVERS",
    "add_hooks",
    "add_servers",
    "loosened",
    "members",
    "read_hooks",
    "read_json",
    "read_servers",
    "read_servers_of_project",
]

MAX_SERVERS = 1_000
"""Most MCP servers of one file that are read."""
_MAX_MEMORY = 32 * 1024 * 1024
"""Largest file, in bytes, that a tool keeps its memory in."""
_MAX_PLACED = 64 * 1024
"""Longest text in which the places of servers are looked for: a thousand of them take half a second."""
_LONGEST = sys.float_info.max
"""Largest time: numbers of JSON may be larger, also without end."""
_SHELL = "powershell" if os.name == "nt" else "bash"
_KINDS = {"local": "stdio", "remote": "http", "streamable-http": "http", "streamableHttp": "http"}

# Possessive throughout: no input makes them go back over what they have read.
_STRING = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?")
_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])")


def loosened(text: str) -> str:
    """Blank out the comments and the trailing commas of JSON, as people keep it in settings.

    Nothing moves, so that a place in it is the same place in the file.
    """

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])

    return _COMMA.sub(blank, _COMMENT.sub(blank, text))


def read_json(origin: Origin, path: str, largest: int = MAX_FILE) -> tuple[dict[str, Any], str] | None:
    """A JSON file's object and its text without comments; `None` when there is no file.

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
    """The object of a JSON or TOML file, and its text. Both are empty without one."""
    if not path.endswith(".toml"):
        return read_json(origin, path, largest) or ({}, "")
    text = read_text(origin, path)
    try:
        return ({}, "") if text is None else (read_toml(text), text)
    except BrokenToml as error:
        raise FileUnreadable(f"{origin.tree.shown(path)}: {error}") from None


# -- hooks -------------------------------------------------------------------------------------------------


def read_hooks(origin: Origin, path: str, into: Contents) -> None:
    """Read the hooks of a file. One without hooks is passed over.

    Raises:
        FileUnreadable: The file is broken; the message names it.
    """
    value, _ = _read(origin, path)
    if value.get("hooks") is not None:
        add_hooks(origin, path, value["hooks"], into, switched_off=value.get("disableAllHooks") is True)


def add_hooks(origin: Origin, path: str, hooks: Any, into: Contents, *, switched_off: bool = False) -> None:
    """Add the hooks that a file declares: one child, and a definition for each thing to do.

    Claude Code and Codex group what is done by a matcher; Copilot and Cursor list it flat. Both are read.
    """
    shown = origin.tree.shown(path)
    if not isinstance(hooks, dict):
        into.problems.append(f"{shown}: 'hooks' is no object")
        return
    if not hooks:
        return
    common = _common(origin, path, CustomizationType.HOOK, in_one_line(path.rpartition("/")[2]))
    into.children.append(HookCustomization(id=common["id"], uri=common["uri"], name=common["name"]))
    for event, entries in members(cast("Any", hooks)).items():
        for matcher, hook in _hooks_of(entries):
            item = members(hook)
            command = _text(item, "command") or _text(item, _SHELL)
            kind = _text(item, "type") or "command"
            if kind == "command" and not command:
                into.warnings.append(f"{shown}: a hook of '{event}' has no command")
                continue
            into.definitions.append(
                HookDefinition(
                    **common,
                    runnable=origin.trusted and not switched_off,
                    event=event,
                    kind=kind,
                    matcher=_text(item, "matcher") or matcher,
                    command=command,
                    prompt=_text(item, "prompt"),
                    timeout=_number(item, "timeout", "timeoutSec"),
                    cwd=_text(item, "cwd"),
                    env=_texts(item.get("env")),
                )
            )


def _hooks_of(entries: Any) -> Iterator[tuple[str | None, Any]]:
    for entry in cast("list[Any]", entries) if isinstance(entries, list) else [entries]:
        group = members(entry)
        if isinstance(group.get("hooks"), list):
            for hook in group["hooks"]:
                yield _text(group, "matcher"), hook
        else:
            yield None, entry


# -- MCP servers -------------------------------------------------------------------------------------------


def read_servers(origin: Origin, path: str, key: str, into: Contents, *, bare: bool = False) -> None:
    """Read the MCP servers of a file, from its member `key`. One without servers is passed over.

    Args:
        origin: Where the file comes from.
        path: The file: TOML when its name says so, otherwise JSON.
        key: The member that holds the servers.
        into: Where they go.
        bare: Without the member, the whole file is the servers, as plugins may have it.

    Raises:
        FileUnreadable: The file is broken; the message names it.
    """
    value, text = _read(origin, path)
    if key not in value and bare and all(isinstance(item, dict) for item in value.values()):
        add_servers(origin, path, key, value, text, into)
    elif value.get(key) is not None:
        add_servers(origin, path, key, value[key], text, into)


def read_servers_of_project(origin: Origin, path: str, key: str, project: str | None, into: Contents) -> None:
    """Read the MCP servers of a file that has some for all projects, and some for single ones.

    Args:
        origin: Where the file comes from.
        path: The file.
        key: The member that holds the servers, in the file itself and in each of its `projects`.
        project: The real path of the working directory, when there is one. Of servers with the same name, its
            own counts.
        into: Where they go.

    Raises:
        FileUnreadable: The file is broken; the message names it.
    """
    value, text = _read(origin, path, _MAX_MEMORY)
    servers = dict(members(value.get(key)))
    for name, settings in members(value.get("projects")).items():
        if project is not None and real_path(name) == project:
            servers |= members(members(settings).get(key))
    if servers:
        add_servers(origin, path, key, servers, text, into)


def add_servers(origin: Origin, path: str, key: str, servers: Any, text: str, into: Contents) -> None:
    """Add the servers that a file declares, each with its place in the file.

    Args:
        origin: Where the file comes from.
        path: The file.
        key: The member that holds the servers.
        servers: The servers by name.
        text: The file's text, without comments where it is JSON.
        into: Where they go.
    """
    shown = origin.tree.shown(path)
    if not isinstance(servers, dict):
        into.problems.append(f"{shown}: '{key}' is no object")
        return
    named = cast("dict[str, Any]", servers)
    if len(named) > MAX_SERVERS:
        into.problems.append(f"{shown} has more than {MAX_SERVERS:,} MCP servers: the rest is left out")
    for name, settings in islice(named.items(), MAX_SERVERS):
        item = members(settings)
        command, args = _command(item)
        url = _text(item, "url") or _text(item, "httpUrl") or _text(item, "serverUrl")
        if not command and not url:
            into.problems.append(f"{shown}: the MCP server '{name}' has neither a command nor a URL")
            continue
        common = _common(origin, path, CustomizationType.MCP_SERVER, in_one_line(name), name)
        where = _range_of(path, text, name, item)
        into.children.append(
            McpServerCustomization(id=common["id"], uri=common["uri"], name=common["name"], range=where)
        )
        into.definitions.append(
            McpServerDefinition(
                **common,
                runnable=origin.trusted
                and item.get("disabled") is not True
                and item.get("enabled") is not False,
                kind=_kind(item, command),
                command=command,
                args=args,
                env=_texts(item.get("env") or item.get("environment")),
                cwd=_text(item, "cwd"),
                url=None if command else url,
                headers=_texts(item.get("headers") or item.get("http_headers")),
            )
        )


def _command(settings: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """The command and its arguments; OpenCode has both in one list."""
    command = settings.get("command")
    words = _list(settings.get("args"))
    if isinstance(command, list):
        command, *words = _list(cast("Any", command)) or [""]
    return (command or None, tuple(words)) if isinstance(command, str) else (None, ())


def _kind(settings: dict[str, Any], command: str | None) -> str:
    said = _text(settings, "type") or "http"
    return "stdio" if command else _KINDS.get(said, said)


def _range_of(path: str, text: str, name: str, settings: dict[str, Any]) -> TextRange | None:
    if len(text) > _MAX_PLACED:
        return None
    return _toml_range(text, name) if path.endswith(".toml") else _json_range(text, name, settings)


def _json_range(text: str, name: str, settings: dict[str, Any]) -> TextRange | None:
    """Where a server stands: from its name to its end. A member of that name with other settings is none."""
    for found in re.finditer(rf"{re.escape(json.dumps(name, ensure_ascii=False))}\s*+:\s*+(?={{)", text):
        value, end = json.JSONDecoder().raw_decode(text, found.end())
        if value == settings:
            return _range(text, found.start(), end)
    return None


def _toml_range(text: str, name: str) -> TextRange | None:
    """Where a server stands: from its table's header to the next one that is not about it."""
    quoted = re.escape(name)
    header = rf"mcp_servers\.(?:\"{quoted}\"|'{quoted}'|{quoted})"
    found = re.search(rf"^\[{header}\].*?(?=^\[(?!{header}[.\]])|\Z)", text, re.MULTILINE | re.DOTALL)
    return _range(text, found.start(), found.start() + len(found[0].rstrip())) if found else None


def _range(text: str, start: int, end: int) -> TextRange:
    return TextRange(start=_position(text, start), end=_position(text, end))


def _position(text: str, offset: int) -> TextPosition:
    """Count characters in UTF-16, as editors do."""
    line_start = text.rfind("\n", 0, offset) + 1
    before = text[line_start:offset].encode("utf-16-le", "surrogatepass")
    return TextPosition(line=text.count("\n", 0, offset), character=len(before) // 2)


# -- values of strangers -----------------------------------------------------------------------------------


def _common(origin: Origin, path: str, kind: CustomizationType, name: str, *parts: str) -> dict[str, Any]:
    return {
        "id": identity(kind, origin.container, path, *parts),
        "type": kind,
        "container": origin.container,
        "source": origin.source,
        "plugin": origin.plugin,
        "path": path,
        "uri": origin.tree.uri(path),
        "name": name,
    }


def members(value: Any) -> dict[str, Any]:
    """The members of what should be an object; none when it is something else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(settings: Mapping[str, Any], key: str) -> str | None:
    value = settings.get(key)
    return value if isinstance(value, str) and value else None


def _number(settings: Mapping[str, Any], *keys: str) -> float | None:
    for key in keys:
        value = settings.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LONGEST:
            return float(value)
    return None


def _texts(value: Any) -> dict[str, str]:
    return {key: _word(item) for key, item in members(value).items() if isinstance(item, str | int | float)}


def _list(value: Any) -> list[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [_word(item) for item in items if isinstance(item, str | int | float)]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
