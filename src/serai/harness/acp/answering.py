"""What an agent asks while it works, answered by the host: with its guards, and by asking the person."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import uuid
from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol

from serai.acp import (
    BasicClient,
    ClientCapabilities,
    CreateTerminal,
    Elicitation,
    ElicitationAnswer,
    PermissionRequest,
    ReadTextFile,
    TerminalExit,
    TerminalOutput,
    TerminalRequest,
    WriteTextFile,
)
from serai.agents.definitions import AgentDefinition
from serai.ahp.commands import ContentEncoding
from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import SessionInputRequest, SessionInputResponseKind
from serai.errors import ProtocolError
from serai.harness.acp.calls import Answer
from serai.harness.acp.forms import questions_of, values_of
from serai.harness.acp.work import Work
from serai.host.seat import Seat
from serai.host.surroundings.terminals import HostTerminal
from serai.uris import uri_of

__all__ = ["Answering", "Asked"]

_LINE = re.compile(r"[\s|&;<>()$`\"'*?]")
"""By this a whole line is told from the name of a program."""
_RESOURCE_NOT_FOUND = -32002
_INTERNAL_ERROR = -32603
_INVALID_PARAMS = -32602


class Asked(Protocol):
    """The session that an agent asks in."""

    @property
    def work(self) -> Work | None:
        """The turn that runs."""
        ...

    async def caught_up(self) -> None:
        """Wait until all that the agent told before has been dealt with."""
        ...


class Answering(BasicClient):
    """Answers the agent of one session. Files and terminals only where the catalogue says so.

    Args:
        definition: The agent.
        seat: Its place in the session.
        folder: Where it works.
        asked: The session.
    """

    def __init__(self, definition: AgentDefinition, seat: Seat, folder: Path, asked: Asked) -> None:
        self._definition = definition
        self._seat = seat
        self._folder = folder
        self._asked = asked
        self._limits: dict[str, int | None] = {}
        """How much of a terminal's output the agent wants, by the terminal."""

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the host has for this agent."""
        return ClientCapabilities(
            read_text_file=self._definition.fs,
            write_text_file=self._definition.fs,
            terminal=self._definition.terminal,
            elicitation_form=True,
            elicitation_url=True,
            boolean_options=True,
            terminal_auth=True,
        )

    # -- permissions ---------------------------------------------------------------------------------------

    async def request_permission(self, request: PermissionRequest) -> str | None:
        """Ask the person. A turn that is over, or ends meanwhile, cancels."""
        await self._asked.caught_up()
        work = self._asked.work
        if work is None or not work.turn.is_running:
            return None
        work.flush()
        work.delivered("a request for permission")
        answer = await _unless_over(work.calls.ask(request))
        if answer is None:
            return None
        if answer.suggestion is not None:
            self._seat.queue(answer.suggestion, "suggestion")
        return answer.option

    # -- files ---------------------------------------------------------------------------------------------

    async def read_text_file(self, request: ReadTextFile) -> str:
        """Read a file of the session's folders."""
        work = self._work()
        try:
            found = await work.turn.read(self._uri(request.path))
        except ProtocolError as error:
            raise _told(error) from None
        if found.encoding == ContentEncoding.BASE64:
            raise ProtocolError(f"{request.path} is no text", number=_INVALID_PARAMS)
        if request.line is None and request.limit is None:
            return found.data
        first = max((request.line or 1) - 1, 0)
        last = None if request.limit is None else first + request.limit
        return "".join(found.data.splitlines(keepends=True)[first:last])

    async def write_text_file(self, request: WriteTextFile) -> None:
        """Write a file of the session's folder."""
        work = self._work()
        try:
            await work.turn.write(self._uri(request.path), request.content)
        except ProtocolError as error:
            raise _told(error) from None

    def _uri(self, path: str) -> str:
        return uri_of(os.path.normpath(self._folder / path))

    # -- terminals -----------------------------------------------------------------------------------------

    async def create_terminal(self, request: CreateTerminal) -> str:
        """Run a command in a terminal that people can follow."""
        work = self._work()
        argv = [request.command, *(request.args or ())]
        if not request.args and _LINE.search(request.command):
            argv = ["/bin/sh", "-c", request.command]  # a whole line, as some agents have it
        terminal = await work.turn.terminal(
            argv,
            title=shlex.join(argv) if request.args else request.command,
            cwd=self._uri(request.cwd) if request.cwd else None,
            env=request.environ,
        )
        work.terminals[terminal.uri] = terminal
        self._limits[terminal.uri] = request.output_byte_limit
        return terminal.uri

    async def terminal_output(self, request: TerminalRequest) -> TerminalOutput:
        """What the command has written, or the end of it."""
        terminal = self._terminal(request)
        text, limit = terminal.text(), self._limits.get(request.terminal_id)
        data = text.encode()
        truncated = limit is not None and len(data) > limit
        if truncated:
            text = data[len(data) - (limit or 0) :].decode("utf-8", "ignore")
        code = terminal.live.head.exit_code
        return TerminalOutput(
            output=text,
            truncated=truncated,
            exit_status=TerminalExit(exit_code=code) if code is not None else None,
        )

    async def wait_for_terminal_exit(self, request: TerminalRequest) -> TerminalExit:
        """Wait for the command's end."""
        return TerminalExit(exit_code=await self._terminal(request).wait())

    async def kill_terminal(self, request: TerminalRequest) -> None:
        """End the command; what it wrote can still be looked at."""
        await self._terminal(request).close()

    async def release_terminal(self, request: TerminalRequest) -> None:
        """End the command. People can still look at what it wrote; the agent no longer."""
        terminal = self._terminal(request)
        await terminal.close()
        self._limits.pop(request.terminal_id, None)

    def _terminal(self, request: TerminalRequest) -> HostTerminal:
        found = self._work().terminals.get(request.terminal_id)
        if found is None or request.terminal_id not in self._limits:
            raise ProtocolError(f"there is no terminal {request.terminal_id}", number=_RESOURCE_NOT_FOUND)
        return found

    # -- questions -----------------------------------------------------------------------------------------

    async def create_elicitation(self, request: Elicitation) -> ElicitationAnswer:
        """Ask the person, with a form or by sending them to an address."""
        await self._asked.caught_up()
        if (work := self._asked.work) is not None:
            work.flush()
        schema = request.requested_schema or {}
        asked = SessionInputRequest(
            id=request.elicitation_id or str(uuid.uuid4()),
            message=request.message,
            url=request.url if request.mode == "url" else None,
            questions=(questions_of(schema) or None) if request.mode == "form" else None,
        )
        answers = await self._seat.ask(asked)
        if answers.response == SessionInputResponseKind.ACCEPT:
            content = values_of(schema, answers.answers) if request.mode == "form" else None
            return ElicitationAnswer("accept", content)
        return ElicitationAnswer(
            "decline" if answers.response == SessionInputResponseKind.DECLINE else "cancel"
        )

    def elicitation_completed(self, elicitation_id: str) -> None:
        """The person has done elsewhere what they were sent for."""
        self._seat.answered(elicitation_id)

    def _work(self) -> Work:
        work = self._asked.work
        if work is None:
            raise ProtocolError("no turn is running", number=_INTERNAL_ERROR)
        return work


async def _unless_over(asking: Awaitable[Answer]) -> Answer | None:
    """The answer; `None` when the turn has ended before there was one."""
    try:
        return await asking
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return None


def _told(error: ProtocolError) -> ProtocolError:
    """A refusal of the host's files, with the numbers that ACP has."""
    missing = error.number in (AhpErrorCode.NOT_FOUND, AhpErrorCode.CONTENT_NOT_FOUND)
    return ProtocolError(str(error), number=_RESOURCE_NOT_FOUND if missing else _INTERNAL_ERROR)
