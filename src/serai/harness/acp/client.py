"""The host's answers to an agent's requests: guarded files and terminals, and questions to people."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import uuid
from typing import TYPE_CHECKING, NamedTuple

from serai.acp import client_side as acp
from serai.ahp.commands import AhpErrorCode, ContentEncoding
from serai.ahp.types import SessionInputRequest, SessionInputResponseKind
from serai.errors import ProtocolError
from serai.harness.acp.content import questions_of, values_of
from serai.harness.acp.turn import RunningPrompt
from serai.host.surroundings.terminals import HostTerminal
from serai.jsonrpc.messages import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RESOURCE_NOT_FOUND
from serai.uris import uri_of

if TYPE_CHECKING:
    from serai.harness.acp.session import AcpAgentSession

_LINE = re.compile(r"[\s|&;<>()$`\"'*?]")
"""Characters that show that a command is a line for a shell, as some agents send it, and no program."""


class _Lent(NamedTuple):
    """A terminal that is lent to the agent, and its limit of output in bytes."""

    terminal: HostTerminal
    limit: int | None


class HostClient(acp.ClientSide):
    """Answers the requests of one session's agent. Files and terminals only where the catalogue says so."""

    def __init__(self, session: AcpAgentSession) -> None:
        self._definition = session.harness.found.definition
        self._seat, self._folder, self._session = session.seat, session.folder, session
        self._terminals: dict[str, _Lent] = {}
        """The terminals that are lent to the agent, in this turn and after it."""
        self._questions: dict[str, str | None] = {}
        """The open questions, with the agent's ids for them. Several may share one."""
        self._is_closed = False

    async def close(self) -> None:
        """Close the agent's terminals: its process is gone."""
        self._is_closed = True
        lent, self._terminals = self._terminals, {}
        await asyncio.gather(*(each.terminal.close() for each in lent.values()))

    @property
    def capabilities(self) -> acp.ClientCapabilities:
        """The host's capabilities for this agent."""
        return acp.ClientCapabilities(
            read_text_file=self._definition.fs,
            write_text_file=self._definition.fs,
            terminal=self._definition.terminal,
            elicitation_form=True,
            elicitation_url=True,
            terminal_auth=True,
        )

    async def request_permission(self, request: acp.PermissionRequest) -> str | None:
        """Ask the person. A turn that is over cancels, and one that ends meanwhile withdraws the question."""
        await self._session.caught_up()
        work = self._session.work
        if work is None or not work.turn.is_running:
            return None
        work.flush()
        work.delivered("a request for permission")
        return await work.calls.ask(request)

    async def read_text_file(self, request: acp.ReadTextFile) -> str:
        """Read a file in the session's folders."""
        first = max((request.line or 1) - 1, 0)
        last = None if request.limit is None else first + max(request.limit, 0)
        try:
            found = await self._seat.read(self._uri(request.path), first=first, last=last)
        except ProtocolError as error:
            raise _acp_error(error) from None
        if found.encoding == ContentEncoding.BASE64:
            raise ProtocolError(f"{request.path} is no text", number=INVALID_PARAMS)
        return found.data

    async def write_text_file(self, request: acp.WriteTextFile) -> None:
        """Write a file in the session's folder."""
        work = self._work("files are written")
        try:
            await work.turn.write(self._uri(request.path), request.content)
        except ProtocolError as error:
            raise _acp_error(error) from None

    def _uri(self, path: str) -> str:
        return uri_of(os.path.normpath(self._folder / path))

    async def create_terminal(self, request: acp.CreateTerminal) -> str:
        """Run a command in a terminal that people can follow."""
        work = self._work("commands are run")
        argv = [request.command, *(request.args or ())]
        if not request.args and _LINE.search(request.command):
            argv = ["/bin/sh", "-c", request.command]
        terminal = await work.turn.terminal(
            argv,
            title=shlex.join(argv) if request.args else request.command,
            cwd=self._uri(request.cwd) if request.cwd else None,
            env={each.name: each.value for each in request.env or ()},
        )
        if self._is_closed or not work.turn.is_running:  # meanwhile
            await terminal.close()
            raise _no_turn("commands are run")
        self._terminals[terminal.uri] = _Lent(terminal, request.output_byte_limit)
        self._session.shown_terminals[terminal.uri] = terminal.content
        return terminal.uri

    async def terminal_output(self, request: acp.TerminalRequest) -> acp.TerminalOutput:
        """Return what the command has written, or the end of it."""
        terminal, limit = self._lent(request)
        text = terminal.text().removeprefix(terminal.live.notice)
        truncated = terminal.live.cut > 0
        data = text.encode()
        if limit is not None and len(data) > (most := max(limit, 0)):
            truncated = True
            text = data[len(data) - most :].decode("utf-8", "ignore")
        has_ended = terminal.live.head.exit_code is not None
        return acp.TerminalOutput(
            output=text, truncated=truncated, exit_status=_exit(terminal) if has_ended else None
        )

    async def wait_for_terminal_exit(self, request: acp.TerminalRequest) -> acp.TerminalExit:
        """Wait for the command's end."""
        terminal, _ = self._lent(request)
        await terminal.wait()
        return _exit(terminal)

    async def kill_terminal(self, request: acp.TerminalRequest) -> None:
        """End the command. Its output can still be read."""
        await self._lent(request).terminal.close()

    async def release_terminal(self, request: acp.TerminalRequest) -> None:
        """End the command. People can still see its output; the agent cannot."""
        terminal, _ = self._lent(request)
        del self._terminals[request.terminal_id]
        await terminal.close()

    def _lent(self, request: acp.TerminalRequest) -> _Lent:
        found = self._terminals.get(request.terminal_id)
        if found is None:
            raise ProtocolError(f"there is no terminal {request.terminal_id}", number=RESOURCE_NOT_FOUND)
        return found

    async def create_elicitation(self, request: acp.Elicitation) -> acp.ElicitationAnswer:
        """Ask the person, by a form or by sending them to an address."""
        await self._session.caught_up()
        if (work := self._session.work) is not None:
            work.flush()
        schema = request.requested_schema or {}
        if request.mode == "url" and not (request.url or "").startswith(("https://", "http://")):
            raise ProtocolError("a person can be sent to web addresses only", number=INVALID_PARAMS)
        asked = SessionInputRequest(
            id=str(uuid.uuid4()),
            message=request.message,
            url=request.url if request.mode == "url" else None,
            questions=(questions_of(schema) or None) if request.mode == "form" else None,
        )
        self._questions[asked.id] = request.elicitation_id
        try:
            answers = await self._seat.ask(asked)
        finally:
            del self._questions[asked.id]
        if answers.response == SessionInputResponseKind.ACCEPT:
            content = values_of(schema, answers.answers) if request.mode == "form" else None
            return acp.ElicitationAnswer("accept", content)
        return acp.ElicitationAnswer(
            "decline" if answers.response == SessionInputResponseKind.DECLINE else "cancel"
        )

    def elicitation_completed(self, elicitation_id: str) -> None:
        """Close the questions that the person has answered elsewhere."""
        for question in [each for each, name in self._questions.items() if name == elicitation_id]:
            self._seat.answered(question)

    def _work(self, what: str) -> RunningPrompt:
        work = self._session.work
        if work is None or not work.turn.is_running:  # one that was cancelled may still be ending
            raise _no_turn(what)
        return work


def _no_turn(what: str) -> ProtocolError:
    return ProtocolError(f"{what} during a turn, and none is running", number=INVALID_REQUEST)


def _exit(terminal: HostTerminal) -> acp.TerminalExit:
    ending = terminal.exit
    if ending is None or ending.signal is None:
        return acp.TerminalExit(exit_code=terminal.live.head.exit_code)
    try:
        return acp.TerminalExit(signal=signal.Signals(ending.signal).name)
    except ValueError:
        return acp.TerminalExit(signal=str(ending.signal))


def _acp_error(error: ProtocolError) -> ProtocolError:
    """Translate an error of the host's files into ACP's numbers."""
    is_missing = error.number in (AhpErrorCode.NOT_FOUND, AhpErrorCode.CONTENT_NOT_FOUND)
    return ProtocolError(str(error), number=RESOURCE_NOT_FOUND if is_missing else INTERNAL_ERROR)
