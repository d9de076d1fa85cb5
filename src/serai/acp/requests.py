"""The agent's requests: the table of all kinds, and their handling. Each is answered, exactly once."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from serai.acp import client_side
from serai.acp.shapes import object_of, text_of
from serai.errors import ProtocolError, SeraiError
from serai.jsonrpc.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Request,
    RequestId,
)

if TYPE_CHECKING:
    from serai.acp.process.connection import AgentConnection
    from serai.acp.session import AcpSession

_log = logging.getLogger(__name__)

_PERMISSION = "session/request_permission"
_ELICITATION = "elicitation/create"

GIVEN_UP: dict[str, Any] = {
    _PERMISSION: {"outcome": {"outcome": "cancelled"}},
    _ELICITATION: {"action": "cancel"},
}
"""Answers for a person who is not asked any more."""
_FAILED = ProtocolError("internal error", number=INTERNAL_ERROR)


class Handler(NamedTuple):
    """The handler of one kind of request."""

    method: str
    """The client's method that answers."""
    kind: type[Any]
    """The type that the parameters are read into."""
    needs: str | None = None
    """The capability of the client that it needs, with `{mode}` for that of a question."""
    wrap: str | None = None
    """The name under which the result goes on the wire; by default it goes as it is."""

    def is_offered(self, capabilities: client_side.ClientCapabilities, params: Any) -> bool:
        """Tell whether the client has declared the capability."""
        mode = text_of(object_of(params).get("mode")) or "form"
        return self.needs is None or bool(getattr(capabilities, self.needs.format(mode=mode), False))

    def read(self, params: Any) -> Any:
        """Read the parameters. Raises msgspec's `ValidationError`."""
        if self.kind is client_side.PermissionRequest:
            return client_side.PermissionRequest.read(params)
        return msgspec.convert(params, self.kind)


HANDLERS: dict[str, Handler] = {
    _PERMISSION: Handler("request_permission", client_side.PermissionRequest),
    _ELICITATION: Handler("create_elicitation", client_side.Elicitation, "elicitation_{mode}"),
    "fs/read_text_file": Handler("read_text_file", client_side.ReadTextFile, "read_text_file", "content"),
    "fs/write_text_file": Handler("write_text_file", client_side.WriteTextFile, "write_text_file"),
    "terminal/create": Handler("create_terminal", client_side.CreateTerminal, "terminal", "terminalId"),
    "terminal/output": Handler("terminal_output", client_side.TerminalRequest, "terminal"),
    "terminal/wait_for_exit": Handler("wait_for_terminal_exit", client_side.TerminalRequest, "terminal"),
    "terminal/kill": Handler("kill_terminal", client_side.TerminalRequest, "terminal"),
    "terminal/release": Handler("release_terminal", client_side.TerminalRequest, "terminal"),
}


def _written(handler: Handler, asked: Any, result: Any) -> Any:
    """Return the client's answer as it goes on the wire."""
    if isinstance(asked, client_side.PermissionRequest):
        if any(option.id == result for option in asked.options):
            return {"outcome": {"outcome": "selected", "optionId": result}}
        if result is not None:
            _log.warning("the option %r was not offered: it is cancelled", result)
        return GIVEN_UP[_PERMISSION]
    if handler.wrap is not None:
        return {handler.wrap: result}
    return {} if result is None else result


@dataclass(slots=True, eq=False)
class _Pending:
    """A request of the agent that is being served."""

    id: RequestId
    method: str
    session: AcpSession | None
    """The session that is meant; `None` when that is unknown."""
    task: asyncio.Task[None] | None = None
    is_answered: bool = False


class AgentRequests:
    """The pending requests of one agent."""

    def __init__(self, agent: AgentConnection) -> None:
        self.capabilities = agent.client.capabilities
        """The capabilities that the client has declared."""
        self._agent = agent
        self._pending: set[_Pending] = set()
        self._stopped = False

    @property
    def is_waited_for(self) -> bool:
        """True while the agent waits for an answer, perhaps of a person who takes their time."""
        return any(not each.is_answered for each in self._pending)

    def serve(self, request: Request) -> None:
        """Answer a request, now or by a task of its own."""
        if self._stopped:
            return
        handler = HANDLERS.get(request.method)
        if handler is None or not handler.is_offered(self.capabilities, request.params):
            message = f"this client does not have {request.method}"
            self._agent.refuse(request.id, ProtocolError(message, number=METHOD_NOT_FOUND))
            return
        try:
            asked = handler.read(request.params)
        except msgspec.ValidationError as problem:
            error = ProtocolError(f"{request.method}: {problem}", number=INVALID_PARAMS)
            self._agent.refuse(request.id, error)
            return
        pending = _Pending(request.id, request.method, self._agent.session_of(asked.session_id))
        is_unclear = pending.session is None and pending.method == _PERMISSION
        if is_unclear:
            what = "asks for permission in a session that nobody opened, and several could be meant"
            self._agent.warn(f'Agent "{self._agent.name}" {what} — cancelled.')
        if is_unclear or self._is_given_up(pending):
            self._agent.answer(request.id, GIVEN_UP[request.method])
            return
        self._pending.add(pending)
        pending.task = asyncio.create_task(self._serve(pending, handler, asked))
        pending.task.add_done_callback(lambda _: self._pending.discard(pending))

    def give_up(self) -> None:
        """Cancel the questions to people in sessions whose prompt is cancelled, and tell the agent."""
        for pending in [each for each in self._pending if self._is_given_up(each)]:
            self._reply(pending, GIVEN_UP[pending.method])
            self._stop(pending)

    def withdraw(self, request_id: RequestId) -> None:
        """Stop a request that the agent has withdrawn."""
        for pending in [each for each in self._pending if each.id == request_id]:
            self._reply(pending, ProtocolError("the request was cancelled", number=REQUEST_CANCELLED))
            self._stop(pending)

    def stop(self) -> None:
        """Stop all requests because the agent is gone."""
        self._stopped = True
        for pending in self._pending:
            pending.is_answered = True
            self._stop(pending)

    async def close(self) -> None:
        """Stop all requests, and wait until their tasks have ended."""
        self.stop()
        tasks = [each.task for each in self._pending if each.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, pending: _Pending, handler: Handler, asked: Any) -> None:
        try:
            answer = getattr(self._agent.client, handler.method)
            if pending.method == _PERMISSION and pending.session is not None:
                answer = pending.session.permit
            self._reply(pending, _written(handler, asked, await answer(asked)))
        except SeraiError as error:
            self._reply(pending, error)
        except asyncio.CancelledError:
            # Whoever stopped it has answered. Otherwise the client's own waiting was cancelled.
            self._reply(pending, GIVEN_UP.get(pending.method, _FAILED))
            raise
        except Exception:  # noqa: BLE001 - whatever went wrong, the agent waits for an answer
            _log.exception("%s was not answered", pending.method)
            self._reply(pending, _FAILED)

    def _is_given_up(self, pending: _Pending) -> bool:
        """Tell whether a request is a question to a person in a session whose prompt is cancelled."""
        turn = pending.session.turn if pending.session is not None else None
        return pending.method in GIVEN_UP and turn is not None and turn.cancelled

    def _reply(self, pending: _Pending, reply: Any) -> None:
        """Answer a request by a result or an error, unless it was answered before."""
        if pending.is_answered:
            return
        if isinstance(reply, SeraiError):
            self._agent.refuse(pending.id, reply)
        else:
            self._agent.answer(pending.id, reply)
        pending.is_answered = True
        self._agent.heard()

    def _stop(self, pending: _Pending) -> None:
        if pending.task is not None:
            pending.task.cancel()
