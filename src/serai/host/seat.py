"""An agent's place in its session: what it sees there and may do, beside its turns."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from serai.ahp import actions as a
from serai.ahp.commands import SessionForkSource
from serai.ahp.types import AgentSelection, ModelSelection, PendingMessage, SessionInputResponseKind, Turn
from serai.completions.names import Prompt
from serai.contract import AgentSession
from serai.errors import SessionGone
from serai.host.blobs import BLOB_SCHEME
from serai.host.session.core import SessionCore, SessionView
from serai.host.session.questions import Questions
from serai.host.session.turns import Turns
from serai.host.turn import ReadsFiles
from serai.machine.files import FileThreads, Roots
from serai.machine.processes.environment import inheritable, without_relative
from serai.machine.processes.processes import Processes
from serai.redact.managed import managed_from_environment
from serai.store.contract import RelayWrite


def agent_channel(session: str) -> str:
    """Where an agent's own records about its session stand."""
    return f"serai-agent:{session}"


class RelayAccess(NamedTuple):
    """Where an agent finds the relay's tools over MCP, and the token that says who it is."""

    url: str
    """`http://…/mcp`."""
    token: str

    def __repr__(self) -> str:
        return f"RelayAccess({self.url!r})"  # a token does not belong into a log


class Seat(SessionView):
    """What a harness has from the host for one session. All it changes are actions, as everywhere."""

    def __init__(
        self,
        core: SessionCore,
        turns: Turns,
        questions: Questions,
        *,
        processes: Processes,
        read: ReadsFiles,
        roots: Callable[[], Awaitable[Roots]],
        file_threads: FileThreads,
        fork: Callable[[SessionForkSource], Awaitable[AgentSession]],
        relay_access: Callable[[], Awaitable[RelayAccess | None]],
    ) -> None:
        super().__init__(core)
        self._turns = turns
        self._questions = questions
        self._fork = fork
        self.processes = processes
        """Where processes are started."""
        self.read = read
        """Reads a file, or some of its lines: below the session's folders, or what a person has allowed."""
        self.roots = roots
        """Tells below which folders the agent has files: the session's, and what a person has allowed. Never
        what is the host's own."""
        self.file_threads = file_threads
        """Where files are read and written."""
        self.relay_access = relay_access
        """Tells how the agent reaches the relay's tools, once they can be reached; `None` without a relay."""
        self.now = core.now
        """The clock, in milliseconds since 1970."""
        self.note = core.note
        """Lets the session's `_meta` have something, or (`None`) no longer."""
        self.queue = turns.enqueue
        """Has a message wait as the next one. After a turn that was interrupted, someone has to go on."""
        self.ask = questions.ask
        """Asks the person something, in a turn or not. Cancelling takes the question back."""
        self.mask = core.redactor.redact
        """Returns text without secrets."""
        self.manage_secret = core.redactor.register
        """Has a value masked wherever it appears, from now on; its label comes first."""
        self.forked_from: SessionForkSource | None = None
        """Where the session began, when it is new and began in another one."""
        self.commands: Sequence[Prompt] = ()
        """The agent's own commands, which are offered to who types `/`."""

    @property
    def known_settings(self) -> frozenset[str]:
        """The names of all settings that the session can have."""
        config = self._core.live.head.config
        return frozenset(config.schema.properties) if config is not None else frozenset()

    @property
    def custom_agent(self) -> AgentSelection | None:
        """The custom agent that is chosen."""
        return self._core.live.head.summary.agent

    @property
    def title(self) -> str:
        """The session's title."""
        return self._core.live.head.summary.title

    @property
    def turns(self) -> list[Turn]:
        """The turns that have ended. They are only to be looked at."""
        return self._core.live.head.turns

    @property
    def steering(self) -> PendingMessage | None:
        """The message that someone wants to reach the agent in the turn that runs."""
        return self._core.live.head.steering_message

    def masked(self, value: Any, *, observed: bool = True) -> Any:
        """JSON without secrets; what is not `observed` keeps what only looks like one."""
        return self._core.redactor.redact_value(value, observed=observed)

    def noted(self, name: str) -> Any:
        """What the session's `_meta` has under a name."""
        return (self._core.live.head.meta or {}).get(name)

    def environment(self) -> dict[str, str]:
        """The host's environment, for programs that the agent starts: without any secret that is known."""
        secret = managed_from_environment(os.environ).keys() | {
            name
            for name, value in os.environ.items()
            if self._core.redactor.redact(value, observed=False) != value
        }
        return without_relative(inheritable(os.environ, secret))

    def entitle(self, title: str) -> None:
        """Give the session a title."""
        if title and title != self.title:
            self._core.act(a.SessionTitleChangedAction(title=title))

    def configure(self, values: Mapping[str, Any], gone: Collection[str] = ()) -> None:
        """Tell what settings really are, and which have no value any more.

        Those that the session does not have are left out.
        """
        now = self.settings
        news = {
            name: value
            for name, value in values.items()
            if name in self.known_settings and not (name in now and now[name] == value)
        }
        if any(name in now for name in gone):
            kept = {name: value for name, value in {**now, **news}.items() if name not in gone}
            self._core.act(a.SessionConfigChangedAction(config=kept, replace=True))
        elif news:
            self._core.act(a.SessionConfigChangedAction(config=news))

    def choose_model(self, model: ModelSelection) -> None:
        """Tell which model it really is."""
        if model != self.model:
            self._core.act(a.SessionModelChangedAction(model=model))

    def take_steering(self, message: PendingMessage, evidence: str) -> None:
        """The agent has a steering message, also when its turn is over. One that was replaced is not there.

        The receipt has the `evidence`: how that is known.
        """
        if self.steering is message:
            self._turns.take_steering(message, evidence)

    def queue_steering(self, message: PendingMessage, sender: str) -> None:
        """A steering message does not reach the agent in its turn: if it still waits, it is the next one."""
        if self.steering is message:
            self._turns.queue_steering(message, sender)

    def answered(self, request_id: str) -> None:
        """A question was answered elsewhere, and well."""
        self._questions.conclude(request_id, SessionInputResponseKind.ACCEPT.value)

    async def fork(self) -> AgentSession:
        """Begin a session that goes on from here, and return its agent.

        Raises:
            SessionGone: There is no turn yet to go on from.
            SessionFailed: Its agent did not start.
        """
        uri = self._core.uri
        if not self.turns:
            raise SessionGone(f"{uri} has no turn yet that another session could go on from")
        return await self._fork(SessionForkSource(session=uri, turn_id=self.turns[-1].id))

    def record(self, record: Mapping[str, Any], writes: Sequence[RelayWrite] = ()) -> None:
        """Write something down that only the harness needs; `writes` change its tables with it."""
        data = msgspec.json.encode(record)
        self._core.journal.record(agent_channel(self._core.uri), data, writes=writes)

    async def kept(self) -> None:
        """Wait until all that was done and written down here is on the disk."""
        await self._core.journal.committed()

    async def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a named query of the harness's tables."""
        await self._core.journal.committed()
        return await self._core.journal.store.relay(query, *values)

    async def blob(self, uri: str) -> bytes | None:
        """What was kept under a URI; `None` when there is nothing."""
        await self._core.journal.committed()
        found = await self._core.journal.store.blob(uri.removeprefix(BLOB_SCHEME))
        return found.data if found is not None else None

    async def records(self, session: str | None = None) -> list[dict[str, Any]]:
        """What was written down, oldest first; of this session or of another one."""
        await self._core.journal.committed()
        rows = await self._core.journal.store.rows(agent_channel(session or self._core.uri), 0)
        return [msgspec.json.decode(row.action) for row in rows]
