from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahp.strategies import action as read_action
from ahp.strategies import actions_of, values
from serai.ahp.actions import ActionEnvelope, ActionOrigin, SessionAction, StateAction, TerminalAction
from serai.ahp.client import ClientState, Outcome
from serai.ahp.commands import (
    InitializeResult,
    ReconnectParams,
    ReconnectReplayResult,
    ReconnectResult,
    ReconnectSnapshotResult,
    Snapshot,
    SubscribeResult,
)
from serai.ahp.notifications import DispatchActionParams
from serai.ahp.reducers import LiveSession, LiveState, fold, live, reduce
from serai.ahp.rules import Verdict, judge
from serai.ahp.types import SessionState, TerminalState
from serai.ahp.wire import convert, to_json
from serai.errors import Mismatch

NOW: Final = 9999
S: Final = "ahp-session:/1"
OTHER: Final = "ahp-session:/2"
TERMINAL: Final = "ahp-terminal:/1"
LOGS: Final = "ahp-otlp:logs"


def session_json(title: str = "A") -> dict[str, Any]:
    summary = {
        "resource": S,
        "provider": "demo",
        "title": title,
        "status": 1,
        "createdAt": 1,
        "modifiedAt": 1,
    }
    return {"summary": summary, "lifecycle": "ready", "turns": []}


TERMINAL_JSON: dict[str, Any] = {
    "title": "sh",
    "content": [],
    "claim": {"kind": "client", "clientId": "me"},
}


def snapshot(uri: str = S, seq: int = 10, title: str = "A") -> Snapshot:
    state = TERMINAL_JSON if uri == TERMINAL else session_json(title)
    return Snapshot(resource=uri, state=state, from_seq=seq)


def titled(title: str) -> StateAction:
    return read_action({"type": "session/titleChanged", "title": title})


def queued(message: str) -> StateAction:
    return read_action(
        {"type": "session/pendingMessageSet", "kind": "queued", "id": message, "userMessage": {"text": "x"}}
    )


def envelope(
    seq: int,
    action: StateAction,
    origin: DispatchActionParams | tuple[str, int] | None = None,
    *,
    uri: str = S,
    rejected: str | None = None,
) -> ActionEnvelope:
    """An envelope; `origin` is what this client dispatched, or who did."""
    if isinstance(origin, DispatchActionParams):
        origin = ("me", origin.client_seq)
    who = None if origin is None else ActionOrigin(client_id=origin[0], client_seq=origin[1])
    return ActionEnvelope(channel=uri, action=action, server_seq=seq, origin=who, rejection_reason=rejected)


def following(*uris: str, seq: int = 10) -> ClientState:
    """The client `me`, which has just been connected and follows these channels."""
    client = ClientState("me")
    client.initialize(["0.2.0"], list(uris))
    snapshots = [snapshot(uri, seq) for uri in uris if uri != LOGS]
    client.initialized(InitializeResult(protocol_version="0.2.0", server_seq=seq, snapshots=snapshots))
    return client


def session_of(client: ClientState, uri: str = S) -> SessionState:
    state = client.state(uri, NOW)
    assert isinstance(state, SessionState)
    return state


def title(client: ClientState, uri: str = S) -> str:
    return session_of(client, uri).summary.title


def confirmed_title(client: ClientState, uri: str = S) -> str:
    state = client.confirmed(uri)
    assert isinstance(state, SessionState)
    return state.summary.title


def queue(client: ClientState) -> list[str]:
    return [message.id for message in session_of(client).queued_messages or []]


# --- connecting


def test_the_first_message_says_who_speaks_which_versions_and_what_to_follow() -> None:
    assert to_json(ClientState("me").initialize(["0.2.1", "0.2.0"], [S])) == {
        "channel": "ahp-root://",
        "protocolVersions": ["0.2.1", "0.2.0"],
        "clientId": "me",
        "initialSubscriptions": [S],
    }
    assert "initialSubscriptions" not in to_json(ClientState("me").initialize(["0.2.0"]))


def test_the_snapshots_of_the_first_answer_are_followed() -> None:
    client = following(S, TERMINAL, LOGS)
    assert sorted(client.subscriptions) == [LOGS, S, TERMINAL]
    assert session_of(client) == client.confirmed(S) == convert(session_json(), SessionState)
    assert client.state(TERMINAL, NOW) == convert(TERMINAL_JSON, TerminalState)
    assert client.last_seen_server_seq == 10


def test_a_channel_that_is_not_followed_has_no_state() -> None:
    client = following(S)
    for uri in (OTHER, LOGS, "nonsense"):
        assert client.state(uri, NOW) is None
        assert client.confirmed(uri) is None
        assert client.receive(envelope(11, titled("B"), uri=uri), NOW) is Outcome.IGNORED


def test_what_was_asked_for_at_first_and_is_not_answered_is_not_followed() -> None:
    client = ClientState("me")
    client.initialize(["0.2.0"], [S, OTHER])
    client.initialized(InitializeResult(protocol_version="0.2.0", server_seq=3, snapshots=[snapshot()]))
    assert client.subscriptions == [S]


def test_a_second_initialize_begins_anew() -> None:
    client = following(S, OTHER, LOGS)
    client.dispatch(S, titled("mine"))
    client.receive(envelope(50, titled("B")), NOW)
    client.initialize(["0.2.0"], [S])
    client.initialized(
        InitializeResult(protocol_version="0.2.0", server_seq=4, snapshots=[snapshot(seq=4, title="C")])
    )
    assert client.subscriptions == [S]
    assert client.pending == []
    assert title(client) == "C"
    assert client.last_seen_server_seq == 4
    assert client.receive(envelope(5, titled("D")), NOW) is Outcome.APPLIED


def test_the_clients_own_numbers_never_come_twice_not_even_after_another_initialize() -> None:
    client = following(S)
    first = [client.dispatch(uri, titled("x")).client_seq for uri in (S, S, OTHER)]
    client.reconnect()
    client.reconnected(ReconnectReplayResult(actions=[], missing=[]), NOW)
    second = client.dispatch(S, titled("y")).client_seq
    client.initialize(["0.2.0"], [S])
    client.initialized(InitializeResult(protocol_version="0.2.0", server_seq=10, snapshots=[snapshot()]))
    numbers = [*first, second, client.dispatch(S, titled("z")).client_seq]
    assert numbers == sorted(set(numbers))
    # The answer to the first one comes late, and is not taken for that to the last.
    assert client.receive(envelope(11, titled("x"), ("me", first[0])), NOW) is Outcome.APPLIED
    assert [waiting.action for waiting in client.pending] == [titled("z")]


# --- subscribing


def test_envelopes_that_come_before_the_snapshot_wait_for_it() -> None:
    client = following()
    assert to_json(client.subscribe(S)) == {"channel": S}
    assert client.receive(envelope(11, queued("a")), NOW) is Outcome.BUFFERED
    assert client.receive(envelope(12, queued("b")), NOW) is Outcome.BUFFERED
    assert client.receive(envelope(13, queued("c")), NOW) is Outcome.BUFFERED
    assert client.state(S, NOW) is None
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=11, title="A")), NOW)
    assert queue(client) == ["b", "c"]  # the snapshot has the first already
    assert client.receive(envelope(13, queued("d")), NOW) is Outcome.IGNORED
    assert client.receive(envelope(14, queued("e")), NOW) is Outcome.APPLIED
    assert queue(client) == ["b", "c", "e"]


def test_a_channel_without_state_is_subscribed_to_without_a_snapshot() -> None:
    client = following()
    client.subscribe(LOGS)
    client.subscribed(LOGS, SubscribeResult(), NOW)
    assert client.subscriptions == [LOGS]
    assert client.state(LOGS, NOW) is None
    assert client.reconnect().subscriptions == [LOGS]


def test_a_channel_that_is_unsubscribed_is_forgotten_at_once() -> None:
    client = following(S, LOGS)
    client.dispatch(S, titled("mine"))
    assert to_json(client.unsubscribe(S)) == {"channel": S}
    client.unsubscribe(LOGS)
    assert client.subscriptions == []
    assert client.pending == []
    assert client.state(S, NOW) is None
    assert client.receive(envelope(11, titled("late")), NOW) is Outcome.IGNORED


@pytest.mark.parametrize("result", [SubscribeResult(snapshot=snapshot()), SubscribeResult()])
def test_an_answer_that_comes_after_the_unsubscribe_changes_nothing(result: SubscribeResult) -> None:
    client = following()
    client.subscribe(S)
    client.receive(envelope(11, titled("B")), NOW)
    client.unsubscribe(S)
    client.subscribed(S, result, NOW)
    assert client.subscriptions == []


def test_an_answer_to_what_was_unsubscribed_is_not_taken_for_that_to_the_subscribe_after_it() -> None:
    client = following()
    first = client.subscribe(S)
    client.unsubscribe(S)
    second = client.subscribe(S)
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=11, title="old")), NOW, first)
    assert client.subscriptions == []  # what happens next would never be told
    assert client.receive(envelope(21, queued("a")), NOW) is Outcome.BUFFERED
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=20, title="new")), NOW, second)
    assert title(client) == "new"
    assert queue(client) == ["a"]


def test_of_two_subscribes_the_answer_to_the_last_one_counts() -> None:
    client = following()
    first, second = client.subscribe(S), client.subscribe(S)
    client.receive(envelope(11, queued("a")), NOW)
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=10)), NOW, first)
    client.receive(envelope(12, queued("b")), NOW)
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=10)), NOW, second)
    assert queue(client) == ["a", "b"]


def test_a_second_subscribe_starts_from_the_new_snapshot_and_loses_nothing() -> None:
    client = following(S)
    kept = client.dispatch(S, queued("mine"))
    client.subscribe(S)
    client.receive(envelope(11, queued("a")), NOW)
    client.receive(envelope(12, queued("mine"), kept), NOW)
    client.receive(envelope(13, queued("b")), NOW)
    assert queue(client) == ["a", "mine", "b"]  # it is followed all the time
    state = convert(session_json(), SessionState)
    for each in ("a", "mine"):
        state = reduce(state, queued(each), NOW)
    client.subscribed(S, SubscribeResult(snapshot=Snapshot(resource=S, state=state, from_seq=12)), NOW)
    assert queue(client) == ["a", "mine", "b"]
    assert client.pending == []


@pytest.mark.parametrize(("refusal", "outcome"), [(None, Outcome.CONFIRMED), ("no", Outcome.REJECTED)])
def test_an_answer_that_the_snapshot_has_overtaken_is_not_applied_and_still_an_answer(
    refusal: str | None, outcome: Outcome
) -> None:
    client = following(S)
    sent = client.dispatch(S, queued("mine"))
    client.subscribe(S)
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=20, title="B")), NOW)
    assert queue(client) == ["mine"]
    assert client.receive(envelope(15, queued("mine"), sent, rejected=refusal), NOW) is outcome
    assert client.pending == []
    assert queue(client) == []
    assert title(client) == "B"
    assert client.receive(envelope(16, queued("late")), NOW) is Outcome.IGNORED


def test_a_second_subscribe_that_is_never_answered_leaves_no_gap() -> None:
    client = following(S)
    client.subscribe(S)
    client.receive(envelope(11, queued("a")), NOW)
    assert client.reconnect().last_seen_server_seq == 11
    client.reconnected(ReconnectReplayResult(actions=[envelope(12, queued("b"))], missing=[]), NOW)
    assert queue(client) == ["a", "b"]


@pytest.mark.parametrize("resumed", [True, False])
def test_a_subscribe_that_broke_with_its_connection_is_not_waited_for(resumed: bool) -> None:
    client = following(S)
    client.subscribe(OTHER)
    if resumed:
        client.reconnect()
    else:
        client.initialize(["0.2.0"])
    assert client.receive(envelope(11, titled("B"), uri=OTHER), NOW) is Outcome.IGNORED
    assert client.state(OTHER, NOW) is None


def test_a_subscribe_right_behind_a_reconnect_is_answered_after_it() -> None:
    client = following(S)
    client.reconnect()
    client.subscribe(OTHER)
    client.reconnected(ReconnectReplayResult(actions=[], missing=[]), NOW)
    assert client.receive(envelope(12, titled("B"), uri=OTHER), NOW) is Outcome.BUFFERED
    client.subscribed(OTHER, SubscribeResult(snapshot=snapshot(OTHER, 11)), NOW)
    assert title(client, OTHER) == "B"


def test_a_snapshot_that_does_not_fit_its_channel_is_a_mismatch() -> None:
    client = following()
    client.subscribe(S)
    with pytest.raises(Mismatch):
        client.subscribed(
            S, SubscribeResult(snapshot=Snapshot(resource=S, state={"title": 1}, from_seq=1)), NOW
        )


# --- what is hoped for, and what is confirmed


def test_what_is_dispatched_is_shown_at_once_and_is_not_confirmed() -> None:
    client = following(S)
    sent = client.dispatch(S, titled("mine"))
    assert to_json(sent) == {
        "channel": S,
        "clientSeq": 1,
        "action": {"type": "session/titleChanged", "title": "mine"},
    }
    assert client.pending == [sent]
    assert title(client) == "mine"
    assert confirmed_title(client) == "A"


def test_an_echo_confirms_what_was_shown() -> None:
    client = following(S)
    sent = client.dispatch(S, titled("mine"))
    assert client.receive(envelope(11, titled("mine"), sent), NOW) is Outcome.CONFIRMED
    assert client.pending == []
    assert title(client) == confirmed_title(client) == "mine"


def test_the_host_wins_also_when_its_echo_says_something_else() -> None:
    client = following(S)
    sent = client.dispatch(S, titled("mine"))
    assert client.receive(envelope(11, titled("trimmed"), sent), NOW) is Outcome.CONFIRMED
    assert title(client) == "trimmed"


def test_a_rejection_takes_back_that_action_and_no_other() -> None:
    client = following(S)
    first, second, third = (client.dispatch(S, queued(each)) for each in "abc")
    assert queue(client) == ["a", "b", "c"]
    assert client.receive(envelope(11, queued("b"), second, rejected="no"), NOW) is Outcome.REJECTED
    assert client.pending == [first, third]
    assert queue(client) == ["a", "c"]
    assert client.confirmed(S) == convert(session_json(), SessionState)


@pytest.mark.parametrize("origin", [("you", 1), None, ("me", 7)])
def test_a_rejection_of_what_is_not_pending_is_never_reduced(origin: tuple[str, int] | None) -> None:
    client = following(S)
    sent = client.dispatch(S, titled("mine"))
    assert client.receive(envelope(11, titled("theirs"), origin, rejected="no"), NOW) is Outcome.IGNORED
    assert client.pending == [sent]
    assert confirmed_title(client) == "A"


def test_a_rejection_without_words_is_a_rejection() -> None:
    client = following(S)
    sent = client.dispatch(S, titled("mine"))
    assert client.receive(envelope(11, titled("mine"), sent, rejected=""), NOW) is Outcome.REJECTED
    assert title(client) == "A"


def test_the_number_of_another_client_is_not_ours() -> None:
    client = following(S)
    sent = client.dispatch(S, queued("mine"))
    assert client.receive(envelope(11, queued("theirs"), ("you", sent.client_seq)), NOW) is Outcome.APPLIED
    assert client.pending == [sent]
    assert queue(client) == ["theirs", "mine"]


def test_what_others_do_in_the_meantime_goes_under_what_is_pending() -> None:
    client = following(S)
    sent = client.dispatch(S, queued("mine"))
    assert client.receive(envelope(11, queued("host")), NOW) is Outcome.APPLIED
    assert client.receive(envelope(12, queued("yours"), ("you", 1)), NOW) is Outcome.APPLIED
    assert queue(client) == ["host", "yours", "mine"]
    client.receive(envelope(13, queued("mine"), sent), NOW)
    assert queue(client) == ["host", "yours", "mine"]


def test_what_is_shown_is_a_value_that_later_actions_do_not_change() -> None:
    client = following(S)
    before = session_of(client)
    confirmed = client.confirmed(S)
    client.dispatch(S, titled("mine"))
    client.receive(envelope(11, queued("host")), NOW)
    assert before == confirmed == convert(session_json(), SessionState)


def test_an_unknown_action_is_counted_and_changes_nothing() -> None:
    client = following(S)
    assert client.receive(envelope(11, read_action({"type": "session/later"})), NOW) is Outcome.APPLIED
    assert session_of(client) == convert(session_json(), SessionState)
    assert client.last_seen_server_seq == 11


def test_pending_actions_of_all_channels_are_in_the_order_of_dispatch() -> None:
    client = following(S, OTHER)
    sent = [client.dispatch(uri, titled("x")) for uri in (S, OTHER, S, OTHER)]
    assert client.pending == sent


def test_a_terminal_shows_only_what_the_host_has_said() -> None:
    client = following(TERMINAL)
    wide = read_action({"type": "terminal/resized", "cols": 80, "rows": 24})
    sent = client.dispatch(TERMINAL, wide)
    assert client.pending == [sent]
    assert client.state(TERMINAL, NOW) == client.confirmed(TERMINAL) == convert(TERMINAL_JSON, TerminalState)
    assert client.receive(envelope(11, wide, sent, uri=TERMINAL), NOW) is Outcome.CONFIRMED
    state = client.state(TERMINAL, NOW)
    assert isinstance(state, TerminalState)
    assert (state.cols, state.rows) == (80, 24)


def test_a_dispatch_on_a_channel_that_is_not_followed_is_sent_and_not_waited_for() -> None:
    client = following(S)
    sent = client.dispatch(OTHER, titled("mine"))
    assert (sent.channel, sent.client_seq) == (OTHER, 1)
    assert client.pending == []
    assert client.state(OTHER, NOW) is None


# --- numbers


def test_the_highest_number_of_any_channel_is_where_a_reconnect_begins() -> None:
    client = following(S)
    client.receive(envelope(12, titled("B")), NOW)
    client.receive(envelope(15, titled("C"), uri=OTHER), NOW)
    client.receive(envelope(14, titled("D"), ("you", 1), rejected="no"), NOW)
    assert client.last_seen_server_seq == 15
    assert to_json(client.reconnect()) == {
        "channel": "ahp-root://",
        "clientId": "me",
        "lastSeenServerSeq": 15,
        "subscriptions": [S],
    }


def test_an_envelope_that_came_before_changes_nothing() -> None:
    client = following(S)
    client.receive(envelope(12, queued("a")), NOW)
    for seq in (12, 11, 10, 1):
        assert client.receive(envelope(seq, queued(f"again {seq}")), NOW) is Outcome.IGNORED
    assert queue(client) == ["a"]


# --- reconnecting


def test_what_was_missed_is_replayed_and_what_was_not_answered_is_sent_again() -> None:
    client = following(S, OTHER)
    seen, lost, other = (
        client.dispatch(S, queued("seen")),
        client.dispatch(S, queued("lost")),
        client.dispatch(OTHER, titled("mine")),
    )
    client.reconnect()
    missed = [envelope(11, queued("host")), envelope(12, queued("seen"), seen)]
    done = client.reconnected(ReconnectReplayResult(actions=missed, missing=[]), NOW)
    assert done.resend == [lost, other] == client.pending
    assert done.lost == []
    assert queue(client) == ["host", "seen", "lost"]
    assert client.last_seen_server_seq == 12


def test_a_replay_may_begin_with_what_is_known_already() -> None:
    client = following(S)
    client.receive(envelope(11, queued("a")), NOW)
    client.reconnect()
    again = [envelope(11, queued("a")), envelope(12, queued("b"))]
    client.reconnected(ReconnectReplayResult(actions=again, missing=[]), NOW)
    assert queue(client) == ["a", "b"]


def test_a_snapshot_does_not_tell_which_of_our_actions_it_holds_so_they_are_shown_until_answered() -> None:
    # The host took the message, and began a turn with it, before the connection broke.
    client = following(S)
    sent = client.dispatch(S, queued("mine"))
    client.reconnect()
    taken = {"id": "t", "userMessage": {"text": "x"}, "responseParts": []}
    state = convert({**session_json(), "activeTurn": taken}, SessionState)
    answer = ReconnectSnapshotResult(snapshots=[Snapshot(resource=S, state=state, from_seq=20)])
    assert client.reconnected(answer, NOW).resend == [sent]
    assert queue(client) == ["mine"]  # as if it waited still
    assert client.receive(envelope(21, queued("mine"), sent, rejected="duplicate"), NOW) is Outcome.REJECTED
    assert session_of(client) == client.confirmed(S) == state


def test_who_knows_that_a_snapshot_holds_an_action_withdraws_it() -> None:
    client = following(S)
    sent = client.dispatch(S, queued("mine"))
    client.reconnect()
    client.reconnected(ReconnectSnapshotResult(snapshots=[snapshot(seq=20)]), NOW)
    client.withdraw(sent)
    assert client.pending == []
    assert queue(client) == []


def test_channels_that_are_missing_are_lost_with_what_was_pending_there() -> None:
    client = following(S, OTHER, LOGS)
    client.dispatch(OTHER, titled("mine"))
    client.reconnect()
    done = client.reconnected(ReconnectReplayResult(actions=[], missing=[OTHER, LOGS, "ahp-session:/9"]), NOW)
    assert sorted(done.lost) == [LOGS, OTHER]
    assert done.resend == []
    assert client.subscriptions == [S]


def test_after_too_long_a_gap_the_snapshots_are_what_is_confirmed() -> None:
    client = following(S, OTHER, TERMINAL, LOGS)
    client.receive(envelope(20, titled("old")), NOW)
    sent = client.dispatch(S, queued("mine"))
    client.dispatch(OTHER, titled("mine"))
    client.reconnect()
    result = ReconnectSnapshotResult(snapshots=[snapshot(S, 99, "new"), snapshot(TERMINAL, 98)])
    done = client.reconnected(result, NOW)
    assert done.lost == [OTHER]
    assert done.resend == [sent]
    assert confirmed_title(client) == "new"
    assert queue(client) == ["mine"]
    assert sorted(client.subscriptions) == [LOGS, S, TERMINAL]
    assert client.last_seen_server_seq == 99
    assert client.receive(envelope(99, titled("known")), NOW) is Outcome.IGNORED
    assert client.receive(envelope(100, titled("newer")), NOW) is Outcome.APPLIED


def test_a_channel_that_was_left_before_the_reconnect_is_answered_stays_left() -> None:
    client = following(S, OTHER)
    client.reconnect()
    client.unsubscribe(OTHER)
    client.reconnected(ReconnectSnapshotResult(snapshots=[snapshot(S, 20), snapshot(OTHER, 20)]), NOW)
    assert client.subscriptions == [S]


def test_a_host_that_counts_from_below_what_was_seen_is_believed() -> None:
    client = following(S, seq=500)
    client.reconnect()
    client.reconnected(ReconnectSnapshotResult(snapshots=[snapshot(S, 3, "restarted")]), NOW)
    assert client.last_seen_server_seq == 3
    assert client.receive(envelope(4, titled("B")), NOW) is Outcome.APPLIED


def test_what_is_sent_again_and_refused_as_a_repeat_is_shown_once() -> None:
    client = following(S)
    sent = client.dispatch(S, queued("mine"))
    after = reduce(convert(session_json(), SessionState), queued("mine"), NOW)
    client.reconnect()
    result = ReconnectSnapshotResult(snapshots=[Snapshot(resource=S, state=to_json(after), from_seq=11)])
    assert client.reconnected(result, NOW).resend == [sent]
    assert client.receive(envelope(12, queued("mine"), sent, rejected="repeat"), NOW) is Outcome.REJECTED
    assert queue(client) == ["mine"]
    assert session_of(client) == after


# --- a small host, clients that do what they like, and a network that is slow and breaks


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
        verdict, reason = judge(self.states.get(params.channel), params.action, origin.client_id)
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
            case Verdict.IGNORE:
                pass

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
        for params in wire.client.reconnected(result, NOW).resend:
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


@settings(max_examples=80)
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
