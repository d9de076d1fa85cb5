"""JSON-RPC with one agent: what is asked and answered, in the order in which it came.

No I/O here: bytes come in through `feed`, lines go out through `write`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

from serai.acp import frames
from serai.acp.frames import Answer, Malformed, Notification, Request, RequestId, SessionUpdate
from serai.acp.lines import LONGEST, Lines
from serai.acp.updates import Update

__all__ = ["Failed", "Listener", "Peer", "Then"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears what the agent says of its own accord. None of these may block."""

    updated: Callable[[str, Update, int], None]
    """A session's id, what happened in it, and how many bytes that took."""
    asked: Callable[[Request], None]
    """The agent wants an answer."""
    notified: Callable[[Notification], None]
    """Something else."""


class Failed(Exception):
    """A request was answered with an error: `error`, as the agent told it."""

    def __init__(self, error: Any) -> None:
        super().__init__(error)
        self.error = error


Then: TypeAlias = Callable[[Any, Any], None]
"""Is given the result of a request, or the error (else `None`), at the very moment at which it comes."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A request of ours that has no answer yet."""

    then: Then | None
    answered: asyncio.Future[Any] | None


class Peer:
    """One end of the conversation.

    Args:
        write: Sends a line.
        listener: Who hears the agent.
        overlong: Is called when a line is longer than any that is read. Nothing after it will be.
    """

    def __init__(
        self, write: Callable[[bytes], None], listener: Listener, overlong: Callable[[], None]
    ) -> None:
        self.noise = 0
        """How many lines were no messages."""
        self._write = write
        self._listener = listener
        self._overlong = overlong
        self._loop = asyncio.get_running_loop()
        self._lines = Lines()
        self._waiting: deque[bytes] = deque()
        self._later: asyncio.Handle | None = None
        self._held = False
        self._broken = False
        self._calls: dict[int, _Call] = {}
        self._last_id = -1

    # -- asking --------------------------------------------------------------------------------------------

    def call(self, method: str, params: Any, then: Then | None = None) -> asyncio.Future[Any]:
        """Ask for something. The future has the result, or `Failed`, or what `fail` was told.

        Args:
            method: What is asked.
            params: What about.
            then: Hears the answer before anything that follows it. What it raises is what the future has.

        Raises:
            ParseError: The parameters hold text that is not Unicode. Nothing was sent.
        """
        answered: asyncio.Future[Any] = self._loop.create_future()
        self._send(method, params, _Call(then, answered))
        return answered

    def post(self, method: str, params: Any, then: Then) -> None:
        """Ask for something whose answer only `then` hears; after `fail` it hears nothing.

        Raises:
            ParseError: The parameters hold text that is not Unicode. Nothing was sent.
        """
        self._send(method, params, _Call(then, None))

    def _send(self, method: str, params: Any, call: _Call) -> None:
        request_id = self._last_id + 1
        line = frames.request(request_id, method, params)
        self._last_id = request_id
        self._calls[request_id] = call
        self._write(line)

    def notify(self, method: str, params: Any) -> None:
        """Tell something.

        Raises:
            ParseError: The parameters hold text that is not Unicode. Nothing was sent.
        """
        self._write(frames.notification(method, params))

    def answer(self, request_id: RequestId, result: Any) -> None:
        """Answer a request of the agent."""
        self._write(frames.result(request_id, result))

    def refuse(self, request_id: RequestId, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the agent with an error."""
        self._write(frames.error(request_id, code, message, data))

    def fail(self, error: Callable[[], Exception]) -> None:
        """There will be no more answers: all who wait for one get the error."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if call.answered is not None and not call.answered.done():
                call.answered.set_exception(error())

    # -- hearing -------------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Take what the agent has written."""
        if self._broken:
            return
        lines = self._lines.feed(data)
        if lines:
            self._waiting.extend(lines)
            if self._later is None and not self._held:
                self._work()
        if self._lines.size > LONGEST:
            self._broken = True
            self._lines.rest()
            self._overlong()

    def hold(self, *, held: bool) -> None:
        """Let lines wait, or go on with them."""
        self._held = held
        if not held and self._waiting and self._later is None:
            self._later = self._loop.call_soon(self._go_on)

    def end(self) -> None:
        """Nothing more will come: take what waits, all of it, now."""
        self._held = False
        if rest := self._lines.rest():
            self._waiting.append(rest)
        while self._waiting:
            self._hear(self._waiting.popleft())

    def _go_on(self) -> None:
        self._later = None
        if not self._held:
            self._work()

    def _work(self) -> None:
        waiting = self._waiting
        while waiting:
            if self._hear(waiting.popleft()) and waiting:
                # Whoever serves the request takes its first step before the lines that follow are read.
                self._later = self._loop.call_soon(self._go_on)
                return
            if self._held:
                return

    def _hear(self, line: bytes) -> bool:
        """Take one line. Returns whether someone has to be let in before the next."""
        try:
            message = frames.read(line)
            if type(message) is SessionUpdate:
                self._listener.updated(message.session_id, message.update, len(line))
                return False
            return self._pass_on(message)
        except Exception:  # noqa: BLE001 - one message that nobody could deal with must not end all others
            _log.exception("a message of an agent was not dealt with")
            return False

    def _pass_on(self, message: frames.Message | None) -> bool:
        match message:
            case Answer():
                self._answered(message)
                return True
            case Request():
                self._listener.asked(message)
                return True
            case Malformed(request_id, problem):
                self.refuse(request_id, frames.INVALID_REQUEST, f"not a request: {problem}")
            case Notification():
                self._listener.notified(message)
            case _:
                self.noise += 1
        return False

    def _answered(self, answer: Answer) -> None:
        call = self._calls.pop(answer.id, None) if _is_number(answer.id) else None
        if call is None:
            if not answer.told:  # it has no method either, so it was meant to be a request
                request_id = answer.id if isinstance(answer.id, int | float | str) else None
                self.refuse(request_id, frames.INVALID_REQUEST, "not a request: it has no method")
            return
        answered = call.answered
        if answered is not None and answered.done():
            return  # nobody waits any more
        error: Exception | None = None if answer.error is None else Failed(answer.error)
        if call.then is not None:
            try:
                call.then(answer.result, answer.error)
            except Exception as problem:
                if answered is None:
                    raise
                error = error or problem
        if answered is None:
            return
        if error is not None:
            answered.set_exception(error)
        else:
            answered.set_result(answer.result)


def _is_number(value: Any) -> TypeGuard[int]:
    """Whether it can be an id of ours. 3.0 is one too: some agents have only one kind of number."""
    return isinstance(value, int | float) and not isinstance(value, bool)
