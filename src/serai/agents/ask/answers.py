"""Who answers an agent that a program drives: the session for permissions, the program for the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from serai.agents.ask.session import WireSession

__all__ = ["Answering"]


class Answering:
    """Passes on what an agent asks.

    Args:
        client: Who has files, terminals and a person to ask.
        sessions: The sessions that are open, by their ids: they decide what the agent may do.
        warn: Is told what nobody could decide.
    """

    def __init__(
        self, client: ClientSide, sessions: Mapping[str, WireSession], warn: Callable[[str], None]
    ) -> None:
        self._client = client
        self._sessions = sessions
        self._warn = warn

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the program has; options that are yes or no are always understood."""
        return replace(self._client.capabilities, boolean_options=True)

    async def request_permission(self, request: PermissionRequest) -> str | None:
        """Ask the session; for an id that nobody opened, a subagent's, the only one that can be meant."""
        session = self._sessions.get(request.session_id)
        if session is not None:
            return await session.permit(request)
        every = list(self._sessions.values())
        likely = [one for one in every if one.acp.turn is not None] or every
        if len(likely) == 1:
            return await likely[0].permit(request)
        if likely:
            self._warn(
                f'Agent "{likely[0].host.name}" asks for permission in a session that nobody opened, and '
                f"{len(likely)} sessions could be meant — cancelled."
            )
        return None

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
