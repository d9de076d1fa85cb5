"""The conversation with one agent: what is asked and answered, in the order in which it came.

No I/O here: bytes come in through `feed`, lines go out through `write`. Most lines are updates of a session:
those are read in one pass, straight into their types. The rest is for `serai.jsonrpc`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from serai import jsonrpc
from serai.acp.shapes import is_object
from serai.acp.updates import LINE, KnownUpdate, Update, read_update
from serai.contract.record import checked
from serai.errors import ParseError, ProtocolError
from serai.jsonrpc import Answered, LineCodec, LineSplitter, Notification, Request, RequestId
from serai.jsonrpc.lines import LONGEST_LINE

_log = logging.getLogger(__name__)


class _UpdateParams(Struct):
    session_id: str = field(name="sessionId")
    update: KnownUpdate


class _UpdateFrame(Struct):
    method: Literal["session/update"]
    params: _UpdateParams
    id: Any = msgspec.UNSET


_read_update_frame = msgspec.json.Decoder(_UpdateFrame).decode
_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError, ParseError)


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears what the agent says of its own accord. None of these may block."""

    updated: Callable[[str, Update, int], None]
    """A session's id, what happened in it, and how many bytes that took."""
    asked: Callable[[Request], None]
    """The agent wants an answer."""
    notified: Callable[[Notification], None]
    """Something else."""
    noise: Callable[[bytes], None] = lambda _: None
    """A line that is no message: a log line, a banner."""


Then: TypeAlias = Callable[[Any, Exception | None], None]
"""Is given the result of a request, or the error, at the very moment at which it comes: mostly a
`ProtocolError`, and another one when there will be no answer."""


class AgentPeer:
    """One end of the conversation.

    Args:
        write: Sends a line.
        listener: Who hears the agent.
        overlong: Is called when a line is longer than any that is read. Nothing after it will be.
        overhear: Is told every line of the conversation as it is, with `client` or `agent` for who wrote it.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        listener: Listener,
        overlong: Callable[[], None],
        overhear: Callable[[str, bytes], None] | None = None,
    ) -> None:
        self._send = write
        self._listener = listener
        self._overlong = overlong
        self._overhear = overhear
        self._peer = jsonrpc.Peer[Then](LineCodec(), first_id=0)
        self._lines = LineSplitter()
        self._waiting: deque[bytes] = deque()
        self._later: asyncio.Handle | None = None
        self._broken = False

    def _write(self, line: bytes) -> None:
        if self._overhear is not None:
            self._overhear("client", line.rstrip(b"\n"))
        self._send(line)

    def call(self, method: str, params: Any, then: Then | None = None) -> asyncio.Future[Any]:
        """Ask for something. The future has the result, or the agent's error as a `ProtocolError`.

        Args:
            method: What is asked.
            params: What about.
            then: Hears the answer before anything that follows it. What it raises is what the future has.

        Raises:
            ParseError: The parameters hold text that is not Unicode. Nothing was sent.
        """
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def settle(result: Any, error: Exception | None) -> None:
            if answered.done():
                return  # nobody waits any more
            try:
                if then is not None:
                    then(result, error)
            except Exception as problem:  # noqa: BLE001 - whoever asked is told
                error = error or problem
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(result)

        self.post(method, params, settle)
        return answered

    def post(self, method: str, params: Any, then: Then) -> None:
        """As `call`, but only `then` hears the answer."""
        self._write(self._peer.request(method, params, then)[1])

    def notify(self, method: str, params: Any) -> None:
        """Tell something."""
        self._write(self._peer.notify(method, params))

    def answer(self, request_id: RequestId, result: Any) -> None:
        """Answer a request of the agent."""
        self._write(self._peer.answer(request_id, result))

    def refuse(self, request_id: RequestId, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the agent with an error."""
        self._write(self._peer.refuse(ProtocolError(message, id=request_id, number=code, data=data)))

    def fail(self, error: Callable[[], Exception]) -> None:
        """There will be no more answers: all who wait for one get the error."""
        for then in self._peer.forget_all():
            then(None, error())

    def feed(self, data: bytes) -> None:
        """Take what the agent has written."""
        if self._broken:
            return
        lines = self._lines.feed(data)
        if self._overhear is not None:
            for line in lines:
                self._overhear("agent", line)
        if lines:
            self._waiting.extend(lines)
            if self._later is None:
                self._work()
        if self._lines.size > LONGEST_LINE:
            self._broken = True
            self._lines.rest()
            self._overlong()

    def end(self) -> None:
        """Nothing more will come: take what waits, all of it, now."""
        if rest := self._lines.rest():
            self._waiting.append(rest)
        while self._waiting:
            self._hear(self._waiting.popleft())

    def _work(self) -> None:
        self._later, waiting = None, self._waiting
        while waiting:
            if self._hear(waiting.popleft()) and waiting:
                # Whoever serves the request takes its first step before the lines that follow are read.
                self._later = asyncio.get_running_loop().call_soon(self._work)
                return

    def _hear(self, line: bytes) -> bool:
        """Take one line. Returns whether someone has to be let in before the next."""
        try:
            try:
                frame = _read_update_frame(checked(line))
            except _UNREADABLE:
                return self._hear_other(line)  # an update of a kind that is not known, or none at all
            if frame.id is not msgspec.UNSET:
                return self._hear_other(line)
            update = frame.params.update
            vars(update)[LINE] = line
            self._listener.updated(frame.params.session_id, update, len(line))
        except Exception:  # noqa: BLE001 - one message that nobody could deal with must not end all others
            _log.exception("a message of an agent was not dealt with")
        return False

    def _hear_other(self, line: bytes) -> bool:
        match self._peer.receive(line):
            case Answered(then, result, error):
                then(result, error)
                return True
            case Request() as request:
                self._listener.asked(request)
                return True
            case ProtocolError() as error:
                self._write(self._peer.refuse(error))
            case Notification(method="session/update", params={"sessionId": str(name), "update": told}) if (
                is_object(told)
            ):
                self._listener.updated(name, read_update(dict(told)), len(line))
            case Notification() as notification:
                self._listener.notified(notification)
            case None:
                self._listener.noise(line)
            case _:
                pass  # an answer that nobody waits for
        return False
