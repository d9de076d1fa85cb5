"""One agent's process and the conversation with it, from its start until nothing of it is left."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict

import msgspec
from msgspec import Struct

from serai import errors, jsonrpc
from serai.acp.client_side import ClientSide
from serai.acp.process.failures import Failures
from serai.acp.process.log import StderrTail
from serai.acp.process.pipes import Pipes
from serai.acp.requests import AgentRequests
from serai.acp.shapes import is_object
from serai.acp.updates import LINE, KnownUpdate, Update, read_update
from serai.contract.record import checked
from serai.jsonrpc import Answered, LineCodec, LineSplitter, Notification, Request, RequestId
from serai.jsonrpc.lines import LONGEST_LINE
from serai.machine.processes.child import Exit, uninterrupted
from serai.machine.processes.environment import inheritable, without_relative
from serai.machine.processes.processes import Processes

if TYPE_CHECKING:
    from serai.acp.session import AcpSession

_log = logging.getLogger(__name__)

EOF_GRACE = 1.0
"""Seconds that an agent has to end after its input is closed. Most need less."""
TERM_GRACE = 2.0
"""Seconds that an agent has to end after TERM."""
_LAST_WORDS = 0.5
"""Longest wait for the last output of a dead agent, in seconds: its children may hold its pipes open."""
_SHOWN = 600
"""Longest excerpt of a dead agent's log in an error message, in characters."""
_SHOWN_LINES = 5
"""The same in lines."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The command, variables and name of an agent to start."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables beside those of the host. The agent does not get the host's own secrets."""
    cwd: Path | None = None
    name: str = "agent"
    """The agent's name in messages."""
    login: tuple[str, ...] = ()
    """The command with which a person signs in to it, when it is known."""
    install: str | None = None
    """Advice on installing it, as a sentence without a full stop."""
    env_filter: Callable[[dict[str, str]], Mapping[str, str]] | None = None
    """Last step before the start: takes all variables and returns those that the agent gets."""
    auth_patterns: tuple[str, ...] = ()
    """Patterns of log lines that say that a person has to sign in: such a line ends the agent at once."""
    usage_patterns: tuple[str, ...] = ()
    """The same for an account that has nothing left to spend."""
    cumulative_tokens: bool = False
    """True if it reports the tokens of the whole session, not those of the turn that ends."""


class StartOptions(TypedDict, total=False):
    """Options for the start of an agent."""

    client: ClientSide
    """Answers the agent's requests: files, terminals, questions. The agent is sent its exact capabilities."""
    mask: Callable[[str], str]
    """Removes secrets from the agent's log and its errors."""
    on_stderr: Callable[[str], None]
    """Takes every line of the agent's log, redacted."""
    start_timeout: float
    """Seconds that the agent has to start (30); 0: no limit."""
    inactivity_timeout: float
    """Seconds of silence in a turn or before an answer (180); 0: no limit. Time in which a person is asked
    does not count."""
    cancel_timeout: float
    """Seconds that the agent has to stop (30), before it is ended."""


class AgentOptions(StartOptions, total=False):
    """Further options of `Agent`."""

    warn: Required[Callable[[str], None]]
    """Takes a sentence about something that was left out because the agent does not support it."""
    overhear: Callable[[str, bytes], None]
    """Takes every line of the conversation as it is, with `client` or `agent` for its writer."""


class _UpdateParams(Struct):
    session_id: str = msgspec.field(name="sessionId")
    update: KnownUpdate


class _UpdateFrame(Struct):
    method: Literal["session/update"]
    params: _UpdateParams
    id: Any = msgspec.UNSET


_read_update_frame = msgspec.json.Decoder(_UpdateFrame).decode
_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError, errors.ParseError)

Then: TypeAlias = Callable[[Any, Exception | None], None]
"""Takes the result of a request, or the error, at the moment at which it arrives: mostly a `ProtocolError`,
and another one when there will be no answer."""


class AgentConnection(ABC):
    """One agent's process and the conversation with it.

    The agent's updates and other notifications go to `updated` and `notified`, which must not block.
    """

    def __init__(self, launch: Launch, options: AgentOptions) -> None:
        self.launch = launch
        self.name = launch.name
        """The agent's name in messages."""
        self.mask, self.warn = options.get("mask", str), options["warn"]
        self.client = options.get("client") or ClientSide()
        self.requests = AgentRequests(self)
        self.tail = StderrTail(self.mask, self._logged)
        self.failures = Failures(launch, self.mask)
        self.is_held = False
        """True while the agent has to wait, because nobody takes its updates."""
        self.watching: asyncio.Task[None] | None = None
        """Done when the process is gone and all its output has been read."""
        self._on_stderr = options.get("on_stderr")
        self._overhear = options.get("overhear")
        self._peer = jsonrpc.Peer[Then](LineCodec(), first_id=0)
        self._lines = LineSplitter()
        self._unread: deque[bytes] = deque()
        self._later: asyncio.Handle | None = None
        self._heard_at = float("-inf")
        self._urgent = 0
        self._full: set[str] = set()
        self._ended = False
        self._reason: Callable[[], errors.AgentError] | None = None
        self._broken = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    # -- for `Agent` ---------------------------------------------------------------------------------------

    @abstractmethod
    def updated(self, session_id: str, update: Update, size: int) -> None:
        """Take an update of a session, which was a line of `size` bytes."""

    @abstractmethod
    def notified(self, message: Notification) -> None:
        """Take any other notification of the agent."""

    @abstractmethod
    def over(self) -> None:
        """Clean up: the process is gone and all its output has been read. Called once."""

    @abstractmethod
    def session_of(self, session_id: str | None) -> AcpSession | None:
        """Return the open session that a request means."""

    # -- the process ---------------------------------------------------------------------------------------

    async def start_process(self, processes: Processes) -> None:
        """Start the process. When this is cancelled, a process that has already started is ended.

        Raises:
            AgentNotInstalled: The program is not there.
            AgentNotStarted: It is, but does not start.
        """

        async def undo(_: None) -> None:
            await self.end_process()

        try:
            await uninterrupted(self._start_process(processes), undo)
        except errors.ProcessNotStarted as error:
            launch = self.launch
            missing = isinstance(error.__cause__, FileNotFoundError) and (
                launch.cwd is None or launch.cwd.is_dir()
            )
            kind = errors.AgentNotInstalled if missing else errors.AgentNotStarted
            remedy = (launch.install if missing else None) or error.remedy
            raise kind(error.message, agent=launch.name, remedy=remedy) from None

    async def _start_process(self, processes: Processes) -> None:
        launch = self.launch
        environ = {**without_relative(inheritable(os.environ)), **launch.env}
        self.child = await processes.start(
            launch.argv,
            what=f"the agent {launch.name}",
            cwd=launch.cwd,
            environ=environ if launch.env_filter is None else launch.env_filter(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._pipes = await Pipes.connect(self.child, output=self.feed, log=self.tail.feed)
        self.watching = asyncio.create_task(self._watch())

    @property
    def exit(self) -> Exit | None:
        """The end of the process; `None` while it runs, and when it never ran."""
        return self.child.exit if self.watching is not None else None

    @property
    def is_running(self) -> bool:
        """True while the agent can be asked something."""
        return not self._ended and self._reason is None

    @property
    def stderr_tail(self) -> str:
        """The last lines of the agent's log, redacted."""
        return str(self.tail)

    def check(self) -> None:
        """Raise the reason, mostly an `AgentClosed`, if the agent can no longer be asked anything."""
        if not self.is_running:
            raise self.reason()

    def reason(self) -> errors.AgentError:
        """Return a new error that says why the agent can no longer be asked anything."""
        if self._reason is not None:
            return self._reason()
        return self.closed(f"is gone: {self.child.exit or 'ended'}")

    def closed(self, what: str) -> errors.AgentClosed:
        """Return an error that says what happened to the process and what it wrote last."""
        ending = self.child.exit
        tail = self.stderr_tail
        last = " / ".join(line.strip() for line in tail.splitlines()[-_SHOWN_LINES:])[-_SHOWN:]
        words = f". It printed: {last}" if last else ""
        return errors.AgentClosed(
            f"the agent {self.name!r} {what}{words}",
            agent=self.name,
            exit_code=ending.code if ending else None,
            signal=ending.signal if ending else None,
            stderr_tail=tail,
        )

    def break_off(self, reason: Callable[[], errors.AgentError]) -> None:
        """End the process because it misbehaves. Everyone who waits for an answer gets the reason."""
        if self.is_running:
            self._reason = reason
            self._broken.set()

    def end_process(self) -> asyncio.Task[None]:
        """Begin to end the process and all that it started. The task is done when nothing of it is left."""
        if self._closing is None:
            if self.is_running:
                what = "was closed" if self.child.exit is None else f"is gone: {self.child.exit}"
                self._reason = lambda: self.closed(what)
            self._closing = asyncio.create_task(self._end_process())
        return self._closing

    async def _end_process(self) -> None:
        if self.watching is None:
            return
        if not self._ended:
            self._fail_calls()
            self._release()
            await self._pipes.close_input()
            await self.child.end(eof=EOF_GRACE, grace=TERM_GRACE)
        await self.watching
        await self.child.gone()

    async def _watch(self) -> None:
        """Wait for the end, however it comes, and leave nothing open."""
        exited = asyncio.create_task(self.child.wait())
        broken = asyncio.create_task(self._broken.wait())
        output = self._pipes.output_ended
        await asyncio.wait(
            {exited, broken, output, self._pipes.input_ended}, return_when=asyncio.FIRST_COMPLETED
        )
        self._release()
        if not exited.done() and not broken.done():
            # The agent has closed one of its pipes, or we have. Mostly it ends then; if not, it is of no use.
            await asyncio.wait({exited}, timeout=EOF_GRACE)
        if not exited.done():
            if self.is_running:
                self._reason = lambda: self.closed("hears or says nothing any more and was ended")
            await self._pipes.close_input()
            await self.child.end(grace=TERM_GRACE)
        await asyncio.wait({output}, timeout=_LAST_WORDS)
        await asyncio.wait({self._pipes.log_ended}, timeout=_LAST_WORDS)
        for task in (exited, broken):
            task.cancel()
        await asyncio.gather(exited, broken, return_exceptions=True)
        await self._pipes.close()
        if rest := self._lines.rest():
            self._unread.append(rest)
        while self._unread:
            self._hear(self._unread.popleft())
        self.tail.close()
        self._ended = True
        self._fail_calls()
        self.over()

    def _logged(self, line: str) -> None:
        if self._on_stderr is not None:
            self._on_stderr(line)

        def matches(patterns: tuple[str, ...]) -> bool:
            return any(re.search(pattern, line, re.IGNORECASE) for pattern in patterns)

        if matches(self.launch.usage_patterns):
            self.break_off(lambda: self.failures.usage_limit(line))
        elif matches(self.launch.auth_patterns):
            self.break_off(lambda: self.failures.auth_required(line))

    # -- messages to the agent -----------------------------------------------------------------------------

    async def call(
        self,
        method: str,
        params: Any,
        *,
        then: Callable[[Any], None] | None = None,
        limit: float | None = None,
    ) -> Any:
        """Send a request and wait for the answer. Cancelling it stops the waiting.

        Args:
            method: The method.
            params: Its parameters.
            then: Takes the result before anything that follows it is read. What it raises is raised here.
            limit: Longest silence before the answer, in seconds. Time in which the agent itself waits does
                not count.

        Raises:
            ParseError: The parameters hold text that is not Unicode. Nothing was sent.
            AgentError: The agent answered with an error, not in time, or is gone.
        """
        self.check()
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def settle(result: Any, error: Exception | None) -> None:
            if answered.done():
                return  # nobody waits any more
            try:
                if then is not None and error is None:
                    then(result)
            except Exception as problem:  # noqa: BLE001 - the caller gets it
                error = problem
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(result)

        self.post(method, params, settle)
        self._urgent += 1
        self._let_flow()
        try:
            patience = limit
            while not (await asyncio.wait({answered}, timeout=patience))[0] and limit is not None:
                if (silence := self.silence()) >= limit:
                    what = f"the agent {self.name!r} did not answer {method} in {limit:g} s"
                    raise errors.AgentInactive(what, agent=self.name, elapsed=limit)
                patience = limit - silence
            return answered.result()
        except errors.ProtocolError as error:
            raise self.failures.error_for(method, error) from None
        finally:
            answered.cancel()  # nobody waits any more
            self._urgent -= 1
            self._let_flow()

    def post(self, method: str, params: Any, then: Then) -> None:
        """Send a request. Only `then` hears the answer."""
        self._write(self._peer.request(method, params, then)[1])

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._write(self._peer.notify(method, params))

    def answer(self, request_id: RequestId, result: Any) -> None:
        """Answer a request of the agent."""
        self._write(self._peer.answer(request_id, result))

    def refuse(self, request_id: RequestId, error: errors.SeraiError) -> None:
        """Answer a request of the agent with an error."""
        self._write(self._peer.refuse(error, request_id))

    def _write(self, line: bytes) -> None:
        if self._overhear is not None:
            self._overhear("client", line.rstrip(b"\n"))
        self._pipes.write(line)

    def _fail_calls(self) -> None:
        """Give the reason to everyone who waits for an answer: there will be none."""
        for then in self._peer.forget_all():
            then(None, self.reason())

    # -- messages of the agent -----------------------------------------------------------------------------

    def heard(self) -> None:
        """Note a sign of life of the agent, or an answer to it: its time-outs start again."""
        self._heard_at = time.monotonic()

    def silence(self) -> float:
        """Return for how many seconds nothing was heard of the agent: 0 while it has to wait itself."""
        if self.is_held or self.requests.is_waited_for:
            self.heard()
        return time.monotonic() - self._heard_at

    def feed(self, data: bytes) -> None:
        """Take what the agent has written to its output."""
        lines = self._lines.feed(data)
        if self._overhear is not None:
            for line in lines:
                self._overhear("agent", line)
        if lines:
            self._unread.extend(lines)
            if self._later is None:
                self._work()
        if self._lines.size > LONGEST_LINE:
            self._lines.rest()
            what = f"the agent {self.name!r} wrote a line of more than {LONGEST_LINE >> 20} MiB and was ended"
            self.break_off(lambda: errors.LineTooLong(what, agent=self.name))

    def _work(self) -> None:
        self._later, unread = None, self._unread
        while unread:
            if self._hear(unread.popleft()) and unread:
                # Whoever serves the request takes its first step before the lines that follow are read.
                self._later = asyncio.get_running_loop().call_soon(self._work)
                return

    def _hear(self, line: bytes) -> bool:
        """Take one line. Return whether its reader has to take a step before the next one is read.

        Most lines are updates of a session: those are read in one pass, straight into their types.
        """
        try:
            try:
                frame = _read_update_frame(checked(line))
            except _UNREADABLE:
                return self._hear_other(line)  # an update of an unknown kind, or no update
            if frame.id is not msgspec.UNSET:
                return self._hear_other(line)
            update = frame.params.update
            vars(update)[LINE] = line
            self.updated(frame.params.session_id, update, len(line))
        except Exception:  # noqa: BLE001 - one message that fails must not end all others
            _log.exception("a message of an agent was not dealt with")
        return False

    def _hear_other(self, line: bytes) -> bool:
        match self._peer.receive(line):
            case Answered(then, result, error):
                then(result, error)
                return True
            case Request() as request:
                self.heard()
                self.requests.serve(request)
                return True
            case errors.ProtocolError() as error:
                self._write(self._peer.refuse(error))
            case Notification(method="session/update", params={"sessionId": str(name), "update": sent}) if (
                is_object(sent)
            ):
                self.updated(name, read_update(dict(sent)), len(line))
            case Notification() as notification:
                self.notified(notification)
            case None:
                self.tail.add(line)
            case _:
                pass  # an answer that nobody waits for
        return False

    # -- back-pressure -------------------------------------------------------------------------------------

    def fill(self, session_id: str, *, full: bool) -> None:
        """Note that too many updates of a session wait to be taken, or no longer. The agent has to wait."""
        (self._full.add if full else self._full.discard)(session_id)
        self._let_flow()

    def _let_flow(self) -> None:
        """Read on or pause. A caller must get its answer, also behind updates that nobody takes."""
        held = bool(self._full) and not self._urgent and not self._ended and self._reason is None
        if held is not self.is_held:
            self.is_held = held
            self._pipes.hold(held=held)

    def _release(self) -> None:
        """Read all that is left."""
        self._urgent += 1
        self._let_flow()
