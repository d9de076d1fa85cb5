"""The relay on a host: opens and closes it, and has all its parts."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import secrets
import time
from collections.abc import AsyncGenerator

from msgspec.structs import replace

from serai import contract as c
from serai.config.settings import RelayPolicy
from serai.errors import Forbidden
from serai.host.host import Host
from serai.host.identities import Participant
from serai.host.ledger import ALL
from serai.relay.actions import Actions
from serai.relay.delivery.adapter_queue import AdapterQueue
from serai.relay.delivery.queue import DeliveryQueue, InboxQueue
from serai.relay.delivery.runner import Runner
from serai.relay.delivery.session_queue import SessionQueue
from serai.relay.events.observer import Observer, check_can_come, wants_live
from serai.relay.events.stream import EventStream, Place, Wanted
from serai.relay.events.webhooks import Webhooks
from serai.relay.lifecycle import Lifecycle
from serai.relay.links import HostEnd
from serai.relay.messages.inbox import Inboxes
from serai.relay.messages.post import Post
from serai.relay.messages.rooms import Rooms
from serai.relay.methods import RelayMethods
from serai.relay.predicates import Predicate, rooms_of
from serai.relay.tokens import Caller, RelayTokens

WORKSPACE = "default"
"""Name of the one workspace of a host."""


class Workspace:
    """The relay of one host.

    Args:
        host: The host; it is open.
        policy: The settings of `[relay]`.
    """

    def __init__(self, host: Host, policy: RelayPolicy) -> None:
        self.host = host
        self.policy = policy
        self.name = WORKSPACE
        self.identities = host.identities
        self.ledger = host.ledger
        self.rooms = Rooms(self)
        self.runner = Runner(self)
        self.post = Post(self)
        self.inboxes = Inboxes(self)
        self.actions = Actions(self)
        self.lifecycle = Lifecycle(self)
        self.lifecycle.add_actions(self.actions)
        self.tokens = RelayTokens(self)
        self.events = EventStream(self)
        self.observer = Observer(self)
        self.webhooks = Webhooks(self)
        self._queues: dict[int, DeliveryQueue] = {}
        self.wakes = asyncio.Semaphore(4)
        """Limits how many sleeping sessions wake at a time."""
        self._owner: Participant | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._last_id = self._subscribed = 0
        self.call = RelayMethods(self).call
        """Calls a method. See `RelayMethods.call`."""
        self._maker = secrets.token_hex(4)
        """Suffix of the ids that are made here, so that no other host makes the same ones."""

    # -- opening and closing -------------------------------------------------------------------------------

    async def open(self) -> None:
        """Read what is stored, and continue with what waits."""
        await self.rooms.open()
        await self.tokens.open()
        self.events.open()
        self.ledger.heard = self.events.add
        me = self.policy.me or getpass.getuser()
        self._owner = self.identities.find(f"@{me}") or self.identities.enlist(me, c.IdentityKind.HUMAN)
        self.host.postman = self._postman
        self.host.completions.rooms = self.rooms.mentions
        for session in self.host.sessions.in_memory():  # those that the host has brought back itself
            session.mailbox.postman = self._postman(session.uri)
        await self.host.journal.committed()
        for number, waits_for, count in await self.ledger.store.relay("counts_of_waiting"):
            self.queue_of(self.identities[number]).count(waits_for, count)
        for one in self.identities:
            if one.capabilities is not None:
                self.queue_of(one)
            if one.secret is not None:
                self.host.redactor.register(f"{one.handle} webhook", one.secret)
        for queue in list(self._queues.values()):
            await queue.recover()
        await self.actions.open()
        await self.runner.open()
        await self.webhooks.open()
        self._indexing = asyncio.create_task(self.inboxes.keep_indexed(), name="search index")

    async def close(self) -> None:
        """Deliver nothing more. Sessions stay as they are."""
        if self._indexing is not None:
            self._indexing.cancel()
            await asyncio.wait({self._indexing})
        await self.webhooks.close()
        await self.actions.close()
        self.runner.close()
        await asyncio.gather(*(queue.close() for queue in self._queues.values()))

    @property
    def owner(self) -> Participant:
        """The owner of the host."""
        if self._owner is None:
            raise RuntimeError("the relay is not open")
        return self._owner

    @property
    def system(self) -> Participant:
        """The host itself, as a participant: the sender of the relay's own messages."""
        own = (one for one in self.identities if one.identity.kind == c.IdentityKind.SYSTEM)
        name = self.identities.free_name("serai")
        return next(own, None) or self.identities.enlist(name, c.IdentityKind.SYSTEM)

    def new_id(self, kind: str) -> str:
        """Return an id that nobody else has. Ids sort by the time at which they were made."""
        self._last_id = max(self._last_id + 1, time.time_ns() // 1000)
        return f"{kind}_{self._last_id:014x}{self._maker}"

    def speaker(self, caller: Caller, name: str | None = None) -> Participant:
        """Return the participant that a caller speaks for.

        Raises:
            Forbidden: The caller may not speak for that participant, or not for any.
        """
        if name is not None:
            found = self.identities.get(name)
            if caller.participant is not None and caller.participant.number == found.number:
                return found
            if caller.role != c.Role.OWNER:
                raise Forbidden("only the owner of the host may speak for someone else")
            if found.session is not None:
                raise Forbidden(f"{found.handle} is an agent with a session: it speaks for itself")
            return found
        if caller.participant is not None:
            return caller.participant
        if caller.role == c.Role.OWNER:
            return self.owner
        raise Forbidden("an observer cannot act as a participant")

    # -- participants --------------------------------------------------------------------------------------

    def queue_of(self, participant: Participant) -> DeliveryQueue:
        """Return the queue of a participant."""
        queue = self._queues.get(participant.number)
        if queue is None:
            if participant.session is not None:
                queue = SessionQueue(self, participant, participant.session)
            elif participant.capabilities is not None:
                queue = AdapterQueue(self, participant)
            else:
                queue = InboxQueue(self, participant)
            self._queues[participant.number] = queue
        return queue

    def _postman(self, uri: str) -> SessionQueue:
        """Return the queue of a session of the host."""
        queue = self.queue_of(self.identities.of_session(uri))
        assert isinstance(queue, SessionQueue)  # noqa: S101 - a session's queue is one
        return queue

    def declared(self, participant: Participant) -> c.AgentSessionCapabilities | None:
        """Return the capabilities of a participant's session; `None` without a session."""
        if participant.session is not None:
            return self.queue_of(participant).capabilities
        return participant.capabilities

    def info(self, participant: Participant) -> c.AgentInfo:
        """Return a participant as it is now."""
        queue = self.queue_of(participant)
        declared = None if participant.is_person else queue.capabilities
        return c.AgentInfo(
            identity=participant.identity,
            session=participant.session,
            status=c.AgentStatus.RELEASED if participant.gone else queue.status,
            capabilities=participant.capabilities if participant.gone else declared,
            waiting=queue.size,
        )

    def registered(self, participant: Participant, link: HostEnd | None) -> None:
        """Send the messages of a session elsewhere to where it has registered."""
        if participant.secret is not None:
            self.host.redactor.register(f"{participant.handle} webhook", participant.secret)
        if not isinstance(self._queues.get(participant.number), AdapterQueue):
            self._queues.pop(participant.number, None)
        queue = self.queue_of(participant)
        if isinstance(queue, AdapterQueue):
            queue.registered(participant, link)

    async def unregister(self, queue: AdapterQueue) -> None:
        """Remove a session elsewhere: its open deliveries fail."""
        participant = queue.participant
        async with self.ledger.reading("list_open", participant.number, ALL) as found:
            for record, _ in found:
                if record.is_open:
                    self.runner.give_up(record, "unregistered")
        await self.host.journal.committed()
        queue.unregistered()
        del self._queues[participant.number]
        left = replace(participant, capabilities=None, url=None, secret=None, gone=True)
        self.identities.put(left, "session.released")

    # -- events --------------------------------------------------------------------------------------------

    def filter_of(self, caller: Caller, params: c.EventFilter, *, is_new: bool = True) -> Wanted:
        """Return a filter for the events that a caller wants. A new filter has only types that can ever come.

        Raises:
            UnknownTarget: There is no such agent.
            UnknownRoom: There is no such room.
            CapabilityUnsupported: The agent never emits an event of one of the types.
        """
        agent = None
        if params.agent is not None:
            about = self.identities.get(params.agent)
            agent = about.identity.id
            if is_new:
                check_can_come(self.queue_of(about).capabilities, params.types, about.handle)
        room = self.inboxes.room(caller, params.room).room.id if params.room else None

        def wants(event: c.WorkspaceEvent) -> bool:
            is_about = agent is None or agent in {event.actor, event.subject}
            return is_about and (room is None or room in rooms_of(event))

        return Predicate(params.types, wants)

    async def subscribe(
        self, caller: Caller, params: c.SubscribeParams
    ) -> tuple[c.SubscribeResult, AsyncGenerator[c.WorkspaceEvent]]:
        """Return the events that a caller wants and may receive, and where they begin. See `filter_of`."""
        wants = self.filter_of(caller, params)
        after, source = await self.events.starting(params.after)
        self._subscribed += 1
        result = c.SubscribeResult(subscription=str(self._subscribed), source=source, first=str(after[0] + 1))
        may_hear = self.inboxes.may_hear
        return result, self.follow(after, params, lambda event: wants(event) and may_hear(caller, event))

    async def follow(
        self, after: Place, params: c.EventFilter, wants: Wanted
    ) -> AsyncGenerator[c.WorkspaceEvent]:
        """Yield events after a place. What sessions let one observe is among them if the types include it."""
        live = wants_live(params.types)
        leave = self.observer.watch() if live else None
        try:
            async with contextlib.aclosing(self.events.follow(after, wants, live=live)) as events:
                async for event in events:
                    yield event
        finally:
            if leave is not None:
                leave()
