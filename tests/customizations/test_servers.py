"""Hooks and MCP servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serai.ahp.types import HookCustomization, McpServerCustomization
from serai.customizations.containers import Contents, Origin, kept_apart
from serai.customizations.definitions import HookDefinition, McpServerDefinition
from serai.customizations.servers import MAX_SERVERS, loosened, read_hooks, read_servers
from serai.customizations.trees import FetchedTree


def origin_of(path: str, value: Any, *, trusted: bool = True) -> Origin:
    text = value if isinstance(value, str) else json.dumps(value)
    return Origin(FetchedTree({path: text.encode()}, "virtual://x"), "c", "Test", trusted)


def hooks(value: Any, *, trusted: bool = True) -> Contents:
    into = Contents()
    origin = origin_of("h.json", value, trusted=trusted)
    with kept_apart(origin, "h.json", into):
        read_hooks(origin, "h.json", into)
    return into


def servers(value: Any, *, path: str = "m.json", key: str = "mcpServers", bare: bool = False) -> Contents:
    into = Contents()
    origin = origin_of(path, value)
    with kept_apart(origin, path, into):
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


def test_only_so_many_servers_of_a_file_are_read() -> None:
    into = servers({"mcpServers": {f"{number}": {"command": "x"} for number in range(MAX_SERVERS + 5)}})
    assert len(into.children) == len(into.definitions) == MAX_SERVERS
    assert into.problems == ["m.json has more than 1,000 MCP servers: the rest is left out"]


def hook_definitions(into: Contents) -> list[HookDefinition]:
    return [item for item in into.definitions if isinstance(item, HookDefinition)]


def server_definitions(into: Contents) -> list[McpServerDefinition]:
    return [item for item in into.definitions if isinstance(item, McpServerDefinition)]


def test_hooks_in_groups_are_read() -> None:
    into = hooks(
        {
            "hooks": {
                "PreToolUse": [
                    {
                        "matcher": "Bash",
                        "hooks": [
                            {"type": "command", "command": "a", "timeout": 5},
                            {"type": "prompt", "prompt": "Is it safe?"},
                        ],
                    }
                ],
                "Stop": [{"hooks": [{"type": "command", "command": "b"}]}],
            }
        }
    )
    [child] = into.children
    assert isinstance(child, HookCustomization)
    assert child.name == "h.json"
    assert [(h.event, h.matcher, h.kind, h.command, h.prompt, h.timeout) for h in hook_definitions(into)] == [
        ("PreToolUse", "Bash", "command", "a", None, 5.0),
        ("PreToolUse", "Bash", "prompt", None, "Is it safe?", None),
        ("Stop", None, "command", "b", None, None),
    ]
    assert {h.id for h in hook_definitions(into)} == {child.id}


def test_flat_hooks_are_read() -> None:
    into = hooks(
        {
            "version": 1,
            "hooks": {
                "preToolUse": [
                    {"type": "command", "bash": "a", "cwd": "d", "env": {"K": "v"}, "timeoutSec": 9}
                ],
                "stop": [{"command": "b", "matcher": "m"}],
            },
        }
    )
    first, second = hook_definitions(into)
    assert (first.command, first.cwd, first.env, first.timeout) == ("a", "d", {"K": "v"}, 9.0)
    assert (second.command, second.matcher, second.kind) == ("b", "m", "command")


def test_settings_without_hooks_are_passed_over() -> None:
    assert hooks({"model": "x"}) == Contents()
    assert hooks({"hooks": {}}) == Contents()
    assert hooks({"hooks": None}) == Contents()


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ('{"hooks": {\n"a": [}\n', "h.json, line 2"),
        ("[]", "holds no JSON object"),
        ({"hooks": ["x"]}, "'hooks' is no object"),
        ({"hooks": []}, "'hooks' is no object"),
        ({"hooks": ""}, "'hooks' is no object"),
    ],
)
def test_a_broken_file_of_hooks_is_told(value: Any, problem: str) -> None:
    into = hooks(value)
    assert into.children == []
    assert problem in into.problems[0]


def test_one_broken_hook_does_not_hide_the_others() -> None:
    into = hooks({"hooks": {"Stop": [{"type": "command"}, "text", {"command": "b"}], "Start": 7}})
    assert [h.command for h in hook_definitions(into)] == ["b"]
    assert len(into.warnings) == 3


def test_hooks_that_are_switched_off_or_not_trusted_do_not_run() -> None:
    one = {"hooks": {"Stop": [{"command": "b"}]}}
    assert [h.runnable for h in hook_definitions(hooks(one))] == [True]
    assert [h.runnable for h in hook_definitions(hooks(one, trusted=False))] == [False]
    assert [h.runnable for h in hook_definitions(hooks({**one, "disableAllHooks": True}))] == [False]


def test_servers_are_read_with_their_place_in_the_file() -> None:
    text = """{
  "mcpServers": {
    "a": {"command": "x", "args": ["-y", 1], "env": {"T": "${T}"}},
    "b": {"type": "sse", "url": "https://b", "headers": {"A": "B"}}
  }
}"""
    into = servers(text)
    first, second = into.children
    assert isinstance(first, McpServerCustomization)
    assert isinstance(second, McpServerCustomization)
    assert (first.name, second.name) == ("a", "b")
    assert first.range is not None
    assert second.range is not None
    assert (first.range.start.line, second.range.start.line, second.range.end.line) == (2, 3, 3)
    one, two = server_definitions(into)
    assert (one.kind, one.command, one.args, one.env, one.url) == (
        "stdio",
        "x",
        ("-y", "1"),
        {"T": "${T}"},
        None,
    )
    assert (two.kind, two.command, two.url, two.headers) == ("sse", None, "https://b", {"A": "B"})


@pytest.mark.parametrize(
    ("settings", "kind", "command", "args", "url"),
    [
        ({"type": "local", "command": ["a", "b"], "environment": {"K": "v"}}, "stdio", "a", ("b",), None),
        ({"type": "remote", "url": "https://x"}, "http", None, (), "https://x"),
        ({"httpUrl": "https://x"}, "http", None, (), "https://x"),
        ({"url": "https://x"}, "http", None, (), "https://x"),
        ({"type": "streamable-http", "url": "https://x"}, "http", None, (), "https://x"),
    ],
)
def test_the_dialects_of_servers_are_read(
    settings: dict[str, Any], kind: str, command: str | None, args: tuple[str, ...], url: str | None
) -> None:
    [one] = server_definitions(servers({"mcpServers": {"s": settings}}))
    assert (one.kind, one.command, one.args, one.url) == (kind, command, args, url)
    assert one.env == ({"K": "v"} if "environment" in settings else {})


def test_servers_in_toml_are_read_with_their_place() -> None:
    text = """model = "m"

[mcp_servers.a]
command = "x"
[mcp_servers.a.env]
K = "v"

[mcp_servers."b c"]
url = "https://b"
enabled = false

[other]
"""
    into = servers(text, path="config.toml", key="mcp_servers")
    ranges = [child.range for child in into.children if isinstance(child, McpServerCustomization)]
    assert [(r.start.line, r.end.line) for r in ranges if r] == [(2, 5), (7, 9)]
    one, two = server_definitions(into)
    assert (one.name, one.command, one.env, one.runnable) == ("a", "x", {"K": "v"}, True)
    assert (two.name, two.url, two.runnable) == ("b c", "https://b", False)


def test_a_server_that_is_disabled_does_not_run() -> None:
    into = servers(
        {"mcpServers": {"a": {"command": "x", "disabled": True}, "b": {"command": "x", "enabled": False}}}
    )
    assert len(into.children) == 2
    assert [item.runnable for item in into.definitions] == [False, False]


@pytest.mark.parametrize("bad", ["{}", "3"])
def test_one_broken_server_does_not_hide_the_others(bad: str) -> None:
    into = servers(f'{{"mcpServers": {{"a": {{"command": "x"}}, "bad": {bad}}}}}')
    assert [child.name for child in into.children if isinstance(child, McpServerCustomization)] == ["a"]
    assert "m.json: the MCP server 'bad' has neither" in into.problems[0]


def test_a_broken_file_of_servers_is_told() -> None:
    assert "m.json, line 1" in servers("{").problems[0]
    assert "config.toml: " in servers("[x", path="config.toml").problems[0]
    assert "'mcpServers' is no object" in servers({"mcpServers": [1]}).problems[0]


@pytest.mark.parametrize("nothing", [[], "", 0, False])
def test_servers_that_are_no_object_are_told_also_when_they_are_empty(nothing: Any) -> None:
    told = ["m.json: 'mcpServers' is no object"]
    assert servers({"mcpServers": nothing}).problems == told
    assert servers({"mcpServers": nothing}, bare=True).problems == told


def test_settings_without_servers_are_passed_over() -> None:
    assert servers({"model": "x"}) == Contents()
    assert servers({"mcpServers": {}}) == Contents()
    assert servers({"mcpServers": None}) == Contents()


def test_a_plugins_file_may_be_the_servers_themselves() -> None:
    assert [item.name for item in servers({"a": {"command": "x"}}, bare=True).definitions] == ["a"]
    assert servers({"a": {"command": "x"}}) == Contents()


def test_secrets_are_not_shown_when_a_definition_is_printed() -> None:
    [one] = servers(
        {
            "mcpServers": {
                "a": {"command": "x", "args": ["s3cret"], "env": {"T": "s3cret"}, "headers": {"A": "s3cret"}}
            }
        }
    ).definitions
    assert "s3cret" not in repr(one)
