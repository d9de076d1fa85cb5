"""The requests of an agent to its client.

A client declares its `capabilities`, and the agent is sent exactly those. Requests beyond them are answered
with `-32601`, and the client does not see them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from serai.acp.shapes import objects_of, text_of
from serai.acp.updates import ToolCallUpdate, read_update
from serai.errors import MethodNotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCapabilities:
    """The capabilities of the client. Where one is missing, an agent does without or uses its own."""

    read_text_file: bool = False
    write_text_file: bool = False
    terminal: bool = False
    """Commands that the agent runs in the client's terminals."""
    elicitation_form: bool = False
    elicitation_url: bool = False
    terminal_auth: bool = False
    """A terminal in which a person can sign in."""

    def to_wire(self) -> dict[str, Any]:
        """Return them as ACP's `clientCapabilities`."""
        wire: dict[str, Any] = {
            "fs": {"readTextFile": self.read_text_file, "writeTextFile": self.write_text_file},
            "terminal": self.terminal,
            "session": {"configOptions": {"boolean": {}}},  # `AcpSession` has them for every client
        }
        modes = {"form": self.elicitation_form, "url": self.elicitation_url}
        if any(modes.values()):  # an empty object would promise nothing
            wire["elicitation"] = {mode: {} for mode, has in modes.items() if has}
        if self.terminal_auth:
            wire["auth"] = {"terminal": True}
        return wire


# -- the requests -----------------------------------------------------------------------------------------


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
    """The call. It may not have been announced before."""
    options: tuple[PermissionOption, ...]
    raw: dict[str, Any] = field(repr=False)

    @classmethod
    def read(cls, params: dict[str, Any]) -> PermissionRequest:
        """Read the parameters of `session/request_permission`.

        An option without an id is left out, and so are options of several kinds that share an id: nobody
        knows what the agent would understand.

        Raises:
            ValidationError: They have the wrong shape.
        """
        sent = msgspec.convert(params, _PermissionParams)
        call = read_update({**sent.tool_call, "sessionUpdate": "tool_call_update"})
        if not isinstance(call, ToolCallUpdate):
            raise msgspec.ValidationError("Expected a tool call with a `toolCallId` - at `$.toolCall`")
        options = tuple(
            PermissionOption(name, text_of(each.get("name")) or name, text_of(each.get("kind")) or "")
            for each in objects_of(sent.options)
            if (name := text_of(each.get("optionId"))) is not None
        )
        kinds = defaultdict[str, set[str]](set)
        for option in options:
            kinds[option.id].add(option.kind)
        clear = tuple(option for option in options if len(kinds[option.id]) == 1)
        return cls(sent.session_id, call, clear, params)


class _PermissionParams(Struct, rename="camel"):
    session_id: str
    tool_call: dict[str, Any]
    options: Any = None


class ReadTextFile(Struct, frozen=True, rename="camel"):
    """The agent asks for the text of a file: at most `limit` lines, from `line` on (the first is 1)."""

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


class WriteTextFile(Struct, frozen=True, rename="camel"):
    """The agent asks to write this text to a file."""

    session_id: str
    path: str
    content: str


class _Variable(Struct):
    name: str
    value: str


class CreateTerminal(Struct, frozen=True, rename="camel"):
    """The agent asks to run a command in a terminal."""

    session_id: str
    command: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    cwd: str | None = None
    output_byte_limit: int | None = None


class TerminalRequest(Struct, frozen=True, rename="camel"):
    """The agent asks something about one of its terminals."""

    session_id: str
    terminal_id: str


class TerminalExit(Struct, frozen=True, rename="camel"):
    """The end of a terminal's command: a code, or a signal such as `SIGTERM`."""

    exit_code: int | None = None
    signal: str | None = None


class TerminalOutput(Struct, frozen=True, rename="camel"):
    """The output of a terminal's command, or only its end when it is too long."""

    output: str
    truncated: bool = False
    exit_status: TerminalExit | None = None


class Elicitation(Struct, frozen=True, kw_only=True, rename="camel"):
    """The agent asks the person a question: by a form, or by sending them to an address."""

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
    """The person's answer: `accept` with the form's values, `decline` or `cancel`."""

    action: str
    content: dict[str, Any] | None = None


# -- the client --------------------------------------------------------------------------------------------


class ClientSide:
    """Answers the requests of an agent. This one has no capabilities: override the methods that you have.

    One client may answer several agents, and many requests at a time. The first step of a request runs after
    the updates that came before it have been delivered, and before those that came after it. Raise
    `ProtocolError` to refuse with a number of your own, such as -32002 for a file that is not there. A
    request whose answer is no longer wanted is cancelled.
    """

    @property
    def capabilities(self) -> ClientCapabilities:
        """The capabilities of this client. They are read once, when an agent is started."""
        return ClientCapabilities()

    async def request_permission(self, request: PermissionRequest, /) -> str | None:  # noqa: ARG002 - nobody may
        """Return the id of the chosen option; `None` to cancel. An id that was not offered cancels too."""
        return None

    async def read_text_file(self, request: ReadTextFile, /) -> str:
        """Return the text of a file."""
        raise _refusal("fs/read_text_file", request)

    async def write_text_file(self, request: WriteTextFile, /) -> None:
        """Write a file."""
        raise _refusal("fs/write_text_file", request)

    async def create_terminal(self, request: CreateTerminal, /) -> str:
        """Run a command, and return the id of its terminal without waiting for it."""
        raise _refusal("terminal/create", request)

    async def terminal_output(self, request: TerminalRequest, /) -> TerminalOutput:
        """Return what the command has written so far."""
        raise _refusal("terminal/output", request)

    async def wait_for_terminal_exit(self, request: TerminalRequest, /) -> TerminalExit:
        """Wait for the command's end."""
        raise _refusal("terminal/wait_for_exit", request)

    async def kill_terminal(self, request: TerminalRequest, /) -> None:
        """End the command; the terminal stays."""
        raise _refusal("terminal/kill", request)

    async def release_terminal(self, request: TerminalRequest, /) -> None:
        """End the command if it runs, and drop the terminal."""
        raise _refusal("terminal/release", request)

    async def create_elicitation(self, request: Elicitation, /) -> ElicitationAnswer:
        """Ask the person a question."""
        raise _refusal("elicitation/create", request)

    def elicitation_completed(self, elicitation_id: str, /) -> None:
        """Note that the person has done what they were sent to an address for."""


def _refusal(method: str, request: object) -> MethodNotFound:
    del request
    return MethodNotFound(f"this client does not have {method}")
