"""The agent's answer to `initialize`: its capabilities, its name, its ways to sign in.

Agents declare capabilities in many ways: `"fork": {}` means that they can fork, so does `true`, and a missing
field means that they cannot. `AgentCapabilities` is the same in all cases: ten fields, true or false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec import Struct

from serai.acp.shapes import list_of, object_of, text_of, texts_of


class McpCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """The ways in which the agent can reach MCP servers."""

    stdio: bool = True
    """Always true: ACP demands it of every agent."""
    http: bool = False
    sse: bool = False


class PromptCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """The content that a prompt may hold."""

    text: bool = True
    """Always true: every agent takes text and links to resources."""
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class AgentCapabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """The capabilities of an agent, from its handshake."""

    load_session: bool = False
    fork_session: bool = False
    resume_session: bool = False
    close_session: bool = False
    list_sessions: bool = False
    additional_directories: bool = False
    mcp: McpCapabilities = McpCapabilities()
    prompt: PromptCapabilities = PromptCapabilities()

    @classmethod
    def read(cls, initialize_result: Any) -> AgentCapabilities:
        """Read the result of `initialize`. Values of the wrong shape count as missing."""
        offers = partial(is_offered, initialize_result)
        return cls(
            load_session=offers("loadSession"),
            fork_session=offers("sessionCapabilities.fork"),
            resume_session=offers("sessionCapabilities.resume"),
            close_session=offers("sessionCapabilities.close"),
            list_sessions=offers("sessionCapabilities.list"),
            additional_directories=offers("sessionCapabilities.additionalDirectories"),
            mcp=McpCapabilities(http=offers("mcpCapabilities.http"), sse=offers("mcpCapabilities.sse")),
            prompt=PromptCapabilities(
                image=offers("promptCapabilities.image"),
                audio=offers("promptCapabilities.audio"),
                embedded_context=offers("promptCapabilities.embeddedContext"),
            ),
        )


@dataclass(frozen=True, slots=True)
class AuthMethod:
    """A way to sign in that the agent offers."""

    id: str
    name: str
    description: str | None = None
    type: str = "agent"
    """`agent`: call `authenticate`; `env_var`: set `variables`; `terminal`: run it with `arguments`."""
    variables: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    command: tuple[str, ...] = ()
    """A whole command, which some agents send in `_meta`."""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def login_command(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that signs in to the agent that `argv` starts; empty without a terminal."""
        if self.command:
            return self.command
        return (*argv, *self.arguments) if self.type == "terminal" else ()


@dataclass(frozen=True, slots=True)
class Handshake:
    """The agent's answer to `initialize`."""

    capabilities: AgentCapabilities
    protocol_version: Any
    """As the agent sent it; `None` when it did not."""
    agent_info: Mapping[str, str | None]
    """The agent's own `name`, `title` and `version`."""
    auth_methods: tuple[AuthMethod, ...]
    raw: Mapping[str, Any]
    """The whole answer, with what the ten fields do not cover."""

    @classmethod
    def read(cls, initialize_result: Any) -> Handshake:
        """Read the result of `initialize`, as `AgentCapabilities.read` does."""
        raw = object_of(initialize_result)
        info = object_of(raw.get("agentInfo"))
        return cls(
            capabilities=AgentCapabilities.read(raw),
            protocol_version=raw.get("protocolVersion"),
            agent_info={name: text_of(info.get(name)) for name in ("name", "title", "version")},
            auth_methods=tuple(
                _auth_method(each) for each in list_of(raw.get("authMethods")) if object_of(each).get("id")
            ),
            raw=raw,
        )


def _auth_method(sent: Any) -> AuthMethod:
    raw = object_of(sent)
    own = object_of(object_of(raw.get("_meta")).get("terminal-auth"))
    command = text_of(own.get("command"))
    return AuthMethod(
        id=str(raw["id"]),
        name=text_of(raw.get("name")) or str(raw["id"]),
        description=text_of(raw.get("description")),
        type=text_of(raw.get("type")) or "agent",
        variables=texts_of([object_of(each).get("name") for each in list_of(raw.get("vars"))]),
        arguments=texts_of(raw.get("args")),
        environ={name: value for name, value in object_of(raw.get("env")).items() if isinstance(value, str)},
        command=(command, *texts_of(own.get("args"))) if command else (),
        raw=raw,
    )


def is_offered(initialize_result: Any, path: str) -> bool:
    """Tell whether a capability is offered, such as `sessionCapabilities.list`.

    `{}` says yes; nothing, `null`, `false`, 0 and the empty text say no.
    """
    value = object_of(initialize_result).get("agentCapabilities")
    for name in path.split("."):
        value = object_of(value).get(name)
    return value not in (None, False, 0, "")
