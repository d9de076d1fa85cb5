"""The host: it owns the sessions and all that they share, and keeps the root channel up to date."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
import uuid
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from tempfile import gettempdir

from msgspec.structs import replace

from serai.ahp import actions as a, wire
from serai.ahp.commands import AhpErrorCode, CreateSessionParams
from serai.ahp.types import ROOT, FreeForm
from serai.config.settings import Settings
from serai.contract import (
    AgentSessionCapabilities,
    AgentStatus,
    DeliveryCapabilities,
    DeliveryMode,
    EventCapabilities,
    LifecycleCapabilities,
    MessagingCapabilities,
)
from serai.contract.events import OBSERVED_BY_HOST
from serai.errors import ProtocolError
from serai.host.agent_list import AgentList, listed
from serai.host.agents import HostedHarness
from serai.host.changes.changesets import Changesets
from serai.host.channels import Channel
from serai.host.clients import ClientLink
from serai.host.customizations.folders import CustomizedFolders
from serai.host.root import RootChannel
from serai.host.session.creation import first_state, fork_source
from serai.host.session.prune import prune_daily
from serai.host.session.session import Session, SessionHost
from serai.host.session.sessions import Sessions
from serai.host.surroundings.completions import Completions
from serai.host.surroundings.files import Files
from serai.host.surroundings.terminals import Terminals
from serai.journal.sessions import KeptSession
from serai.journal.subscriptions import Subscriber
from serai.machine.processes.leftovers import end_leftovers
from serai.redact import Redactor
from serai.store.contract import Opening, Store

_log = logging.getLogger(__name__)

_TOOL_OUTPUT = (a.SessionToolCallCompleteAction, a.SessionToolCallContentChangedAction)
"""Actions with the output of a client's tool: it is observed, not typed."""


_OF_EVERY_SESSION = (
    DeliveryMode.ON_IDLE,
    DeliveryMode.IMMEDIATE,
    DeliveryMode.NEXT_MESSAGE,
    DeliveryMode.MANUAL,
)
"""The delivery modes that the host gives to every session."""
_UNKNOWN = AgentSessionCapabilities(
    messaging=MessagingCapabilities(receive=True),
    delivery=DeliveryCapabilities(modes=()),
    events=EventCapabilities(emits=OBSERVED_BY_HOST),
    lifecycle=LifecycleCapabilities(release=True),
)
"""Capabilities of an agent that was never started: those that the host provides."""


@cache
def _hosted(declared: AgentSessionCapabilities) -> AgentSessionCapabilities:
    modes = tuple(dict.fromkeys((*declared.delivery.modes, *_OF_EVERY_SESSION)))
    return replace(
        declared,
        delivery=replace(declared.delivery, modes=modes),
        lifecycle=replace(declared.lifecycle, pause=True, resume=True),
    )


def _now() -> int:
    return time.time_ns() // 1_000_000


def _new_id() -> str:
    return str(uuid.uuid4())


class Host(SessionHost):
    """All sessions of one store.

    Args:
        store: The database of the sessions.
        harnesses: The kinds of agents that sessions can be made with.
        frame: Frames a message for the wire.
        settings: The host's settings.
        default_directory: The working directory of sessions that name none, as a URI.
        summary_delay: Seconds during which changes of summaries are gathered before they are published.
        now: The clock, in milliseconds since 1970.
        new_id: Makes ids that nobody else has.
        home: The folder for files beside the store, such as discarded files; by default a temporary one,
            which goes with the host.
        redactor: Masks secrets; by default those of known shapes only.
        folder_agent: Returns the agent that a folder, given as a URI, has chosen. It may read files.
        is_trusted: Tells whether a person trusts a folder. It may read files. By default none is trusted.
        user_home: The person's home, where customisations for all sessions are.
        user_settings: The folder of the person's `serai.toml`, where their own agents are.
    """

    def __init__(
        self,
        store: Store,
        harnesses: Iterable[HostedHarness],
        frame: Callable[[bytes], bytes],
        *,
        settings: Settings | None = None,
        default_directory: str | None = None,
        summary_delay: float = 0.05,
        now: Callable[[], int] = _now,
        new_id: Callable[[], str] = _new_id,
        home: Path | None = None,
        redactor: Redactor | None = None,
        folder_agent: Callable[[str], str | None] = lambda _directory: None,
        is_trusted: Callable[[Path], bool] = lambda _folder: False,
        user_home: Path | None = None,
        user_settings: Path | None = None,
    ) -> None:
        self.harnesses = {harness.name: harness for harness in harnesses}
        self._borrowed_home = None if home else Path(gettempdir()) / f"serai-{uuid.uuid4()}"
        super().__init__(
            store,
            frame,
            listed(self.harnesses.values()),
            settings=settings or Settings(),
            default_directory=default_directory,
            summary_delay=summary_delay,
            now=now,
            new_id=new_id,
            home=home or self._borrowed_home or Path(),
            redactor=redactor or Redactor(),
        )
        self.is_trusted = is_trusted
        self._folder_agent = folder_agent
        user_home = user_home or Path.home()
        self.journal.subscriptions.changed = self.followers_changed
        self.customized_folders = CustomizedFolders(user_home, is_trusted, user_settings)
        self.sessions = Sessions(self, self.followers_changed)
        self.files = Files(self, self.sessions.in_memory)
        self.changesets = Changesets(self, self.sessions.held)
        self.completions = Completions(self)
        self.terminals = Terminals(self, user_home)
        self.agent_list = AgentList(self.harnesses, self.root, self.sessions, self.terminals, self.redactor)
        self.find_harness = self.agent_list.find
        self.telemetry.metrics.sessions.read_from(self.sessions.count)
        self.telemetry.metrics.active_turns.read_from(lambda: int(self.root.live.head.active_sessions or 0))
        self.telemetry.metrics.connections.read_from(self.clients.count)
        self._pruning: asyncio.Task[None] | None = None
        self._releasing: set[str] = set()
        """The sessions that were disposed of, and whose agents are not gone yet."""

    # -- opening and closing -------------------------------------------------------------------------------

    async def open(self) -> Opening:
        """Open the store and bring the sessions back. Turns that were running end with an error."""
        opening = await self.journal.open()
        self.telemetry.start()
        if left := await asyncio.to_thread(end_leftovers, self.home / "processes"):
            _log.warning("%d processes of a host that was killed still ran; they were ended", len(left))
        await self.sessions.open()
        await self.files.open()
        await self.changesets.open()
        await self.terminals.restore()
        if opening.last_committed:
            # Whoever followed the root channel before may know it otherwise.
            await self.root.restore()
            self.root.act(a.RootAgentsChangedAction(agents=self.root.live.head.agents))
            self.root.act(a.RootActiveSessionsChangedAction(active_sessions=0))
        if (days := self.settings.retention_days) is not None:
            work = prune_daily(self.journal, self.sessions, days, self.now)
            self._pruning = asyncio.create_task(work, name="retention")
        return opening

    async def close(self) -> None:
        """Stop all tasks, write what waits, and close the store."""
        if self._pruning is not None:
            self._pruning.cancel()
            await asyncio.gather(self._pruning, return_exceptions=True)
        await self.agent_list.close()
        await self.root.close()
        await self.terminals.close()
        await self.sessions.close()
        await self.customized_folders.close()
        await self.channels.close()
        await self.processes.close()
        await self.completions.close()
        await self.files.close()
        await asyncio.gather(*self._chores, return_exceptions=True)
        await self.watches.close()
        await self.telemetry.stop()
        await self.journal.close()
        if self._borrowed_home is not None:
            await asyncio.to_thread(shutil.rmtree, self._borrowed_home, ignore_errors=True)

    # -- sessions ------------------------------------------------------------------------------------------

    def followers_changed(self, uri: str, abandoned: bool = True) -> None:
        """React to a channel whose followers, or others who want it in memory, may have come or gone."""
        if (session := self.sessions.peek(uri)) is not None:
            session.customizations.attend()
            session.changes.attend()
        if not self.sessions.is_wanted(uri) and not self.journal.subscriptions.is_followed(uri):
            self.channels.left(uri, abandoned=abandoned)
            self.telemetry.unfollow(uri)

    async def provider_for(self, directory: str | None) -> str:
        """Return the agent of sessions that name none: their folder's own choice, else the host's."""
        chosen = None if directory is None else await asyncio.to_thread(self._folder_agent, directory)
        return chosen or self.root.default_provider

    async def create(
        self, params: CreateSessionParams, client_id: str, meta: FreeForm | None = None
    ) -> Session:
        """See `SessionHost`."""
        uri = params.channel
        given, params = params, self.redactor.redact_value(params, observed=False)
        if self.sessions.knows(uri):
            raise ProtocolError(f"{uri} exists already", number=AhpErrorCode.SESSION_ALREADY_EXISTS)
        source = None
        if params.fork is not None:
            forked = await self.sessions.bring(params.fork.session)
            source = fork_source(params.fork, forked.kept if forked else None)
        state = await first_state(
            params,
            given,
            client_id,
            meta,
            source,
            default_directory=self.default_directory,
            default_provider=self.provider_for,
            harness_of=self.find_harness,
            now=self.now(),
        )
        kept = KeptSession.create(uri, state)
        session = await self.sessions.add(kept)
        session.seat.forked_from = params.fork
        self.journal.touch(kept)
        self.root.added(kept.live.head.summary)
        if not self.clients.is_connected(client_id):
            session.client_left(client_id)  # before there was a session that could have heard of it
        self.journal.then(lambda _seq: session.begin())
        self.sessions.evict()
        return session

    async def dispose(self, uri: str) -> None:
        """End a session. It is no longer listed; its rows are kept until they are purged.

        Raises:
            ProtocolError: There is no such session.
        """
        async with self.sessions.held(uri) as session:
            if session is None or not self.sessions.remove(uri):
                raise ProtocolError(f"there is no session {uri}", number=AhpErrorCode.SESSION_NOT_FOUND)
        # Followers hear that it is gone. The end of its turn is for the journal alone.
        self.journal.then(lambda _seq: self.journal.subscriptions.drop(uri))
        session.mailbox.drop_all("session_disposed")
        session.turns.disposed()
        session.kept.renew_head()
        self.journal.touch(session.kept)  # nobody will read it again to write a head
        self.files.forget_unused()
        self.journal.side.disposed.append(uri)
        self.root.removed(uri)
        self.identities.retire(uri)
        if self.postman is not None:
            self.postman(uri).disposed()
        self._releasing.add(uri)
        try:
            await session.close()
            await session.changes.forget()
            await self.terminals.dispose_of(uri)
        finally:
            self._releasing.discard(uri)
            self.identities.released(uri)
        self.activity_changed()

    # -- agents --------------------------------------------------------------------------------------------

    def capabilities_of(self, uri: str) -> AgentSessionCapabilities:
        """Return the capabilities of a session as a participant: its agent's, and the host's own.

        The host can begin a turn, hold messages for one, and let them in with a person's. So it can pause a
        session, too. Only an agent can take a message in the middle of its turn.
        """
        session = self.sessions.peek(uri)
        declared = session.capabilities if session is not None else None
        if declared is None:
            harness = self.harnesses.get(self.sessions.provider_of(uri) or "")
            declared = getattr(harness, "capabilities", None) or _UNKNOWN
        return _hosted(declared)

    def status_of(self, uri: str) -> AgentStatus:
        """Return the status of a session. One that is not in memory is idle."""
        if uri in self._releasing:
            return AgentStatus.RELEASING
        session = self.sessions.peek(uri)
        return AgentStatus.IDLE if session is None else session.status

    # -- clients -------------------------------------------------------------------------------------------

    def client_disconnected(self, client_id: str, link: ClientLink) -> None:
        """Remove a connection of a client; with the last one the client leaves its sessions."""
        if self.clients.disconnected(client_id, link):
            for session in self.sessions.in_memory():
                session.client_left(client_id)

    # -- channels ------------------------------------------------------------------------------------------

    async def bring(self, uri: str) -> Session | Channel | None:
        """See `SessionHost`."""
        return await self.sessions.bring(uri) or await self.channels.bring(uri)

    def is_loaded(self, uri: str) -> bool:
        """Tell whether a channel is in memory."""
        return uri == ROOT or self.sessions.is_loaded(uri) or self.channels.get(uri) is not None

    def _find(self, uri: str) -> RootChannel | Session | Channel | None:
        return self.root if uri == ROOT else self.sessions.get(uri) or self.channels.get(uri)

    def state_of(self, uri: str) -> bytes | None:
        """Return the state of a channel that is in memory, as JSON."""
        found = self._find(uri)
        return wire.encode(found.live.snapshot()) if found is not None else None

    def dispatch(self, uri: str, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> None:
        """Take an action from a client, on a channel that is in memory. On any other it is ignored.

        Secrets are masked here, once: from here on the action may be written, shown and handed on.
        """
        action = self.redactor.redact_value(action, observed=isinstance(action, _TOOL_OUTPUT))
        if (found := self._find(uri)) is not None:
            found.dispatch(action, origin, sender)

    def activity_changed(self) -> None:
        """See `SessionHost`."""
        active = sum(session.live.turn is not None for session in self.sessions.in_memory())
        if active != (self.root.live.head.active_sessions or 0):
            self.root.act(a.RootActiveSessionsChangedAction(active_sessions=active))
