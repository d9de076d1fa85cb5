"""Who answers an agent that a program drives: the session for permissions, the program for the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from serai.acp import (
    ClientCapabilities,
    ClientSide,
    CreateTerminal,
    Elicitation,
    ElicitationAnswer,
    Event,
    PermissionRequest,
    ReadTextFile,
    TerminalExit,
    TerminalOutput,
    TerminalRequest,
    WriteTextFile,
)

__all__ = ["Answering"]


class Answering:
    """Passes on what an agent asks.

    Args:
        client: Who has files, terminals and a person to ask.
        permit: Who answers what the agent asks permission for.
    """

    def __init__(
        self, client: ClientSide, permit: Callable[[PermissionRequest], Awaitable[str | None]]
    ) -> None:
        self._client = client
        self._permit = permit

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the program has; options that are yes or no are always understood."""
        return replace(self._client.capabilities, boolean_options=True)

    async def request_permission(self, request: PermissionRequest) -> str | None:
        """Ask the session."""
        return await self._permit(request)

    async def read_text_file(self, request: ReadTextFile) -> str:
        """Pass it on."""
        return await self._client.read_text_file(request)

    async def write_text_file(self, request: WriteTextFile) -> None:
        """Pass it on."""
        await self._client.write_text_file(request)

    async def create_terminal(self, request: CreateTerminal) -> str:
        """Pass it on."""
        return await self._client.create_terminal(request)

    async def terminal_output(self, request: TerminalRequest) -> TerminalOutput:
        """Pass it on."""
        return await self._client.terminal_output(request)

    async def wait_for_terminal_exit(self, request: TerminalRequest) -> TerminalExit:
        """Pass it on."""
        return await self._client.wait_for_terminal_exit(request)

    async def kill_terminal(self, request: TerminalRequest) -> None:
        """Pass it on."""
        await self._client.kill_terminal(request)

    async def release_terminal(self, request: TerminalRequest) -> None:
        """Pass it on."""
        await self._client.release_terminal(request)

    async def create_elicitation(self, request: Elicitation) -> ElicitationAnswer:
        """Pass it on."""
        return await self._client.create_elicitation(request)

    def elicitation_completed(self, elicitation_id: str) -> None:
        """Pass it on."""
        self._client.elicitation_completed(elicitation_id)

    def notified(self, event: Event) -> None:
        """Pass it on."""
        self._client.notified(event)
