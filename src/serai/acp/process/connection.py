"""One agent's process and the conversation with it, from its start until nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Required, TypedDict

from serai import errors
from serai.acp.client_side import ClientSide
from serai.acp.process.failures import Failures
from serai.acp.process.log import StderrTail
from serai.acp.process.peer import AgentPeer, Listener, Then
from serai.acp.process.pipes import Pipes
from serai.jsonrpc.lines import LONGEST_LINE
from serai.machine.processes.child import Exit, uninterrupted
from serai.machine.processes.environment import inheritable, without_relative
from serai.machine.processes.processes import Processes

EOF_GRACE = 1.0
"""How long an agent may take to end because its input is closed, in seconds. Most do within that."""
TERM_GRACE = 2.0
"""How long it may take after that to end because it got TERM."""
_LAST_WORDS = 0.5
"""How long the end of what a dead agent wrote may take to arrive: its children may hold its pipes open."""
_SHOWN = 600
"""How much of what a dead agent printed stands in a message, in characters."""
_SHOWN_LINES = 5
"""The same in lines."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How an agent is started."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables beside those of the host, whose own secrets an agent does not get."""
    cwd: Path | None = None
    name: str = "agent"
    """What people call it."""
    login: tuple[str, ...] = ()
    """The command with which a person signs in to it, when it is known."""
    install: str | None = None
    """What to do when it is not there, as a sentence without a full stop."""
    env_filter: Callable[[dict[str, str]], Mapping[str, str]] | None = None
    """Is given all variables at last, and says which it is started with."""
    auth_patterns: tuple[str, ...] = ()
    """Lines of its log with one of these say that a person has to sign in: then it is ended at once."""
    usage_patterns: tuple[str, ...] = ()
    """The same for an account that has nothing left to spend."""
    cumulative_tokens: bool = False
    """Whether it tells the tokens of the session so far, and not those of the turn that ends."""


class AgentOptions(TypedDict, total=False):
    """What is said when an agent is started. Of the times, `None`, 0 or less is for ever."""

    client: Required[ClientSide]
    """Who answers what the agent asks."""
    mask: Required[Callable[[str], str]]
    """Takes secrets out of text: of the agent's log and its errors."""
    warn: Required[Callable[[str], None]]
    """Is told, in a sentence, what was left out because the agent cannot take it."""
    start_timeout: float | None
    """How long it may take to answer, in seconds."""
    inactivity_timeout: float | None
    """How long it may be silent during a prompt or before an answer, but for when a person is asked."""
    cancel_timeout: float
    """How long it may take to stop when a prompt is cancelled, before it is ended."""
    on_stderr: Callable[[str], None] | None
    """Is told every line of its log, redacted."""
    overhear: Callable[[str, bytes], None] | None
    """Is told every line of the conversation as it is, with `client` or `agent` for who wrote it."""


class Connection:
    """The process, its pipes, and the conversation.

    Args:
        launch: How it is started.
        listener: Who hears it.
        options: What else was said.
        excused: Whether the agent waits for an answer itself, and need not give one.
        over: Is called once, when the process is gone and all that it said has been heard.
    """

    def __init__(
        self,
        launch: Launch,
        listener: Listener,
        options: AgentOptions,
        *,
        excused: Callable[[], bool],
        over: Callable[[], None],
    ) -> None:
        self.name = launch.name
        self._on_stderr = options.get("on_stderr")
        self.tail = StderrTail(options["mask"], self._logged)
        self.failures = Failures(launch, options["mask"])
        listener = replace(listener, noise=self.tail.add)
        self.peer = AgentPeer(self._write, listener, self._line_too_long, options.get("overhear"))
        self.is_held = False
        """Whether the agent has to wait, since someone does not take its updates."""
        self._launch = launch
        self._excused = excused
        self._over = over
        self._heard_at = float("-inf")
        self._urgent = 0
        self._full: set[str] = set()
        self._ended = False
        self._reason: Callable[[], errors.AgentError] | None = None
        self._broken = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None
        self.watching: asyncio.Task[None] | None = None
        """Is done when the process is gone and all that it said has been heard."""

    async def open(self, processes: Processes) -> None:
        """Start the process. When this is cancelled, one that has started all the same is ended.

        Raises:
            AgentNotInstalled: The program is not there.
            AgentNotStarted: It is, but does not start.
        """

        async def undo(_: None) -> None:
            await self.close()

        try:
            await uninterrupted(self._open(processes), undo)
        except errors.ProcessNotStarted as error:
            launch = self._launch
            missing = isinstance(error.__cause__, FileNotFoundError) and (
                launch.cwd is None or launch.cwd.is_dir()
            )
            kind = errors.AgentNotInstalled if missing else errors.AgentNotStarted
            remedy = (launch.install if missing else None) or error.remedy
            raise kind(error.message, agent=launch.name, remedy=remedy) from None

    async def _open(self, processes: Processes) -> None:
        launch = self._launch
        self.child = await processes.start(
            launch.argv,
            what=f"the agent {launch.name}",
            cwd=launch.cwd,
            environ=_environ(launch),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._pipes = await Pipes.connect(self.child, output=self.peer.feed, log=self.tail.feed)
        self.watching = asyncio.create_task(self._watch())

    # -- the process ---------------------------------------------------------------------------------------

    @property
    def exit(self) -> Exit | None:
        """How the process ended; `None` while it runs, and when it was never there."""
        return self.child.exit if self.watching is not None else None

    @property
    def is_running(self) -> bool:
        """Whether anything can be asked."""
        return not self._ended and self._reason is None

    def check(self) -> None:
        """Raise the reason when nothing can be asked any more, mostly an `AgentClosed`."""
        if not self.is_running:
            raise self.reason()

    def reason(self) -> errors.AgentError:
        """Why nothing can be asked any more, as a new error."""
        if self._reason is not None:
            return self._reason()
        return self.closed(f"is gone: {self.child.exit or 'ended'}")

    def closed(self, what: str) -> errors.AgentClosed:
        """An error that tells what happened to the process, and what it wrote last."""
        how = self.child.exit
        tail = str(self.tail)
        last = " / ".join(line.strip() for line in tail.splitlines()[-_SHOWN_LINES:])[-_SHOWN:]
        words = f". It printed: {last}" if last else ""
        return errors.AgentClosed(
            f"the agent {self.name!r} {what}{words}",
            agent=self.name,
            exit_code=how.code if how else None,
            signal=how.signal if how else None,
            stderr_tail=tail,
        )

    def break_off(self, reason: Callable[[], errors.AgentError]) -> None:
        """End the process, since it does not behave. All who wait get the reason."""
        if self.is_running:
            self._reason = reason
            self._broken.set()

    def close(self) -> asyncio.Task[None]:
        """Begin to end the process and all that it started. The task is done when nothing of it is left."""
        if self._closing is None:
            if self.is_running:
                what = "was closed" if self.child.exit is None else f"is gone: {self.child.exit}"
                self._reason = lambda: self.closed(what)
            self._closing = asyncio.create_task(self._close())
        return self._closing

    async def _close(self) -> None:
        if self.watching is None:
            return
        if not self._ended:
            self.peer.fail(self.reason)
            self._release()
            await self._pipes.close_input()
            await self.child.end(eof=EOF_GRACE, grace=TERM_GRACE)
        await self.watching
        await self.child.gone()

    async def _watch(self) -> None:
        """Wait for the end, whichever way it comes, and leave nothing open."""
        exited = asyncio.create_task(self.child.wait())
        broken = asyncio.create_task(self._broken.wait())
        output = self._pipes.output_ended
        await asyncio.wait(
            {exited, broken, output, self._pipes.input_ended}, return_when=asyncio.FIRST_COMPLETED
        )
        self._release()
        if not exited.done() and not broken.done():
            # It has closed one of its pipes, or we have. Mostly its end follows; if not, it is of no use.
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
        self.peer.end()
        self.tail.close()
        self._ended = True
        self.peer.fail(self.reason)
        self._over()

    def _line_too_long(self) -> None:
        what = f"the agent {self.name!r} wrote a line of more than {LONGEST_LINE >> 20} MiB and was ended"
        self.break_off(lambda: errors.LineTooLong(what, agent=self.name))

    # -- the conversation ----------------------------------------------------------------------------------

    async def call(
        self, method: str, params: Any, *, then: Then | None = None, limit: float | None = None
    ) -> Any:
        """Ask for something and wait for the answer. Cancelling it stops the waiting.

        Args:
            method: What is asked.
            params: What about.
            then: Hears the answer before anything that follows it.
            limit: How long it may take, in seconds, without the time in which the agent waits itself.

        Raises:
            AgentError: The agent answered with an error, not in time, or is gone.
        """
        self.check()
        answered = self.peer.call(method, params, then)
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
            raise self.failures.of(method, error) from None
        finally:
            answered.cancel()  # nobody waits any more
            self._urgent -= 1
            self._let_flow()

    def heard(self) -> None:
        """The agent does something, or was answered: it has as long as ever for what it was asked."""
        self._heard_at = time.monotonic()

    def silence(self) -> float:
        """For how long nothing was heard of the agent, in seconds: none while it has to wait itself."""
        if self.is_held or self._excused():
            self.heard()
        return time.monotonic() - self._heard_at

    def _write(self, line: bytes) -> None:
        self._pipes.write(line)

    def _logged(self, line: str) -> None:
        if self._on_stderr is not None:
            self._on_stderr(line)

        def tells(patterns: tuple[str, ...]) -> bool:
            return any(re.search(pattern, line, re.IGNORECASE) for pattern in patterns)

        if tells(self._launch.usage_patterns):
            self.break_off(lambda: self.failures.usage_limit(line))
        elif tells(self._launch.auth_patterns):
            self.break_off(lambda: self.failures.auth_required(line))

    def fill(self, session_id: str, *, full: bool) -> None:
        """Too much of a session waits to be taken, or no longer. Meanwhile the agent has to wait."""
        (self._full.add if full else self._full.discard)(session_id)
        self._let_flow()

    def _let_flow(self) -> None:
        """Read on or not. Whoever waits for an answer must get it, also behind updates that nobody takes."""
        held = bool(self._full) and not self._urgent and not self._ended and self._reason is None
        if held is not self.is_held:
            self.is_held = held
            self._pipes.hold(held=held)

    def _release(self) -> None:
        """Read all that is left."""
        self._urgent += 1
        self._let_flow()


def _environ(launch: Launch) -> Mapping[str, str]:
    environ = {**without_relative(inheritable(os.environ)), **launch.env}
    return environ if launch.env_filter is None else launch.env_filter(environ)
