"""An agent's place in its session: what it sees there and may do, beside its turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams, ResourceReadParams, ResourceReadResult, SessionForkSource
from serai.ahp.types import (
    ROOT,
    AgentSelection,
    ModelSelection,
    PendingMessage,
    PendingMessageKind,
    SessionInputRequest,
    SessionInputResponseKind,
    Turn,
    UserMessage,
)
from serai.completions.sources import Prompt
from serai.contract import AgentSession
from serai.errors import SessionGone
from serai.host.expecting import Answers
from serai.machine.files import read as read_file
from serai.machine.processes.processes import Processes

if TYPE_CHECKING:
    from serai.host.session import Session

__all__ = ["MOST_READ", "Seat", "agent_channel"]

MOST_READ = 8 * 1024 * 1024
"""So many bytes of a file an agent gets at once."""


def agent_channel(session: str) -> str:
    """Where an agent's own records about its session stand."""
    return f"serai-agent:{session}"


class Seat:
    """What a harness has from the host for one session. All it changes are actions, as everywhere.

    Args:
        session: The session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.forked_from: SessionForkSource | None = None
        """Where the session began, when it is new and began in another one."""
        self.commands: Sequence[Prompt] = ()
        """The agent's own commands, which are offered to who types `/`."""

    # -- what there is -------------------------------------------------------------------------------------

    @property
    def settings(self) -> Mapping[str, Any]:
        """The session's settings as they are now."""
        config = self._session.live.head.config
        return config.values if config is not None else {}

    @property
    def known_settings(self) -> frozenset[str]:
        """The names of all settings that the session can have."""
        config = self._session.live.head.config
        return frozenset(config.schema.properties) if config is not None else frozenset()

    @property
    def model(self) -> ModelSelection | None:
        """The model that is chosen."""
        return self._session.live.head.summary.model

    @property
    def custom_agent(self) -> AgentSelection | None:
        """The custom agent that is chosen."""
        return self._session.live.head.summary.agent

    @property
    def title(self) -> str:
        """The session's title."""
        return self._session.live.head.summary.title

    @property
    def turns(self) -> list[Turn]:
        """The turns that have ended. They are only to be looked at."""
        return self._session.live.head.turns

    @property
    def steering(self) -> PendingMessage | None:
        """The message that someone wants to reach the agent in the turn that runs."""
        return self._session.live.head.steering_message

    @property
    def processes(self) -> Processes:
        """Where processes are started."""
        return self._session.host.processes

    def mask(self, text: str) -> str:
        """Text without secrets."""
        return self._session.host.redactor.redact(text)

    def masked(self, value: Any) -> Any:
        """JSON without secrets."""
        return self._session.host.redactor.redact_value(value, observed=True)

    async def read(self, uri: str, *, first: int = 0, last: int | None = None) -> ResourceReadResult:
        """Read a file, or some of its lines: below the session's folders, or what a person has allowed it.

        Args:
            uri: The file.
            first: The first line, counted from 0.
            last: The first line that is not wanted any more; `None` for all.

        Raises:
            ProtocolError: It is not there, may not be read, or is more than `MOST_READ` bytes.
        """
        files = self._session.host.files
        roots = await files.for_session(self._session)
        read = partial(read_file, first=first, last=last, most=MOST_READ)
        return await files.run(read, ResourceReadParams(channel=ROOT, uri=uri), roots)

    # -- what may be done ----------------------------------------------------------------------------------

    def note(self, name: str, value: Any) -> None:
        """Let the session's `_meta` have something, or (`None`) no longer. What is so already is not told."""
        meta = self._session.live.head.meta or {}
        if meta.get(name) == value:
            return
        changed = {key: kept for key, kept in meta.items() if key != name}
        if value is not None:
            changed[name] = value
        self._session.act(a.SessionMetaChangedAction(meta=changed or None))

    def entitle(self, title: str) -> None:
        """Give the session a title."""
        if title and title != self.title:
            self._session.act(a.SessionTitleChangedAction(title=title))

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
            self._session.act(a.SessionConfigChangedAction(config=kept, replace=True))
        elif news:
            self._session.act(a.SessionConfigChangedAction(config=news))

    def choose_model(self, model: ModelSelection) -> None:
        """Tell which model it really is."""
        if model != self.model:
            self._session.act(a.SessionModelChangedAction(model=model))

    def queue(self, message: UserMessage, sender: str) -> None:
        """Have a message wait as the next one. After a turn that was interrupted, someone has to go on."""
        self._session.enqueue(message, sender)

    def take_steering(self, message: PendingMessage, evidence: str) -> None:
        """The agent has a steering message, also when its turn is over. One that was replaced is not there.

        Args:
            message: Which one.
            evidence: How that is known: it stands in the receipt.
        """
        if self.steering is message:
            self._session.turns.take_steering(message, evidence)

    def queue_steering(self, message: PendingMessage, sender: str) -> None:
        """A steering message does not reach the agent in its turn: if it still waits, it is the next one."""
        if self.steering is message:
            self._session.drop_pending(PendingMessageKind.STEERING.value, message.id, "requeued")
            self._session.enqueue(message.user_message, sender)

    async def ask(self, request: SessionInputRequest) -> Answers:
        """Ask the person something, in a turn or not. Cancelling takes the question back."""
        return await self._session.ask(request)

    def answered(self, request_id: str) -> None:
        """A question was answered elsewhere, and well."""
        self._session.conclude(request_id, SessionInputResponseKind.ACCEPT.value)

    async def fork(self) -> AgentSession:
        """Begin a session that goes on from here, and return its agent.

        Raises:
            SessionGone: There is no turn yet to go on from.
            SessionFailed: Its agent did not start.
        """
        session, host = self._session, self._session.host
        if not self.turns:
            raise SessionGone(f"{session.uri} has no turn yet that another session could go on from")
        fork = SessionForkSource(session=session.uri, turn_id=self.turns[-1].id)
        params = CreateSessionParams(channel=f"ahp-session:/{host.new_id()}", fork=fork)
        forked = await host.create(params, session.live.head.summary.provider)
        await forked.ready()
        return await forked.agent()

    # -- what survives the host ----------------------------------------------------------------------------

    def record(self, record: Mapping[str, Any]) -> None:
        """Write something down that only the harness needs."""
        session = self._session
        session.journal.record(agent_channel(session.uri), msgspec.json.encode(record))

    async def records(self, session: str | None = None) -> list[dict[str, Any]]:
        """What was written down, oldest first; of this session or of another one."""
        await self._session.journal.committed()
        rows = await self._session.journal.store.rows(agent_channel(session or self._session.uri), 0)
        return [msgspec.json.decode(row.action) for row in rows]
