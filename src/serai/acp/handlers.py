"""The table of what an agent may ask: what the client needs for it, how it is read, who answers."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from serai.acp.client_side import (
    ClientCapabilities,
    ClientSide,
    CreateTerminal,
    Elicitation,
    ElicitationAnswer,
    PermissionOption,
    PermissionRequest,
    ReadTextFile,
    TerminalExit,
    TerminalOutput,
    TerminalRequest,
    WriteTextFile,
)
from serai.acp.shapes import object_of, text_of

__all__ = ["GIVEN_UP", "HANDLERS", "Handler", "is_unclear"]

_log = logging.getLogger(__name__)

_PERMISSION = "session/request_permission"
_ELICITATION = "elicitation/create"

GIVEN_UP: dict[str, Any] = {
    _PERMISSION: {"outcome": {"outcome": "cancelled"}},
    _ELICITATION: {"action": "cancel"},
}
"""What is answered for a person who is not asked any more."""


@dataclass(frozen=True, slots=True)
class Handler:
    """How one kind of request is served."""

    read: Callable[[Any], Any]
    """The parameters, as what the client is given; raises msgspec's `ValidationError`."""
    ask: Callable[[ClientSide, Any], Awaitable[Any]]
    """The result, as it goes on the wire."""
    needs: Callable[[ClientCapabilities, Any], bool]
    """Whether the client has said that it has this."""


def is_unclear(options: Sequence[PermissionOption], option_id: str) -> bool:
    """Whether an id belongs to options that do not mean the same: a permission, and something else."""
    return len({option.kind.startswith("allow") for option in options if option.id == option_id}) > 1


async def _permission(client: ClientSide, request: PermissionRequest) -> Any:
    chosen = await client.request_permission(request)
    if chosen is None:
        return GIVEN_UP[_PERMISSION]
    option = next((option for option in request.options if option.id == chosen), None)
    if option is None:
        _log.warning("the option %r was not offered: the request is cancelled", chosen)
        return GIVEN_UP[_PERMISSION]
    if is_unclear(request.options, chosen):
        _log.warning("the option %r stands for a yes and a no: the request is cancelled", chosen)
        return GIVEN_UP[_PERMISSION]
    return {"outcome": {"outcome": "selected", "optionId": option.wire_id}}


async def _elicitation(client: ClientSide, request: Elicitation) -> ElicitationAnswer:
    return await client.create_elicitation(request)


async def _read_text_file(client: ClientSide, request: ReadTextFile) -> Any:
    return {"content": await client.read_text_file(request)}


async def _write_text_file(client: ClientSide, request: WriteTextFile) -> Any:
    await client.write_text_file(request)
    return {}


async def _create_terminal(client: ClientSide, request: CreateTerminal) -> Any:
    return {"terminalId": await client.create_terminal(request)}


async def _terminal_output(client: ClientSide, request: TerminalRequest) -> TerminalOutput:
    return await client.terminal_output(request)


async def _wait_for_exit(client: ClientSide, request: TerminalRequest) -> TerminalExit:
    return await client.wait_for_terminal_exit(request)


async def _kill_terminal(client: ClientSide, request: TerminalRequest) -> Any:
    await client.kill_terminal(request)
    return {}


async def _release_terminal(client: ClientSide, request: TerminalRequest) -> Any:
    await client.release_terminal(request)
    return {}


def _always(capabilities: ClientCapabilities, params: Any) -> bool:
    del capabilities, params
    return True


def _if(name: str) -> Callable[[ClientCapabilities, Any], bool]:
    def has(capabilities: ClientCapabilities, params: Any) -> bool:
        del params
        return getattr(capabilities, name)

    return has


def _if_mode(capabilities: ClientCapabilities, params: Any) -> bool:
    mode = text_of(object_of(params).get("mode")) or "form"
    return {"form": capabilities.elicitation_form, "url": capabilities.elicitation_url}.get(mode, False)


def _as(kind: Any) -> Callable[[Any], Any]:
    def read(params: Any) -> Any:
        return msgspec.convert(params, kind)

    return read


HANDLERS: dict[str, Handler] = {
    _PERMISSION: Handler(PermissionRequest.of, _permission, _always),
    _ELICITATION: Handler(_as(Elicitation), _elicitation, _if_mode),
    "fs/read_text_file": Handler(ReadTextFile.of, _read_text_file, _if("read_text_file")),
    "fs/write_text_file": Handler(_as(WriteTextFile), _write_text_file, _if("write_text_file")),
    "terminal/create": Handler(CreateTerminal.of, _create_terminal, _if("terminal")),
    "terminal/output": Handler(_as(TerminalRequest), _terminal_output, _if("terminal")),
    "terminal/wait_for_exit": Handler(_as(TerminalRequest), _wait_for_exit, _if("terminal")),
    "terminal/kill": Handler(_as(TerminalRequest), _kill_terminal, _if("terminal")),
    "terminal/release": Handler(_as(TerminalRequest), _release_terminal, _if("terminal")),
}
