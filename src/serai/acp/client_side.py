"""What an agent may ask of the one who drives it.

A client says in its `capabilities` what it truly has, and the agent is told exactly that. Whatever an agent
asks beyond it is answered with `-32601` before the client hears of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from serai.acp.shapes import objects_of, text_of
from serai.acp.updates import ToolCallUpdate, read_update


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCapabilities:
    """What the client has. An agent that is not told of it does without, or uses its own."""

    read_text_file: bool = False
    write_text_file: bool = False
    terminal: bool = False
    """Commands that the agent runs in the client's terminals."""
    elicitation_form: bool = False
    elicitation_url: bool = False
    boolean_options: bool = False
    """Config options that are yes or no, beside those with a list of values."""
    terminal_auth: bool = False
    """A terminal in which a person can sign in."""

    def to_wire(self) -> dict[str, Any]:
        """As `clientCapabilities`."""
        wire: dict[str, Any] = {
            "fs": {"readTextFile": self.read_text_file, "writeTextFile": self.write_text_file},
            "terminal": self.terminal,
        }
        modes = {"form": self.elicitation_form, "url": self.elicitation_url}
        if any(modes.values()):  # an empty object would promise nothing
            wire["elicitation"] = {mode: {} for mode, has in modes.items() if has}
        if self.boolean_options:
            wire["session"] = {"configOptions": {"boolean": {}}}
        if self.terminal_auth:
            wire["auth"] = {"terminal": True}
        return wire


# -- what is asked -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """One of the answers that the agent offers."""

    id: str
    name: str
    kind: str
    """`allow_once`, `allow_always`, `reject_once`, `reject_always`, or something newer; empty without one."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """The agent asks whether a tool call may go on."""

    session_id: str
    tool_call: ToolCallUpdate
    """The call. It may be the first that is heard of it."""
    options: tuple[PermissionOption, ...]
    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, params: dict[str, Any]) -> PermissionRequest:
        """Read the parameters of `session/request_permission`.

        An option without an id is left out, and so are options of several kinds that share an id: nobody
        knows what the agent would understand.

        Raises:
            ValidationError: They are not such.
        """
        told = msgspec.convert(params, _PermissionParams)
        call = read_update({**told.tool_call, "sessionUpdate": "tool_call_update"})
        if not isinstance(call, ToolCallUpdate):
            raise msgspec.ValidationError("Expected a tool call with a `toolCallId` - at `$.toolCall`")
        options = tuple(
            PermissionOption(name, text_of(each.get("name")) or name, text_of(each.get("kind")) or "")
            for each in objects_of(told.options)
            if (name := text_of(each.get("optionId"))) is not None
        )
        kinds = defaultdict[str, set[str]](set)
        for option in options:
            kinds[option.id].add(option.kind)
        clear = tuple(option for option in options if len(kinds[option.id]) == 1)
        return cls(told.session_id, call, clear, params)


class _PermissionParams(Struct, rename="camel"):
    session_id: str
    tool_call: dict[str, Any]
    options: Any = None


class ReadTextFile(Struct, frozen=True, rename="camel"):
    """The agent wants the text of a file; of its lines from `line` (the first is 1), at most `limit`."""

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


class WriteTextFile(Struct, frozen=True, rename="camel"):
    """The agent wants a file to have this text."""

    session_id: str
    path: str
    content: str


class _Variable(Struct):
    name: str
    value: str


class CreateTerminal(Struct, frozen=True, rename="camel"):
    """The agent wants a command to run in a terminal."""

    session_id: str
    command: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    cwd: str | None = None
    output_byte_limit: int | None = None

    @property
    def environ(self) -> dict[str, str]:
        """The variables that it wants to have set."""
        return {each.name: each.value for each in self.env or ()}


class TerminalRequest(Struct, frozen=True, rename="camel"):
    """The agent wants something of a terminal that it has."""

    session_id: str
    terminal_id: str


class TerminalExit(Struct, frozen=True, rename="camel"):
    """How a terminal's command ended: with a code, or by a signal such as `SIGTERM`."""

    exit_code: int | None = None
    signal: str | None = None


class TerminalOutput(Struct, frozen=True, rename="camel"):
    """What a terminal's command has written; its end, when it was too much."""

    output: str
    truncated: bool = False
    exit_status: TerminalExit | None = None


class Elicitation(Struct, frozen=True, kw_only=True, rename="camel"):
    """The agent asks the person something: with a form, or by sending them to an address."""

    message: str
    mode: str = "form"
    """`form`, `url`, or something newer."""
    session_id: str | None = None
    """`None` when the question belongs to a request such as `authenticate`."""
    tool_call_id: str | None = None
    requested_schema: dict[str, Any] | None = None
    """A form: a JSON Schema whose properties are plain values."""
    url: str | None = None
    elicitation_id: str | None = None


class ElicitationAnswer(Struct, frozen=True, omit_defaults=True):
    """What the person said: `accept`, with the form's values; `decline`; or `cancel`."""

    action: str
    content: dict[str, Any] | None = None


# -- who is asked ------------------------------------------------------------------------------------------


class ClientSide:
    """Who answers an agent. This one has nothing and refuses everything: override what you have.

    One may answer several agents, and many requests at a time. The first step of a request runs after the
    updates that came before it have been delivered, and before those that came after it. Raise
    `ProtocolError` to refuse with a number of your own, such as -32002 for a file that is not there. A
    request whose answer nobody wants any more is cancelled.
    """

    @property
    def capabilities(self) -> ClientCapabilities:
        """What there is. It is read once, when an agent is started."""
        return ClientCapabilities()

    async def request_permission(self, request: PermissionRequest, /) -> str | None:  # noqa: ARG002 - nobody may
        """The id of the option that was chosen; `None` to cancel. An id that was not offered cancels too."""
        return None

    async def read_text_file(self, request: ReadTextFile, /) -> str:
        """The text of a file."""
        raise NotImplementedError

    async def write_text_file(self, request: WriteTextFile, /) -> None:
        """Write a file."""
        raise NotImplementedError

    async def create_terminal(self, request: CreateTerminal, /) -> str:
        """Run a command, and return the id of its terminal without waiting for it."""
        raise NotImplementedError

    async def terminal_output(self, request: TerminalRequest, /) -> TerminalOutput:
        """What the command has written so far."""
        raise NotImplementedError

    async def wait_for_terminal_exit(self, request: TerminalRequest, /) -> TerminalExit:
        """Wait for the command's end."""
        raise NotImplementedError

    async def kill_terminal(self, request: TerminalRequest, /) -> None:
        """End the command; the terminal stays."""
        raise NotImplementedError

    async def release_terminal(self, request: TerminalRequest, /) -> None:
        """End the command if it runs, and forget the terminal."""
        raise NotImplementedError

    async def create_elicitation(self, request: Elicitation, /) -> ElicitationAnswer:
        """Ask the person."""
        raise NotImplementedError

    def elicitation_completed(self, elicitation_id: str, /) -> None:
        """What the person was sent to an address for is done."""
