"""Hooks and MCP servers: what would run, as files declare it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, cast

from serai.ahp.types import HookCustomization, McpServerCustomization, TextRange
from serai.config.loosetoml import BrokenToml, read_toml
from serai.customizations.containers import Contents, Origin, identity, in_one_line, read_text
from serai.customizations.definitions import HookDefinition, McpServerDefinition
from serai.customizations.loosejson import BrokenJson, member_spans, parse, text_range
from serai.customizations.trees import MAX_FILE, real_path
from serai.errors import FileUnreadable

__all__ = [
    "MAX_SERVERS",
    "add_hooks",
    "add_servers",
    "read_hooks",
    "read_json",
    "read_servers",
    "read_servers_of_project",
]

MAX_SERVERS = 1_000
"""How many MCP servers of one file are read."""

_MAX_MEMORY = 32 * 1024 * 1024
"""How large a file may be that a tool keeps its memory in."""
_MAX_PLACED = 256 * 1024
"""In a longer text nobody is told where things stand: to find that takes seconds for a megabyte."""
_LONGEST = sys.float_info.max
"""Numbers of JSON may be larger, also without end, and then they are no time."""
_SHELL = "powershell" if os.name == "nt" else "bash"
_KINDS = {"local": "stdio", "remote": "http", "streamable-http": "http", "streamableHttp": "http"}


def read_json(origin: Origin, path: str, largest: int = MAX_FILE) -> tuple[dict[str, Any], str] | None:
    """A JSON file's object and its text; `None` when there is no file.

    Raises:
        FileUnreadable: It cannot be read, or holds no object; the message names it, and the line.
    """
    text = read_text(origin, path, largest)
    if text is None:
        return None
    shown = origin.tree.shown(path)
    try:
        value = parse(text)
    except BrokenJson as broken:
        raise FileUnreadable(f"{shown}, line {broken.line}: {broken.problem}") from None
    if not isinstance(value, dict):
        raise FileUnreadable(f"{shown}, line 1: it holds no JSON object")
    return cast("dict[str, Any]", value), text


def _read(origin: Origin, path: str, into: Contents, largest: int = MAX_FILE) -> tuple[dict[str, Any], str]:
    """The object of a file, as JSON or TOML, and its text. Both are empty without one; why is noted."""
    try:
        found = _read_toml(origin, path) if path.endswith(".toml") else read_json(origin, path, largest)
    except FileUnreadable as error:
        into.problems.append(error.message)
        found = None
    return found or ({}, "")


# -- hooks -------------------------------------------------------------------------------------------------


def read_hooks(origin: Origin, path: str, into: Contents) -> None:
    """Read the hooks of a file. One without hooks is passed over."""
    value, _ = _read(origin, path, into)
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
    child = identity("hook", origin.container, path)
    uri = origin.tree.uri(path)
    name = in_one_line(path.rpartition("/")[2])
    into.children.append(HookCustomization(id=child, uri=uri, name=name))
    for event, entries in cast("dict[str, Any]", hooks).items():
        for matcher, hook in _hooks_of(entries):
            if not isinstance(hook, dict):
                into.warnings.append(f"{shown}: a hook of '{event}' is not readable")
                continue
            item = cast("dict[str, Any]", hook)
            command = _text(item, "command") or _text(item, _SHELL)
            kind = _text(item, "type") or "command"
            if kind == "command" and not command:
                into.warnings.append(f"{shown}: a hook of '{event}' has no command")
                continue
            into.definitions.append(
                HookDefinition(
                    id=child,
                    container=origin.container,
                    source=origin.source,
                    plugin=origin.plugin,
                    path=path,
                    uri=uri,
                    name=name,
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
    if not isinstance(entries, list):
        yield None, entries
        return
    for entry in cast("list[Any]", entries):
        group = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
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
    """
    value, text = _read(origin, path, into)
    if key not in value and bare and all(isinstance(item, dict) for item in value.values()):
        add_servers(origin, path, value, text, (), into)
    elif value.get(key) is not None:
        add_servers(origin, path, value[key], text, (key,), into)


def read_servers_of_project(origin: Origin, path: str, key: str, project: str | None, into: Contents) -> None:
    """Read the MCP servers of a file that has some for all projects, and some for single ones.

    Args:
        origin: Where the file comes from.
        path: The file.
        key: The member that holds the servers, in the file itself and in each of its `projects`.
        project: The real path of the working directory, when there is one. Of servers with the same name, its
            own counts.
        into: Where they go.
    """
    value, text = _read(origin, path, into, _MAX_MEMORY)
    for_all, for_one, keys = value.get(key), None, ()
    for name, settings in _members(value.get("projects")).items():
        if project is not None and real_path(name) == project and (own := _members(settings).get(key)):
            for_one, keys = own, ("projects", name, key)
    if isinstance(for_all, dict) and isinstance(for_one, dict):
        for_all = {name: item for name, item in _members(for_all).items() if name not in for_one}
    if for_all:
        add_servers(origin, path, for_all, text, (key,), into)
    if for_one:
        add_servers(origin, path, for_one, text, keys, into)


def add_servers(
    origin: Origin, path: str, servers: Any, text: str, keys: tuple[str, ...], into: Contents
) -> None:
    """Add the servers that a file declares, each with its place in the file.

    Args:
        origin: Where the file comes from.
        path: The file.
        servers: The servers by name.
        text: The file's text.
        keys: Which member of the file holds the servers.
        into: Where they go.
    """
    shown = origin.tree.shown(path)
    if not isinstance(servers, dict):
        into.problems.append(f"{shown}: '{'.'.join(keys)}' is no object")
        return
    named = dict(islice(cast("dict[str, Any]", servers).items(), MAX_SERVERS))
    if len(named) < len(cast("dict[str, Any]", servers)):
        into.problems.append(f"{shown} has more than {MAX_SERVERS:,} MCP servers: the rest is left out")
    ranges = _toml_ranges(text, keys[0], named) if path.endswith(".toml") else _json_ranges(text, keys, named)
    for name, settings in named.items():
        where = ranges.get(name)
        line = f", line {where.start.line + 1}" if where else ""
        if not isinstance(settings, dict):
            into.problems.append(f"{shown}{line}: the MCP server '{name}' is no object")
            continue
        item = cast("dict[str, Any]", settings)
        command, args = _command(item)
        url = _text(item, "url") or _text(item, "httpUrl") or _text(item, "serverUrl")
        if not command and not url:
            into.problems.append(f"{shown}{line}: the MCP server '{name}' has neither a command nor a URL")
            continue
        child = identity("mcpServer", origin.container, path, name)
        uri = origin.tree.uri(path)
        into.children.append(McpServerCustomization(id=child, uri=uri, name=in_one_line(name), range=where))
        into.definitions.append(
            McpServerDefinition(
                id=child,
                container=origin.container,
                source=origin.source,
                plugin=origin.plugin,
                path=path,
                uri=uri,
                name=in_one_line(name),
                runnable=origin.trusted and _is_on(item),
                kind=_kind(item, command),
                command=command,
                args=args,
                env=_texts(item.get("env") or item.get("environment")),
                cwd=_text(item, "cwd"),
                url=None if command else url,
                headers=_texts(item.get("headers") or item.get("http_headers")),
            )
        )


def _read_toml(origin: Origin, path: str) -> tuple[dict[str, Any], str] | None:
    text = read_text(origin, path)
    if text is None:
        return None
    try:
        return read_toml(text), text
    except BrokenToml as error:
        raise FileUnreadable(f"{origin.tree.shown(path)}: {error}") from None


def _command(settings: dict[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """The command and its arguments; OpenCode has both in one list."""
    command = settings.get("command")
    words = _list(settings.get("args"))
    if isinstance(command, list):
        command, *words = _list(cast("Any", command)) or [""]
    return (command or None, tuple(words)) if isinstance(command, str) else (None, ())


def _kind(settings: dict[str, Any], command: str | None) -> str:
    if command:
        return "stdio"
    said = _text(settings, "type") or "http"
    return _KINDS.get(said, said)


def _is_on(settings: dict[str, Any]) -> bool:
    return settings.get("disabled") is not True and settings.get("enabled") is not False


def _json_ranges(text: str, keys: tuple[str, ...], names: Mapping[str, Any]) -> dict[str, TextRange]:
    if len(text) > _MAX_PLACED:
        return {}
    spans = member_spans(text, keys)
    return {name: text_range(text, *spans[name]) for name in names if name in spans}


def _toml_ranges(text: str, key: str, names: Mapping[str, Any]) -> dict[str, TextRange]:
    """From a server's header to the next one that is not about it. Other spellings get no range."""
    headers = [(found.start(), found[1].strip()) for found in _TOML_HEADER.finditer(text)]
    places: dict[str, int] = {}
    for place, (_, header) in enumerate(headers):
        places.setdefault(header, place)
    ranges: dict[str, TextRange] = {}
    for name in names:
        mine = [places.get(f"{key}.{way}{name}{way}") for way in ("", '"', "'")]
        place = min((place for place in mine if place is not None), default=None)
        if place is None:
            continue
        start, header = headers[place]
        after = (headers[n] for n in range(place + 1, len(headers)))
        others = (at for at, other in after if not other.startswith(f"{header}."))
        end = len(text[: next(others, len(text))].rstrip())
        ranges[name] = text_range(text, start, end)
    return ranges


_TOML_HEADER = re.compile(r"^\[([^\[\]\n]+)\]", re.MULTILINE)


# -- values of strangers -----------------------------------------------------------------------------------


def _members(value: Any) -> dict[str, Any]:
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
    if not isinstance(value, dict):
        return {}
    return {key: _word(item) for key, item in cast("dict[str, Any]", value).items() if _is_word(item)}


def _list(value: Any) -> list[str]:
    return (
        [_word(item) for item in cast("list[Any]", value) if _is_word(item)]
        if isinstance(value, list)
        else []
    )


def _is_word(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
