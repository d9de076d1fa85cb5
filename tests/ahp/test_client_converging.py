"""A small host, clients that do what they like, and a network that is slow and breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from hypothesis import given, settings, strategies as st

from ahp.following import NOW, TERMINAL, S
from ahp.strategies import action as read_action, actions_of, values
from serai.ahp.actions import ActionEnvelope, ActionOrigin, SessionAction, StateAction, TerminalAction
from serai.ahp.client import ClientState
from serai.ahp.commands import (
    ReconnectParams,
    ReconnectReplayResult,
    ReconnectResult,
    ReconnectSnapshotResult,
    Snapshot,
    SubscribeResult,
)
from serai.ahp.notifications import DispatchActionParams
from serai.ahp.reducers import LiveSession, LiveState, fold, live
from serai.ahp.rules import Verdict, judge
from serai.ahp.types import SessionState, TerminalState
from serai.ahp.wire import to_json


@dataclass
class Wire:
    """One client and its way to the host and back. `up` is false between two connections."""

    client: ClientState
    up: bool = True
    to_host: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    to_client: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    answers: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """Answers to subscribes: envelopes may overtake them."""
    asked: set[str] = field(default_factory=set[str])
    """What such an answer is awaited for. One at a time: it does not say which of two it answers."""
    live: set[str] = field(default_factory=set[str])
    owed: list[DispatchActionParams] = field(default_factory=list[DispatchActionParams])
    """What has to reach the host, however often the connection breaks."""

    def cut(self) -> None:
        self.up = False
        self.to_host.clear()
        self.to_client.clear()
        self.answers.clear()
        self.asked.clear()
        self.live.clear()

    def send(self, message: Callable[[], None]) -> None:
        if self.up:
            self.to_host.append(message)


class SmallHost:
    """Numbers, judges, reduces and publishes, in memory."""

    def __init__(self, states: dict[str, LiveState[Any]], count: int) -> None:
        self.states = states
        self.wires = [Wire(ClientState(f"c{n}")) for n in range(count)]
        self.seq = 0
        self.log: list[ActionEnvelope] = []
        self.seen: set[tuple[str, int]] = set()
        self.deferred: list[tuple[str, StateAction, ActionOrigin]] = []

    def publish(self, uri: str, action: StateAction, origin: ActionOrigin | None) -> None:
        self.states[uri].apply(action, NOW)
        self.seq += 1
        sent = ActionEnvelope(channel=uri, action=action, server_seq=self.seq, origin=origin)
        self.log.append(sent)
        for wire in self.wires:
            if uri in wire.live:
                wire.to_client.append(lambda wire=wire: self.deliver(wire, sent))
        self.settle_deferred()

    def settle_deferred(self) -> None:
        for waiting in list(self.deferred):
            state = self.states[waiting[0]]
            if isinstance(state, LiveSession) and state.turn is None:
                self.deferred.remove(waiting)
                self.publish(*waiting)
                return

    def dispatched(self, wire: Wire, params: DispatchActionParams) -> None:
        origin = ActionOrigin(client_id=wire.client.client_id, client_seq=params.client_seq)
        key = (origin.client_id, origin.client_seq)
        if params.channel not in self.states:
            return
        verdict, reason = judge(self.states[params.channel], params.action, origin.client_id)
        if key in self.seen:
            verdict, reason = Verdict.REJECT, "repeat"
        self.seen.add(key)
        match verdict:
            case Verdict.ACCEPT:
                self.publish(params.channel, params.action, origin)
            case Verdict.DEFER:
                self.deferred.append((params.channel, params.action, origin))
            case Verdict.REJECT:
                self.seq += 1
                if params.channel in wire.live:
                    sent = ActionEnvelope(
                        channel=params.channel,
                        action=params.action,
                        server_seq=self.seq,
                        origin=origin,
                        rejection_reason=reason,
                    )
                    wire.to_client.append(lambda: self.deliver(wire, sent))

    def deliver(self, wire: Wire, sent: ActionEnvelope) -> None:
        wire.client.receive(sent, NOW)

    def snapshot(self, uri: str) -> Snapshot:
        return Snapshot(resource=uri, state=to_json(self.states[uri].snapshot()), from_seq=self.seq)

    def subscribe(self, wire: Wire, uri: str) -> None:
        if not wire.up or uri in wire.asked:
            return
        params = wire.client.subscribe(uri)
        wire.asked.add(uri)

        def at_host() -> None:
            result = SubscribeResult(snapshot=self.snapshot(params.channel))
            wire.live.add(uri)
            wire.answers.append(lambda: at_client(result))

        def at_client(result: SubscribeResult) -> None:
            wire.asked.remove(uri)
            wire.client.subscribed(uri, result, NOW)

        wire.send(at_host)

    def unsubscribe(self, wire: Wire, uri: str) -> None:
        wire.client.unsubscribe(uri)
        wire.owed = [params for params in wire.owed if params.channel != uri]
        wire.send(lambda: wire.live.discard(uri))

    def dispatch(self, wire: Wire, uri: str, action: StateAction) -> None:
        params = wire.client.dispatch(uri, action)
        if uri in wire.client.subscriptions:
            wire.owed.append(params)
        wire.send(lambda: self.dispatched(wire, params))

    def reconnect(self, wire: Wire, *, replay: bool) -> None:
        wire.cut()
        wire.up = True
        result = self.reconnect_result(wire.client.reconnect(), replay=replay)
        wire.live.update(wire.client.subscriptions)
        wire.to_client.append(lambda: self.take_up(wire, result))

    def reconnect_result(self, params: ReconnectParams, *, replay: bool) -> ReconnectResult:
        if not replay:
            return ReconnectSnapshotResult(snapshots=[self.snapshot(uri) for uri in params.subscriptions])
        after = params.last_seen_server_seq
        missed = [e for e in self.log if e.server_seq > after and e.channel in params.subscriptions]
        return ReconnectReplayResult(actions=missed, missing=[])

    def take_up(self, wire: Wire, result: ReconnectResult) -> None:
        wire.client.reconnected(result, NOW)
        for params in wire.client.pending:
            wire.send(lambda params=params: self.dispatched(wire, params))

    def quiet(self) -> None:
        """Everything is delivered, in one order or another, until nobody has anything left to say."""
        while any(wire.to_host or wire.to_client or wire.answers for wire in self.wires):
            for wire in self.wires:
                for way in (wire.to_host, wire.to_client, wire.answers):
                    while way:
                        way.pop(0)()


Step: TypeAlias = tuple[str, int, str, StateAction]
STEPS: Final = (
    *("host", "dispatch", "dispatch", "up", "up", "up", "down", "down", "down", "answer"),
    *("cut", "replay", "snapshot", "subscribe", "leave"),
)


@st.composite
def steps(draw: st.DrawFn) -> Step:
    uri = draw(st.sampled_from([S, S, S, TERMINAL]))
    action = draw(actions_of(SessionAction if uri == S else TerminalAction, strange=True))
    return draw(st.sampled_from(STEPS)), draw(st.integers(1, 2)), uri, action


def take(host: SmallHost, step: Step) -> None:
    kind, number, uri, action = step
    wire = host.wires[number]
    match kind:
        case "host":
            host.publish(uri, action, None)
        case "dispatch":
            host.dispatch(wire, uri, action)
        case "up" if wire.to_host:
            wire.to_host.pop(0)()
        case "down" if wire.to_client:
            wire.to_client.pop(0)()
        case "answer" if wire.answers:
            wire.answers.pop(0)()
        case "cut":
            wire.cut()
        case "replay" | "snapshot":
            host.reconnect(wire, replay=kind == "replay")
        case "subscribe":  # also to what is followed already
            host.subscribe(wire, uri)
        case "leave":
            host.unsubscribe(wire, uri)
        case _:
            pass


def shows_what_it_hopes_for(client: ClientState) -> bool:
    """Whether the pending actions stand on top of what is confirmed, but for a terminal's."""
    for uri in client.subscriptions:
        confirmed = client.confirmed(uri)
        assert confirmed is not None
        hopes = [sent.action for sent in client.pending if sent.channel == uri != TERMINAL]
        if client.state(uri, NOW) != fold(confirmed, hopes, NOW):
            return False
    return True


def begin(host: SmallHost) -> None:
    for wire in host.wires:
        for uri in host.states:
            host.subscribe(wire, uri)
    host.quiet()


def come_to_rest(host: SmallHost) -> None:
    for wire in host.wires:
        if not wire.up:
            host.reconnect(wire, replay=True)
    host.quiet()
    for wire in host.wires:
        for uri in host.states.keys() - wire.client.subscriptions:
            host.subscribe(wire, uri)
    host.publish(S, read_action({"type": "session/truncated"}), None)  # no turn is left: nothing is deferred
    host.quiet()


@settings(max_examples=40)
@given(values(SessionState), values(TerminalState), st.lists(steps(), min_size=10, max_size=60))
def test_clients_that_reconcile_end_where_the_host_is_and_where_a_mere_listener_is(
    session: SessionState, terminal: TerminalState, history: list[Step]
) -> None:
    host = SmallHost({S: live(session), TERMINAL: live(terminal)}, 3)
    listener = host.wires[0].client
    begin(host)
    for step in history:
        take(host, step)
        assert all(shows_what_it_hopes_for(wire.client) for wire in host.wires)
    come_to_rest(host)
    for wire in host.wires:
        assert wire.client.pending == []
        assert {(wire.client.client_id, params.client_seq) for params in wire.owed} <= host.seen
        for uri, state in host.states.items():
            assert wire.client.confirmed(uri) == state.snapshot()
            assert wire.client.state(uri, NOW) == state.snapshot() == listener.confirmed(uri)
