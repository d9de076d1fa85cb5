from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from requirements import proves
from serai.acp.capabilities import AgentCapabilities, Handshake, is_offered

NOTHING = {
    "loadSession": False,
    "forkSession": False,
    "resumeSession": False,
    "closeSession": False,
    "listSessions": False,
    "additionalDirectories": False,
    "mcp": {"stdio": True, "http": False, "sse": False},
    "prompt": {"text": True, "image": False, "audio": False, "embeddedContext": False},
}
EVERYTHING = {
    "loadSession": True,
    "forkSession": True,
    "resumeSession": True,
    "closeSession": True,
    "listSessions": True,
    "additionalDirectories": True,
    "mcp": {"stdio": True, "http": True, "sse": True},
    "prompt": {"text": True, "image": True, "audio": True, "embeddedContext": True},
}
SESSION = ("fork", "resume", "close", "list", "additionalDirectories")
_NAMES = (
    "agentCapabilities sessionCapabilities mcpCapabilities promptCapabilities loadSession fork http image "
    "authMethods id _meta terminal-auth args"
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(_NAMES.split()), inner),
    max_leaves=8,
)


def told(**capabilities: Any) -> dict[str, Any]:
    return {"protocolVersion": 1, "agentCapabilities": capabilities}


def normalised(result: Any) -> Any:
    return json.loads(msgspec.json.encode(AgentCapabilities.read(result)))


def with_marker(marker: Any) -> dict[str, Any]:
    return told(
        loadSession=marker,
        sessionCapabilities=dict.fromkeys(SESSION, marker),
        mcpCapabilities={"http": marker, "sse": marker},
        promptCapabilities={"image": marker, "audio": marker, "embeddedContext": marker},
    )


@proves("wire:Agent-capabilities/normalised")
@pytest.mark.parametrize("marker", [{}, True, {"mode": {}}])
def test_an_object_even_an_empty_one_means_yes(marker: Any) -> None:
    assert normalised(with_marker(marker)) == EVERYTHING


@proves("wire:Agent-capabilities/normalised")
@pytest.mark.parametrize("marker", [None, False, 0, ""])
def test_null_and_false_mean_no(marker: Any) -> None:
    assert normalised(with_marker(marker)) == NOTHING


def alone(group: str | None, marker: str) -> Any:
    """The handshake of an agent that says one thing of itself."""
    return told(**{marker: {}}) if group is None else told(**{group: {marker: {}}})


@proves(
    "wire:AgentCapabilities.loadSession",
    "wire:AgentCapabilities.forkSession",
    "wire:AgentCapabilities.resumeSession",
    "wire:AgentCapabilities.closeSession",
    "wire:AgentCapabilities.listSessions",
    "wire:AgentCapabilities.additionalDirectories",
    "wire:AgentCapabilities.mcp",
    "wire:AgentCapabilities.mcp.http",
    "wire:AgentCapabilities.mcp.sse",
    "wire:AgentCapabilities.prompt",
    "wire:AgentCapabilities.prompt.image",
    "wire:AgentCapabilities.prompt.audio",
    "wire:AgentCapabilities.prompt.embeddedContext",
    "wire:Session-capabilities/fork-advertised",
    "wire:Session-capabilities/resume-advertised",
)
@pytest.mark.parametrize(
    ("group", "marker", "path"),
    [
        (None, "loadSession", ("loadSession",)),
        ("sessionCapabilities", "fork", ("forkSession",)),
        ("sessionCapabilities", "resume", ("resumeSession",)),
        ("sessionCapabilities", "close", ("closeSession",)),
        ("sessionCapabilities", "list", ("listSessions",)),
        ("sessionCapabilities", "additionalDirectories", ("additionalDirectories",)),
        ("mcpCapabilities", "http", ("mcp", "http")),
        ("mcpCapabilities", "sse", ("mcp", "sse")),
        ("promptCapabilities", "image", ("prompt", "image")),
        ("promptCapabilities", "audio", ("prompt", "audio")),
        ("promptCapabilities", "embeddedContext", ("prompt", "embeddedContext")),
    ],
)
def test_each_thing_is_told_by_a_marker_of_its_own(
    group: str | None, marker: str, path: tuple[str, ...]
) -> None:
    *outer, name = path
    expected: dict[str, Any] = {**NOTHING}
    if outer:
        expected[outer[0]] = {**expected[outer[0]], name: True}
    else:
        expected[name] = True
    assert normalised(alone(group, marker)) == expected


@proves("wire:Agent-capabilities/read-only")
@pytest.mark.parametrize("of", ["", "mcp", "prompt"])
def test_nobody_can_change_them_afterwards(of: str) -> None:
    capabilities: Any = AgentCapabilities.read(with_marker({}))
    part = getattr(capabilities, of) if of else capabilities
    for name in part.__struct_fields__:
        with pytest.raises(AttributeError, match="immutable"):
            setattr(part, name, None)
    assert normalised(with_marker({})) == EVERYTHING
    assert json.loads(msgspec.json.encode(capabilities)) == EVERYTHING


@pytest.mark.parametrize(
    "result",
    [
        None,
        [],
        "x",
        {},
        {"agentCapabilities": None},
        {"agentCapabilities": []},
        told(sessionCapabilities=True),
    ],
)
def test_what_is_not_told_or_has_the_wrong_shape_means_no(result: Any) -> None:
    assert normalised(result) == NOTHING


@proves(
    "wire:AgentCapabilities.mcp.stdio",
    "wire:AgentCapabilities.prompt.text",
    "wire:MCP-capabilities/stdio-always-true",
    "wire:Prompt-capabilities/text-always-true",
)
def test_text_and_stdio_are_always_there() -> None:
    result = told(promptCapabilities={"text": False}, mcpCapabilities={"stdio": False})
    assert normalised(result) == NOTHING


@proves("wire:Agent-capabilities/normalised")
@settings(max_examples=50)
@given(ANYTHING)
def test_no_handshake_is_too_strange_to_be_read(result: Any) -> None:
    read = normalised(result)
    assert {name: set(each) if isinstance(each, dict) else None for name, each in read.items()} == {
        name: set(each) if isinstance(each, dict) else None for name, each in NOTHING.items()
    }
    flags = [flag for each in read.values() for flag in (each.values() if isinstance(each, dict) else [each])]
    assert all(isinstance(flag, bool) for flag in flags)
    assert Handshake.read(result).capabilities == AgentCapabilities.read(result)


def test_what_the_page_does_not_cover_is_still_told() -> None:
    handshake = Handshake.read(
        {
            "protocolVersion": 1,
            "agentCapabilities": {"sessionCapabilities": {"delete": {}}, "auth": {"logout": {}}},
            "agentInfo": {"name": "a", "title": "A", "version": "1"},
            "authMethods": [
                {"id": "web", "name": "Web"},
                {"id": "tty", "name": "Terminal", "type": "terminal", "args": ["--login"], "env": {"A": "b"}},
                {
                    "id": "own",
                    "name": "Own",
                    "_meta": {"terminal-auth": {"command": "/bin/x", "args": ["in"]}},
                },
                {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "API_KEY"}]},
                "junk",
            ],
            "_meta": {"steering": {"supported": True}},
        }
    )
    assert is_offered(handshake.raw, "sessionCapabilities.delete")
    assert is_offered(handshake.raw, "auth.logout")
    assert handshake.agent_info == {"name": "a", "title": "A", "version": "1"}
    assert handshake.raw["_meta"] == {"steering": {"supported": True}}
    assert [method.type for method in handshake.auth_methods] == ["agent", "terminal", "agent", "env_var"]
    assert [method.login_command(("a", "--acp")) for method in handshake.auth_methods] == [
        (),
        ("a", "--acp", "--login"),
        ("/bin/x", "in"),
        (),
    ]
    assert handshake.auth_methods[3].variables == ("API_KEY",)


@proves("wire:Agent-capabilities/from-handshake")
def test_the_recorded_handshakes_give_what_the_page_says(shared_folder: Path) -> None:
    recorded = {
        path.stem: normalised(json.loads(path.read_text())["initialize"]["result"])
        for path in sorted((shared_folder / "fixtures/acp-handshakes").glob("*.json"))
    }
    assert recorded["claude-agent-acp"] == {
        **EVERYTHING,
        "prompt": {"text": True, "image": True, "audio": False, "embeddedContext": True},
    }
    assert recorded["codex-acp-zed"] == {
        **NOTHING,
        "loadSession": True,
        "resumeSession": True,
        "closeSession": True,
        "listSessions": True,
        "mcp": {"stdio": True, "http": True, "sse": False},
        "prompt": {"text": True, "image": True, "audio": False, "embeddedContext": True},
    }
    assert recorded["cline"] == {
        **NOTHING,
        "loadSession": True,
        "prompt": {"text": True, "image": True, "audio": False, "embeddedContext": False},
    }
    assert {name for name, each in recorded.items() if each["forkSession"]} >= {
        "claude-agent-acp",
        "opencode",
    }
    assert len(recorded) >= 9
