"""The host: it owns the sessions, knows the agents, and tells the root channel what there is."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import cache, partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from msgspec.structs import replace

from serai.ahp import actions as a, wire
from serai.ahp.commands import AhpErrorCode, CreateSessionParams
from serai.ahp.reducers import LiveState
from serai.ahp.types import ROOT, AgentInfo, FreeForm, RootState
from serai.config.settings import Settings
from serai.contract import (
    AgentSession,
    AgentSessionCapabilities,
    AgentStatus,
    DeliveryCapabilities,
    DeliveryMode,
    EventCapabilities,
    LifecycleCapabilities,
    MessagingCapabilities,
)
from serai.contract.events import OBSERVED_BY_HOST
from serai.contract.negotiation import check_registration
from serai.customizations.plugins import ClientPlugins
from serai.errors import ProtocolError
from serai.host.agent_list import AgentList
from serai.host.agents import HostContext, HostedHarness
from serai.host.changes.changesets import Changesets
from serai.host.channels import Channels
from serai.host.clients import ClientLink, Clients
from serai.host.customizations.folders import CustomizedFolders
from serai.host.identities import Identities
from serai.host.ledger import Ledger
from serai.host.root import Root
from serai.host.seat import RelayAccess
from serai.host.session.creation import first_state, fork_source
from serai.host.session.deliveries import Postman
from serai.host.session.prune import prune_daily
from serai.host.session.session import Session
from serai.host.session.sessions import Sessions
from serai.host.sign_in import SignIns
from serai.host.surroundings.completions import Completions
from serai.host.surroundings.files import Files
from serai.host.surroundings.terminals import Terminals
from serai.host.telemetry import HostTelemetry
from serai.journal.journal import Journal
from serai.journal.sessions import KeptSession
from serai.journal.subscriptions import Subscriber
from serai.machine.processes.leftovers import end_leftovers
from serai.machine.processes.processes import Processes
from serai.machine.watch.watch import Watches
from serai.redact import Redactor
from serai.store.contract import Opening, Store

_log = logging.getLogger(__name__)

_TOOL_OUTPUT = (a.SessionToolCallCompleteAction, a.SessionToolCallContentChangedAction)
"""What a tool said that a client ran: it is observed, not typed."""


_OF_MODELS = frozenset({"model", "workflow"})
"""Kinds of agents that there are once a model is described."""
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
"""What is known of an agent that was never started: what the host itself does for it."""


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


class Host:
    """All sessions of one store.

    Args:
        store: Where they are kept.
        harnesses: The kinds of agents that sessions can be made with.
        frame: How a message becomes bytes on the wire.
        settings: How the host behaves.
        default_directory: The working directory of sessions that name none, as a URI.
        summary_delay: How long changes of summaries are gathered before they are told, in seconds.
        now: The clock, in milliseconds since 1970.
        new_id: Makes ids that nobody else has.
        home: Where things beside the store are kept, such as discarded files; without one, in a folder
            that goes with the host.
        redactor: Masks secrets; without one, those of known shapes only.
        folder_agent: Which agent a folder, given as a URI, has chosen for its sessions. It may read files.
        is_trusted: Whether a person trusts a folder. It may read files. Without it, no folder is trusted.
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
        self.settings = settings or Settings()
        self.default_directory = default_directory
        self.now = now
        self.new_id = new_id
        self.is_trusted = is_trusted
        self._folder_agent = folder_agent
        self._borrowed_home = None if home else Path(gettempdir()) / f"serai-{uuid.uuid4()}"
        self.home = home or self._borrowed_home or Path()
        user_home = user_home or _home_of_person(self.home)
        self.redactor = redactor or Redactor()
        self.journal = Journal(store, frame)
        self.journal.subscriptions.followed = self._attend
        self.journal.subscriptions.emptied = self.left
        self.journal.subscriptions.abandoned = partial(self.left, abandoned=True)
        self.harnesses: dict[str, HostedHarness] = {harness.name: harness for harness in harnesses}
        self.root = Root(
            self.journal,
            now,
            frame,
            RootState(agents=self._agents()),
            summary_delay,
            self.settings.default_agent,
        )
        self.ledger = Ledger(self.journal, self.redactor, now)
        self.identities = Identities(self.ledger)
        self.postman: Callable[[str], Postman] | None = None
        """Who brings a session what the relay has for it, given its URI."""
        self.relay_access: Callable[[str], Awaitable[RelayAccess]] | None = None
        """Tells how the agent of a session reaches the relay's tools, given the session's URI."""
        self.clients = Clients(self.journal)
        self.channels = Channels(self.journal)
        self.processes = Processes(self.home / "processes")
        self.customized_folders = CustomizedFolders(user_home, is_trusted, user_settings)
        self.client_plugins = ClientPlugins()
        self.watches = Watches()
        """Whoever has to know what changes on the disk asks here."""
        self.files = Files(self)
        self.changesets = Changesets(self)
        self.completions = Completions(self.identities)
        self.terminals = Terminals(self, self.processes, user_home)
        self.agent_list = AgentList(lambda: self.harnesses, self.terminals)
        self.sign_ins = SignIns(self.sought, self.terminals, self.redactor, self.signed_in)
        self.sessions = Sessions(
            self.journal,
            self.identities,
            partial(Session, self),
            budget=self.settings.idle_memory_bytes,
            is_watched=self._is_watched,
            known=self.files.session_known,
            released=partial(self.left, abandoned=True),
            run=self.run,
        )
        self.telemetry = HostTelemetry(
            self.journal,
            frame,
            self.redactor.redact,
            sessions=self.sessions.count,
            active_turns=lambda: int(self.root.live.head.active_sessions or 0),
            connections=self.clients.count,
        )
        self._pruning: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._releasing: set[str] = set()
        """Sessions that are disposed of, and whose agents are not gone yet."""
        self._chores: set[asyncio.Task[Any]] = set()
        """What is done in the background, such as letting agents go."""

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
        """Stop what runs, write what waits, close the store."""
        for task in (self._pruning, self._looking):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
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

    def _attend(self, uri: str) -> None:
        """A channel has got its first follower, or has lost its last one."""
        if (session := self.sessions.peek(uri)) is not None:
            session.customizations.attend()
            session.changes.attend()

    def left(self, uri: str, *, abandoned: bool = False) -> None:
        """Perhaps nobody follows a channel any more, nor is about to, unless someone comes back."""
        self._attend(uri)
        if not self.sessions.is_wanted(uri) and not self.journal.subscriptions.is_followed(uri):
            self.channels.left(uri, abandoned=abandoned)
            self.telemetry.unfollow(uri)

    def _is_watched(self, uri: str) -> bool:
        """Whether someone follows a session, or the root channel has not been told yet what changed in it."""
        return self.journal.subscriptions.is_followed(uri) or self.root.is_to_tell_of(uri)

    async def provider_for(self, directory: str | None) -> str:
        """The agent of sessions that name none: their folder's own choice, else the host's."""
        chosen = None if directory is None else await asyncio.to_thread(self._folder_agent, directory)
        return chosen or self.root.default_provider

    async def signed_in(self, provider: str) -> None:
        """Have the sessions go on that an agent has refused for want of a sign-in."""
        sessions = self.sessions.in_memory()
        theirs = [session for session in sessions if session.live.head.summary.provider == provider]
        await asyncio.gather(*(session.signed_in() for session in theirs))

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have something done in the background that ends by itself. Closing the host waits for it."""
        self._chores.add(task := asyncio.create_task(work))
        task.add_done_callback(self._chores.discard)

    async def create(
        self, params: CreateSessionParams, client_id: str, meta: FreeForm | None = None
    ) -> Session:
        """Make a session. It is `creating` until its agent is there.

        Args:
            params: What was asked for.
            client_id: Who asked, or which agent.
            meta: What the session's `_meta` begins with.

        Raises:
            ProtocolError: It exists, or the provider or what it is forked from does not.
        """
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
            harness_of=self.sought,
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
        release = self.sessions.hold([uri])
        try:
            session = await self.sessions.bring(uri)
        finally:
            release()
        if session is None or not self.sessions.remove(uri):
            raise ProtocolError(f"there is no session {uri}", number=AhpErrorCode.SESSION_NOT_FOUND)
        # Those who follow it hear that it is gone. How its turn ends is for the journal alone.
        self.journal.then(lambda _seq: self.journal.subscriptions.drop(uri))
        session.mailbox.drop_all("session_disposed")
        session.turns.disposed()
        session.kept.renew_head()
        self.journal.touch(session.kept)  # nobody will read it again to write a head
        self.files.session_removed(uri)
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

    def harness(self, provider: str) -> HostedHarness:
        """The kind of agent of that name.

        Raises:
            ProtocolError: There is none.
        """
        if (harness := self.harnesses.get(provider)) is not None:
            return harness
        known = ", ".join(sorted(one.provider for one in self._agents())) or "none"
        message = f"there is no agent {provider!r}; there are: {known}"
        if provider in _OF_MODELS:
            message += "; it needs a model: describe one in serai.toml, under [models.NAME]"
        raise ProtocolError(message, number=AhpErrorCode.PROVIDER_NOT_FOUND)

    async def sought(self, provider: str) -> HostedHarness:
        """The kind of agent of that name, also one that is still being looked for, or was installed since.

        Raises:
            ProtocolError: There is none. If it could be installed, the message says how.
        """
        if provider not in self.harnesses and self._looking is not None:
            await asyncio.wait({self._looking})
        if provider not in self.harnesses:
            known = next((one for one in await self.agent_list.known() if one.provider == provider), None)
            if known is not None and known.reason is None:
                self.agent_list.look_again()
                if self._looking is not None:
                    await asyncio.wait({self._looking})
            elif known is not None and known.install:
                message = f"there is no agent {provider!r} yet: {known.reason}; install it: {known.install}"
                raise ProtocolError(message, number=AhpErrorCode.PROVIDER_NOT_FOUND)
        return self.harness(provider)

    def look_for(self, agents: Coroutine[Any, Any, None]) -> None:
        """Look for more kinds of agents in the background. What is found is given to `add`."""
        self._looking = asyncio.create_task(agents, name="looking for agents")
        self._looking.add_done_callback(_complain)

    @property
    def is_looking(self) -> bool:
        """Whether kinds of agents are being looked for."""
        return self._looking is not None and not self._looking.done()

    def add(self, harnesses: Iterable[HostedHarness], gone: Iterable[str] = ()) -> None:
        """Offer more kinds of agents from now on, and those of some names no longer: what runs goes on."""
        for name in gone:
            self.harnesses.pop(name, None)
        self.harnesses |= {harness.name: harness for harness in harnesses}
        self.agents_changed()

    def agents_changed(self) -> None:
        """Tell the root channel which agents there are, with what is known of them by now."""
        if (agents := self._agents()) != self.root.live.head.agents:
            self.root.act(a.RootAgentsChangedAction(agents=agents))

    def _agents(self) -> list[AgentInfo]:
        return [one.info for one in self.harnesses.values() if not getattr(one, "makes_runs", False)]

    async def start_agent(self, session: Session) -> AgentSession:
        """Make the agent of a session."""
        name = session.live.head.summary.provider
        context = HostContext(
            identity=self.identities.of_session(session.uri, name).identity,
            logger=logging.getLogger(f"serai.agent.{name}"),
            session=session.uri,
            turn=session.turns.of,
            seat=session.seat,
        )
        agent = await (await self.sought(name)).create(dict(session.seat.settings), context)
        check_registration(agent, OBSERVED_BY_HOST)
        return agent

    def capabilities_of(self, uri: str) -> AgentSessionCapabilities:
        """What the session can do as a participant: what its agent declares, and what the host gives to all.

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
        """What a session does right now. One that is not in memory has nothing to do."""
        if uri in self._releasing:
            return AgentStatus.RELEASING
        session = self.sessions.peek(uri)
        return AgentStatus.IDLE if session is None else session.status

    # -- clients -------------------------------------------------------------------------------------------

    def client_disconnected(self, client_id: str, link: ClientLink) -> None:
        """A client has one connection less; with the last one it is gone."""
        if self.clients.disconnected(client_id, link):
            for session in self.sessions.in_memory():
                session.client_left(client_id)

    # -- channels ------------------------------------------------------------------------------------------

    async def bring(self, uri: str) -> None:
        """Bring a channel into memory, if there is such a channel."""
        if await self.sessions.bring(uri) is None:
            await self.channels.bring(uri)

    def is_loaded(self, uri: str) -> bool:
        """Whether a channel is in memory."""
        return uri == ROOT or self.sessions.is_loaded(uri) or self.channels.get(uri) is not None

    def state_of(self, uri: str) -> bytes | None:
        """The state of a channel that is in memory, as JSON."""
        live = self._live(uri)
        return None if live is None else wire.encode(live.snapshot())

    def _live(self, uri: str) -> LiveState[Any] | None:
        if uri == ROOT:
            return self.root.live
        found = self.sessions.get(uri) or self.channels.get(uri)
        return found.live if found else None

    def dispatch(self, uri: str, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> None:
        """Take an action from a client, on a channel that is in memory. On any other it is ignored.

        Secrets are masked here, once: from here on the action may be written, shown and handed on.
        """
        action = self.redactor.redact_value(action, observed=isinstance(action, _TOOL_OUTPUT))
        found = self.root if uri == ROOT else self.sessions.get(uri) or self.channels.get(uri)
        if found is not None:
            found.dispatch(action, origin, sender)

    def activity_changed(self) -> None:
        """Tell the root channel when more or fewer sessions have a turn running."""
        active = sum(session.live.turn is not None for session in self.sessions.in_memory())
        if active != (self.root.live.head.active_sessions or 0):
            self.root.act(a.RootActiveSessionsChangedAction(active_sessions=active))


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("agents were not looked for", exc_info=error)


def _home_of_person(otherwise: Path) -> Path:
    """The person's home. Who has none, such as a user that the system does not know, has nothing there."""
    try:
        return Path.home()
    except RuntimeError:
        return otherwise / "nobody"
