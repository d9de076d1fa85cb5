"""How a client connects, and how it comes to follow a channel."""

from __future__ import annotations

import pytest

from ahp.following import (
    LOGS,
    NOW,
    OTHER,
    TERMINAL,
    TERMINAL_JSON,
    S,
    envelope,
    following,
    queue,
    queued,
    session_json,
    session_of,
    snapshot,
    title,
    titled,
)
from serai.ahp.client import ClientState
from serai.ahp.commands import InitializeResult, ReconnectReplayResult, Snapshot, SubscribeResult
from serai.ahp.reducers import reduce
from serai.ahp.types import SessionState, TerminalState
from serai.ahp.wire import convert, to_json
from serai.errors import Mismatch

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
    assert client.receive(envelope(5, titled("D")), NOW)


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
    assert client.receive(envelope(11, titled("x"), ("me", first[0])), NOW)
    assert [waiting.action for waiting in client.pending] == [titled("z")]


# --- subscribing


def test_envelopes_that_come_before_the_snapshot_wait_for_it() -> None:
    client = following()
    assert to_json(client.subscribe(S)) == {"channel": S}
    assert not client.receive(envelope(11, queued("a")), NOW)
    assert not client.receive(envelope(12, queued("b")), NOW)
    assert not client.receive(envelope(13, queued("c")), NOW)
    assert client.state(S, NOW) is None
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=11, title="A")), NOW)
    assert queue(client) == ["b", "c"]  # the snapshot has the first already
    assert not client.receive(envelope(13, queued("d")), NOW)
    assert client.receive(envelope(14, queued("e")), NOW)
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
    assert not client.receive(envelope(11, titled("late")), NOW)


def test_an_answer_to_what_was_unsubscribed_is_not_taken_for_that_to_the_subscribe_after_it() -> None:
    client = following()
    first = client.subscribe(S)
    client.unsubscribe(S)
    second = client.subscribe(S)
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=11, title="old")), NOW, first)
    assert client.subscriptions == []  # what happens next would never be told
    assert not client.receive(envelope(21, queued("a")), NOW)
    client.subscribed(S, SubscribeResult(snapshot=snapshot(seq=20, title="new")), NOW, second)
    assert title(client) == "new"
    assert queue(client) == ["a"]


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


@pytest.mark.parametrize(("refusal", "outcome"), [(None, True), ("no", False)])
def test_an_answer_that_the_snapshot_has_overtaken_is_not_applied_and_still_an_answer(
    refusal: str | None, outcome: bool
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
    assert not client.receive(envelope(16, queued("late")), NOW)


@pytest.mark.parametrize("resumed", [True, False])
def test_a_subscribe_that_broke_with_its_connection_is_not_waited_for(resumed: bool) -> None:
    client = following(S)
    client.subscribe(OTHER)
    if resumed:
        client.reconnect()
    else:
        client.initialize(["0.2.0"])
    assert not client.receive(envelope(11, titled("B"), uri=OTHER), NOW)
    assert client.state(OTHER, NOW) is None


def test_a_subscribe_right_behind_a_reconnect_is_answered_after_it() -> None:
    client = following(S)
    client.reconnect()
    client.subscribe(OTHER)
    client.reconnected(ReconnectReplayResult(actions=[], missing=[]), NOW)
    assert not client.receive(envelope(12, titled("B"), uri=OTHER), NOW)
    client.subscribed(OTHER, SubscribeResult(snapshot=snapshot(OTHER, 11)), NOW)
    assert title(client, OTHER) == "B"


def test_a_snapshot_that_does_not_fit_its_channel_is_a_mismatch() -> None:
    client = following()
    client.subscribe(S)
    with pytest.raises(Mismatch):
        client.subscribed(
            S, SubscribeResult(snapshot=Snapshot(resource=S, state={"title": 1}, from_seq=1)), NOW
        )
