"""The agent's requests: the table of what it may ask, and how each is answered, once and always."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, KeysView, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from serai.acp.client_side import (
    ClientCapabilities,
    ClientSide,
    CreateTerminal,
    Elicitation,
    PermissionOption,
    PermissionRequest,
    ReadTextFile,
    TerminalRequest,
    WriteTextFile,
)
from serai.acp.process.peer import AgentPeer
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

__all__ = ["GIVEN_UP", "HANDLERS", "AgentRequests", "Handler", "is_unclear"]

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


def _calling(name: str, wrap: str | None = None) -> Callable[[ClientSide, Any], Awaitable[Any]]:
    """Ask the client's method of that name. Its result is wrapped under a name, or as it is; else empty."""

    async def ask(client: ClientSide, request: Any) -> Any:
        result = await getattr(client, name)(request)
        if wrap is not None:
            return {wrap: result}
        return {} if result is None else result

    return ask


def _if(name: str) -> Callable[[ClientCapabilities, Any], bool]:
    return lambda capabilities, _params: getattr(capabilities, name)


def _if_mode(capabilities: ClientCapabilities, params: Any) -> bool:
    mode = text_of(object_of(params).get("mode")) or "form"
    return {"form": capabilities.elicitation_form, "url": capabilities.elicitation_url}.get(mode, False)


def _as(kind: Any) -> Callable[[Any], Any]:
    return lambda params: msgspec.convert(params, kind)


def _terminal(name: str) -> Handler:
    return Handler(_as(TerminalRequest), _calling(name), _if("terminal"))


HANDLERS: dict[str, Handler] = {
    _PERMISSION: Handler(PermissionRequest.of, _permission, lambda _capabilities, _params: True),
    _ELICITATION: Handler(_as(Elicitation), _calling("create_elicitation"), _if_mode),
    "fs/read_text_file": Handler(
        ReadTextFile.of, _calling("read_text_file", "content"), _if("read_text_file")
    ),
    "fs/write_text_file": Handler(_as(WriteTextFile), _calling("write_text_file"), _if("write_text_file")),
    "terminal/create": Handler(CreateTerminal.of, _calling("create_terminal", "terminalId"), _if("terminal")),
    "terminal/output": _terminal("terminal_output"),
    "terminal/wait_for_exit": _terminal("wait_for_terminal_exit"),
    "terminal/kill": _terminal("kill_terminal"),
    "terminal/release": _terminal("release_terminal"),
}


# -- the requests under way --------------------------------------------------------------------------------


class _Pending:
    """A request of the agent that has no answer yet."""

    __slots__ = ("id", "method", "session_id", "task")

    def __init__(self, request: Request, session_id: str | None) -> None:
        self.id = request.id
        self.method = request.method
        self.session_id = session_id
        self.task: asyncio.Task[None] | None = None


class AgentRequests:
    """All requests of one agent that are under way.

    Args:
        peer: Where they came from, and the answers go.
        client: Who answers.
        capabilities: What the client has said that it has.
        answered: Is told the session whose request has its answer; `None` for no session.
        sessions: The ids of the sessions that are open.
    """

    def __init__(
        self,
        peer: AgentPeer,
        client: ClientSide,
        capabilities: ClientCapabilities,
        answered: Callable[[str | None], None],
        sessions: Callable[[], KeysView[str]],
    ) -> None:
        self._peer = peer
        self._client = client
        self._capabilities = capabilities
        self._answered = answered
        self._sessions = sessions
        self._pending: set[_Pending] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False
        self.prompting: set[str] = set()
        """Sessions that have a prompt under way."""
        self.cancelling: set[str] = set()
        """Those of them in which nobody is asked any more."""

    def is_busy(self, session_id: str) -> bool:
        """Whether the agent waits for an answer in this session: a person, perhaps, who takes their time.

        What it asks under an id that nobody opened, a subagent's for instance, may belong to any session.
        """
        sessions = self._sessions()
        return any(
            pending.session_id == session_id or pending.session_id not in sessions
            for pending in self._pending
        )

    @property
    def is_waited_for(self) -> bool:
        """Whether the agent waits for any answer."""
        return bool(self._pending)

    def serve(self, request: Request) -> None:
        """Take a request. It is answered now, or by a task of its own."""
        if self._stopped:
            return
        handler = HANDLERS.get(request.method)
        if handler is None or not handler.needs(self._capabilities, request.params):
            message = f"this client does not have {request.method}"
            self._peer.refuse(request.id, METHOD_NOT_FOUND, message)
            return
        try:
            asked = handler.read(request.params)
        except msgspec.ValidationError as problem:
            self._peer.refuse(request.id, INVALID_PARAMS, f"{request.method}: {problem}")
            return
        pending = _Pending(request, asked.session_id)
        if request.method in GIVEN_UP and self._is_given_up(pending):
            self._peer.answer(request.id, GIVEN_UP[request.method])
            return
        self._pending.add(pending)
        pending.task = asyncio.create_task(self._serve(pending, handler, asked))
        self._tasks.add(pending.task)
        pending.task.add_done_callback(self._tasks.discard)

    def give_up(self, session_id: str) -> None:
        """Ask nobody any more in this session: whoever was asked need not answer, and the agent is told."""
        self.cancelling.add(session_id)
        for pending in [each for each in self._pending if self._is_given_up(each)]:
            if pending.method in GIVEN_UP and self._take(pending):
                self._peer.answer(pending.id, GIVEN_UP[pending.method])
                self._stop(pending)

    def withdraw(self, request_id: RequestId) -> None:
        """The agent does not want the answer any more."""
        for pending in [each for each in self._pending if each.id == request_id]:
            if self._take(pending):
                self._peer.refuse(pending.id, REQUEST_CANCELLED, "the request was cancelled")
                self._stop(pending)

    def stop(self) -> None:
        """The agent is gone: nobody wants answers any more, and nobody is asked."""
        self._stopped = True
        self._pending.clear()
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Stop, and wait until whoever was asked has stopped too."""
        self.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, pending: _Pending, handler: Handler, asked: Any) -> None:
        try:
            result = await handler.ask(self._client, asked)
        except ProtocolError as error:
            self._refuse(pending, error.number, error.message, error.data)
        except SeraiError as error:
            self._refuse(pending, INTERNAL_ERROR, str(error))
        except asyncio.CancelledError:
            # Who stops it has answered. Else it was not this task that was cancelled, but what it waited for.
            if pending.method in GIVEN_UP and self._take(pending):
                _log.warning("%s was given up by whoever was asked", pending.method)
                self._peer.answer(pending.id, GIVEN_UP[pending.method])
            raise
        except Exception:  # noqa: BLE001 - whatever went wrong, the agent waits for an answer
            _log.exception("%s was not answered", pending.method)
        else:
            if self._take(pending):
                self._peer.answer(pending.id, result)
        finally:
            self._refuse(pending, INTERNAL_ERROR, "internal error")  # unless it has its answer

    def _is_given_up(self, pending: _Pending) -> bool:
        """Whether it was asked in a session that is cancelled.

        Asked under an id that nobody opened, it belongs to a session with a prompt under way: all of them
        have to be cancelled.
        """
        asked_in = pending.session_id
        if asked_in is None or asked_in in self._sessions():
            return asked_in in self.cancelling
        return bool(self.prompting) and self.prompting <= self.cancelling

    def _refuse(self, pending: _Pending, code: int, message: str, data: Any = None) -> None:
        if self._take(pending):
            self._peer.refuse(pending.id, code, message, data)

    def _take(self, pending: _Pending) -> bool:
        """Whether it is still to be answered. Whoever takes it does so."""
        if pending not in self._pending:
            return False
        self._pending.discard(pending)
        self._answered(pending.session_id)
        return True

    def _stop(self, pending: _Pending) -> None:
        if pending.task is not None:
            pending.task.cancel()
