"""Hooks and MCP servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serai.ahp.types import HookCustomization, McpServerCustomization
from serai.customizations.containers import Contents, Origin, noting_problems
from serai.customizations.servers import loosened, read_hooks, read_servers
from serai.customizations.trees import FetchedTree


def read(path: str, value: Any, *, trusted: bool = True, bare: bool = False) -> Contents:
    """Read a file of hooks (`h.json`), or of servers."""
    text = value if isinstance(value, str) else json.dumps(value)
    origin = Origin(FetchedTree({path: text.encode()}, "virtual://x"), "c", trusted)
    into = Contents()
    with noting_problems(origin, path, into):
        if path == "h.json":
            read_hooks(origin, path, into)
        else:
            key = "mcp_servers" if path.endswith(".toml") else "mcpServers"
            read_servers(origin, path, key, into, bare=bare)
    return into


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // said\n "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        ('{/* one\n two */"a": "// no, /* no */", "b": "\\",}"}', {"a": "// no, /* no */", "b": '",}'}),
    ],
)
def test_comments_and_trailing_commas_are_read_over_and_nothing_moves(text: str, value: Any) -> None:
    assert json.loads(loosened(text)) == value
    assert len(loosened(text)) == len(text)
    assert loosened(text).count("\n") == text.count("\n")


def test_a_file_of_hooks_is_one_child_with_what_is_done_at_each_event() -> None:
    events = {"Stop": [{"hooks": [{"type": "command", "command": "b"}]}], "preToolUse": [{"bash": "a"}]}
    [item] = read("h.json", {"version": 1, "hooks": events}).definitions
    assert isinstance(item.child, HookCustomization)
    assert (item.name, item.fields) == ("h.json", events)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("h.json", '{"hooks": {\n"a": [}\n', "h.json, line 2"),
        ("h.json", "[]", "holds no JSON object"),
        ("h.json", {"hooks": ["x"]}, "'hooks' is no object"),
        ("h.json", {"hooks": ""}, "'hooks' is no object"),
        ("m.json", "{", "m.json, line 1"),
        ("config.toml", "[x", "config.toml: "),
        ("m.json", {"mcpServers": [1]}, "m.json: 'mcpServers' is no object"),
        ("m.json", {"mcpServers": False}, "m.json: 'mcpServers' is no object"),
    ],
)
def test_a_broken_file_is_told(path: str, value: Any, problem: str) -> None:
    into = read(path, value, bare=True)
    assert into.definitions == []
    assert problem in into.problems[0]


def test_servers_are_read_with_their_place_in_the_file() -> None:
    text = """{
  "mcpServers": {
    "a": {"command": "x", "args": ["-y", 1], "env": {"T": "${T}"}},
    "b": {"type": "sse", "url": "https://b", "headers": {"A": "B"}}
  }
}"""
    into = read("m.json", text)
    first, second = into.children
    assert isinstance(first, McpServerCustomization)
    assert isinstance(second, McpServerCustomization)
    assert (first.name, second.name) == ("a", "b")
    assert first.range is not None
    assert second.range is not None
    assert (first.range.start.line, second.range.start.line, second.range.end.line) == (2, 3, 3)
    assert [item.fields for item in into.definitions] == list(json.loads(text)["mcpServers"].values())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("h.json", {"hooks": {"Stop": [{"command": "b"}]}, "disableAllHooks": True}),
        ("m.json", {"mcpServers": {"a": {"command": "x", "disabled": True}}}),
        ("m.json", {"mcpServers": {"a": {"command": "x", "enabled": False}}}),
    ],
)
def test_what_is_switched_off_or_not_trusted_does_not_run(path: str, value: Any) -> None:
    assert [item.runnable for item in read(path, value).definitions] == [False]
    on = json.loads(json.dumps(value).replace("disable", "x").replace("enabled", "x"))
    assert [item.runnable for item in read(path, on).definitions] == [True]
    assert [item.runnable for item in read(path, on, trusted=False).definitions] == [False]


def test_secrets_are_not_shown_when_a_definition_is_printed() -> None:
    [one] = read("m.json", {"mcpServers": {"a": {"command": "x", "env": {"T": "s3cret"}}}}).definitions
    assert "s3cret" not in repr(one)
