"""An agent's seat in its session: all that it sees there and may do outside of its turns."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from serai.ahp import actions as a
from serai.ahp.commands import SessionForkSource
from serai.ahp.types import AgentSelection, ModelSelection, PendingMessage, SessionInputResponseKind, Turn
from serai.completions.names import Prompt
from serai.contract import AgentSession
from serai.errors import SessionGone
from serai.host.blobs import BLOB_SCHEME
from serai.host.session.core import SessionCore, SessionView
from serai.host.session.turns import Turns
from serai.host.surroundings.files import Files
from serai.machine.processes.environment import inheritable, without_relative
from serai.machine.processes.processes import Processes
from serai.redact.managed import managed_from_environment
from serai.store.contract import RelayWrite


def agent_channel(session: str) -> str:
    """Return the channel of an agent's own records about its session."""
    return f"serai-agent:{session}"


class Seat(SessionView):
    """All that a harness has from the host for one session. Its changes are actions, as everywhere."""

    def __init__(self, core: SessionCore, turns: Turns, files: Files, processes: Processes) -> None:
        super().__init__(core)
        self._turns = turns
        self._questions = turns.questions
        self.processes = processes
        """The host's processes: starts programs."""
        self.roots = partial(files.for_session, core)
        """Returns the folders below which the agent has files: the session's, and what a person has allowed.
        The host's own files are never among them."""
        self.file_threads = files.threads
        """The threads that read and write files."""
        self.relay_access = core.relay_access
        """Returns how the agent reaches the relay's tools. See `SessionCore.relay_access`."""
        self.now = core.now
        """The clock, in milliseconds since 1970."""
        self.note = core.note
        """Sets a value in the session's `_meta`, or (`None`) removes it."""
        self.noted = core.noted
        """Returns a value of the session's `_meta`."""
        self.queue = turns.enqueue
        """Queues a message as the next one. After an interrupted turn, someone has to continue."""
        self.ask = self._questions.ask
        """Asks the person something, in a turn or not. Cancelling takes the question back."""
        self.mask = core.redactor.redact
        """Returns text without secrets."""
        self.manage_secret = core.redactor.register
        """Masks a value wherever it appears, from now on; its label comes first."""
        self.forked_from: SessionForkSource | None = None
        """The turn that the session was forked from, while it is new."""
        self.commands: Sequence[Prompt] = ()
        """The agent's own commands, which are offered behind a `/`."""

    @property
    def custom_agent(self) -> AgentSelection | None:
        """The chosen custom agent."""
        return self._core.live.head.summary.agent

    @property
    def title(self) -> str:
        """The session's title."""
        return self._core.live.head.summary.title

    @property
    def turns(self) -> list[Turn]:
        """The turns that have ended, to look at."""
        return self._core.live.head.turns

    @property
    def steering(self) -> PendingMessage | None:
        """The message that someone wants to reach the agent in the running turn."""
        return self._core.live.head.steering_message

    def masked(self, value: Any, *, observed: bool = True) -> Any:
        """Mask the secrets in JSON; a value that is not `observed` keeps what only looks like one."""
        return self._core.redactor.redact_value(value, observed=observed)

    def environment(self) -> dict[str, str]:
        """Return the host's environment, for programs of the agent: without any known secret."""
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
        """Report the actual values of settings, and those that have no value any more.

        Settings that the session does not have are ignored.
        """
        now, config = self.settings, self._core.live.head.config
        known = config.schema.properties if config is not None else {}
        news = {
            name: value
            for name, value in values.items()
            if name in known and not (name in now and now[name] == value)
        }
        if any(name in now for name in gone):
            kept = {name: value for name, value in {**now, **news}.items() if name not in gone}
            self._core.act(a.SessionConfigChangedAction(config=kept, replace=True))
        elif news:
            self._core.act(a.SessionConfigChangedAction(config=news))

    def choose_model(self, model: ModelSelection) -> None:
        """Report the model that is really used."""
        if model != self.model:
            self._core.act(a.SessionModelChangedAction(model=model))

    def take_steering(self, message: PendingMessage, evidence: str) -> None:
        """Report that the agent has a steering message, also when its turn is over. Ignore a replaced one.

        The `evidence` for it goes into the receipt.
        """
        if self.steering is message:
            self._turns.take_steering(message, evidence)

    def queue_steering(self, message: PendingMessage, sender: str) -> None:
        """Queue a steering message as the next message, if it still waits."""
        if self.steering is message:
            self._turns.queue_steering(message, sender)

    def answered(self, request_id: str) -> None:
        """Close a question that was answered elsewhere."""
        self._questions.conclude(request_id, SessionInputResponseKind.ACCEPT.value)

    async def fork(self) -> AgentSession:
        """Begin a session that continues from here, and return its agent.

        Raises:
            SessionGone: There is no turn yet to continue from.
            SessionFailed: Its agent did not start.
        """
        uri = self._core.uri
        if not self.turns:
            raise SessionGone(f"{uri} has no turn yet that another session could continue from")
        return await self._core.fork(SessionForkSource(session=uri, turn_id=self.turns[-1].id))

    def record(self, record: Mapping[str, Any], writes: Sequence[RelayWrite] = ()) -> None:
        """Write a record that only the harness needs; `writes` change its tables with it."""
        data = msgspec.json.encode(record)
        self._core.journal.record(agent_channel(self._core.uri), data, writes=writes)

    async def kept(self) -> None:
        """Wait until all actions and records of the session are on the disk."""
        await self._core.journal.committed()

    async def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a named query of the harness's tables."""
        await self._core.journal.committed()
        return await self._core.journal.store.relay(query, *values)

    async def blob(self, uri: str) -> bytes | None:
        """Return the content of a URI; `None` when there is none."""
        await self._core.journal.committed()
        found = await self._core.journal.store.blob(uri.removeprefix(BLOB_SCHEME))
        return found.data if found is not None else None

    async def records(self, session: str | None = None) -> list[dict[str, Any]]:
        """Return the records of this session, or of another one, oldest first."""
        await self._core.journal.committed()
        rows = await self._core.journal.store.rows(agent_channel(session or self._core.uri), 0)
        return [msgspec.json.decode(row.action) for row in rows]
