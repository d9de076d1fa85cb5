"""A client's view of a host: confirmed state, pending actions, and recovery after a gap.

Per channel there is the *confirmed* state, which is what the host has said, and the *pending* actions, which
this client has dispatched and the host has not yet answered. What a person sees is the confirmed state with
the pending actions on top. An answer takes its action off the pile: an echo is applied to the confirmed
state, a rejection is not. The host always wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from serai.ahp.actions import ActionEnvelope, StateAction
from serai.ahp.channels import ChannelKind, kind_of, state_of
from serai.ahp.commands import (
    InitializeParams,
    InitializeResult,
    ReconnectParams,
    ReconnectReplayResult,
    ReconnectResult,
    Snapshot,
    SubscribeParams,
    SubscribeResult,
)
from serai.ahp.notifications import DispatchActionParams, UnsubscribeParams
from serai.ahp.reducers import ChannelState, LiveSession, LiveState, fold, live
from serai.ahp.types import ROOT, URI, Number
from serai.ahp.wire import Unknown
from serai.errors import Mismatch


@dataclass(slots=True)
class _Mirror:
    """The state of one channel, as this client knows it."""

    confirmed: LiveState[Any]
    seq: int
    """Number of the last envelope that the confirmed state includes."""
    optimistic: bool
    """True when pending actions are shown at once. A terminal shows only confirmed state."""
    pending: list[DispatchActionParams] = field(default_factory=list[DispatchActionParams])
    shown: ChannelState | None = None
    """The state that was last shown; `None` once something has changed."""

    def take(self, client_seq: int) -> bool:
        """Remove a pending action. Return whether there was one."""
        left = [waiting for waiting in self.pending if waiting.client_seq != client_seq]
        found = len(left) < len(self.pending)
        if found:
            self.pending = left
            self.shown = None
        return found


@dataclass(slots=True)
class _Awaited:
    """A snapshot that was requested."""

    asked: SubscribeParams
    """The last request for it: an earlier one may have been cancelled by an unsubscribe."""
    envelopes: list[ActionEnvelope] = field(default_factory=list[ActionEnvelope])
    """Envelopes that have arrived since the request."""


class ClientState:
    """All channels of one client, and the numbers that tie them to the host's order."""

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id
        """The client's id at the host; it stays the same over reconnects."""
        self.last_seen_server_seq = 0
        """Highest number that this connection has brought: a reconnect begins after it."""
        self._client_seq = 0
        self._mirrors: dict[URI, _Mirror] = {}
        # Channels that are subscribed to and have no state.
        self._stateless: set[URI] = set()
        # Channels that were requested by the last `initialize`.
        self._wanted: list[URI] = []
        self._awaited: dict[URI, _Awaited] = {}

    # -- connecting ----------------------------------------------------------------------------------------

    def initialize(self, versions: list[str], subscriptions: list[URI] | None = None) -> InitializeParams:
        """Return the first request of a new connection."""
        self._wanted = subscriptions or []
        self._awaited.clear()
        return InitializeParams(
            channel=ROOT,
            protocol_versions=versions,
            client_id=self.client_id,
            initial_subscriptions=subscriptions,
        )

    def initialized(self, result: InitializeResult) -> None:
        """Start from the state that the host has sent. Earlier channels and pending actions are dropped.

        Our own numbers go on: the host, and answers that are still to come, may know the earlier ones.
        """
        self._mirrors.clear()
        self._stateless.clear()
        self.last_seen_server_seq = result.server_seq
        self._stateless.update(uri for uri in self._wanted if kind_of(uri) is ChannelKind.TELEMETRY)
        for snapshot in result.snapshots:
            self._adopt(snapshot)

    def reconnect(self) -> ReconnectParams:
        """Return the first request of a connection that replaces a broken one."""
        self._awaited.clear()  # requests on the old connection get no answer
        return ReconnectParams(
            channel=ROOT,
            client_id=self.client_id,
            last_seen_server_seq=self.last_seen_server_seq,
            subscriptions=self.subscriptions,
        )

    def reconnected(self, result: ReconnectResult, now: Number) -> list[URI]:
        """Continue from the host's answer: replay what was missed, or start from snapshots.

        A replay contains the answers to our actions. Snapshots do not: it is not known whether they include a
        pending action. So pending actions are applied on top as usual, and an included one is shown twice
        until the host refuses the repeat. A caller that sees that an action is done may `withdraw` it.

        Returns:
            The channels that no longer exist. All `pending` actions are to be sent again: the host recognises
            those that it has seen.

        Raises:
            Mismatch: The host answered with something newer than we are; initialize instead.
        """
        if isinstance(result, Unknown):
            raise Mismatch(f"cannot be {result.raw.get('type')!r}", field="type")
        if isinstance(result, ReconnectReplayResult):
            for envelope in result.actions:
                self.receive(envelope, now)
            lost = [uri for uri in result.missing if uri in self.subscriptions]
        else:
            for snapshot in result.snapshots:
                if snapshot.resource in self._mirrors:  # else unsubscribed in the meantime
                    self._adopt(snapshot)
            # Not the maximum with our own number: a host that has lost its log begins below it.
            self.last_seen_server_seq = max(
                (snapshot.from_seq for snapshot in result.snapshots), default=self.last_seen_server_seq
            )
            kept = {snapshot.resource for snapshot in result.snapshots}
            lost = [uri for uri in self._mirrors if uri not in kept]
        for uri in lost:
            self.unsubscribe(uri)
        return lost

    # -- channels ------------------------------------------------------------------------------------------

    @property
    def subscriptions(self) -> list[URI]:
        """The channels that this client follows."""
        return [*self._mirrors, *self._stateless]

    def subscribe(self, uri: URI) -> SubscribeParams:
        """Return the request that subscribes to a channel. Envelopes are kept until its snapshot arrives."""
        asked = SubscribeParams(channel=uri)
        self._awaited.setdefault(uri, _Awaited(asked)).asked = asked
        return asked

    def subscribed(
        self, uri: URI, result: SubscribeResult, now: Number, asked: SubscribeParams | None = None
    ) -> None:
        """Start from the snapshot in the host's answer, then apply the envelopes that came in the meantime.

        Args:
            uri: The channel.
            result: The answer.
            now: The time, for what came in the meantime.
            asked: What `subscribe` gave for the request that is answered. An answer to an earlier one is
                passed over: after an unsubscribe, what it tells of is no longer kept up to date. Without it,
                an answer is taken for that to the last.
        """
        awaited = self._awaited.get(uri)
        if awaited is None or (asked is not None and asked is not awaited.asked):
            return  # unsubscribed in the meantime
        del self._awaited[uri]
        if result.snapshot is None:
            self._stateless.add(uri)
            return
        self._adopt(result.snapshot)
        for envelope in awaited.envelopes:
            self.receive(envelope, now)

    def unsubscribe(self, uri: URI) -> UnsubscribeParams:
        """Return the notification that ends a subscription. The state is dropped at once."""
        self._mirrors.pop(uri, None)
        self._stateless.discard(uri)
        self._awaited.pop(uri, None)
        return UnsubscribeParams(channel=uri)

    # -- state ---------------------------------------------------------------------------------------------

    def state(self, uri: URI, now: Number) -> ChannelState | None:
        """Return the confirmed state with our pending actions applied; `None` without a subscription."""
        mirror = self._mirrors.get(uri)
        if mirror is None:
            return None
        if mirror.shown is None:
            hoped_for = [dispatched.action for dispatched in mirror.pending] if mirror.optimistic else []
            mirror.shown = fold(mirror.confirmed.snapshot(), hoped_for, now)
        return mirror.shown

    def confirmed(self, uri: URI) -> ChannelState | None:
        """Return the confirmed state, without pending actions; `None` without a subscription."""
        mirror = self._mirrors.get(uri)
        return None if mirror is None else mirror.confirmed.snapshot()

    def session(self, uri: URI) -> LiveSession | None:
        """Return the confirmed state of a session: only to be read, without the cost of a snapshot."""
        mirror = self._mirrors.get(uri)
        found = None if mirror is None else mirror.confirmed
        return found if isinstance(found, LiveSession) else None

    @property
    def pending(self) -> list[DispatchActionParams]:
        """The actions that the host has not answered yet, in the order of dispatch."""
        everything = [dispatched for mirror in self._mirrors.values() for dispatched in mirror.pending]
        return sorted(everything, key=lambda dispatched: dispatched.client_seq)

    # -- actions -------------------------------------------------------------------------------------------

    def dispatch(self, uri: URI, action: StateAction) -> DispatchActionParams:
        """Return the notification that dispatches an action. Its effect is shown at once.

        On a channel that is not followed nothing is shown, and no answer will come.
        """
        self._client_seq += 1
        dispatched = DispatchActionParams(channel=uri, client_seq=self._client_seq, action=action)
        mirror = self._mirrors.get(uri)
        if mirror is not None:
            mirror.pending.append(dispatched)
            mirror.shown = None
        return dispatched

    def receive(self, envelope: ActionEnvelope, now: Number) -> bool:
        """Apply an envelope, live or replayed. One that was seen before changes nothing.

        Returns:
            Whether the confirmed state has it now, as something new or as an answer to an action of ours.
        """
        self.last_seen_server_seq = max(self.last_seen_server_seq, envelope.server_seq)
        uri = envelope.channel
        if uri in self._awaited:
            self._awaited[uri].envelopes.append(envelope)
        mirror = self._mirrors.get(uri)
        if mirror is None:
            return False
        origin = envelope.origin
        ours = origin is not None and origin.client_id == self.client_id and mirror.take(origin.client_seq)
        is_new = envelope.server_seq > mirror.seq  # else it is part of a snapshot, or a repeat
        mirror.seq = max(mirror.seq, envelope.server_seq)
        if envelope.rejection_reason is not None:
            return False
        if is_new:
            mirror.confirmed.apply(envelope.action, now)
            mirror.shown = None
        return is_new or ours

    def withdraw(self, dispatched: DispatchActionParams) -> None:
        """Drop a pending action that was answered by something other than an envelope.

        A snapshot may already hold it, for instance.
        """
        mirror = self._mirrors.get(dispatched.channel)
        if mirror is not None:
            mirror.take(dispatched.client_seq)

    def _adopt(self, snapshot: Snapshot) -> None:
        state = state_of(snapshot)
        if state is None:
            return
        before = self._mirrors.get(snapshot.resource)
        self._mirrors[snapshot.resource] = _Mirror(
            confirmed=live(state),
            seq=snapshot.from_seq,
            optimistic=kind_of(snapshot.resource) is not ChannelKind.TERMINAL,
            pending=before.pending if before else [],
        )
