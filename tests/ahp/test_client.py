"""How a client connects, and how it comes to follow a channel."""

from __future__ import annotations

import pytest

from ahp.following import (
    LOGS,
    NOW,
    OTHER,
    S,
    envelope,
    following,
    queue,
    queued,
    snapshot,
    title,
    titled,
)
from serai.ahp.client import ClientState
from serai.ahp.commands import InitializeResult, ReconnectReplayResult, Snapshot, SubscribeResult
from serai.ahp.wire import to_json
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


def test_a_channel_without_state_is_subscribed_to_without_a_snapshot() -> None:
    client = following()
    client.subscribe(LOGS)
    client.subscribed(LOGS, SubscribeResult(), NOW)
    assert client.subscriptions == [LOGS]
    assert client.state(LOGS, NOW) is None
    assert client.reconnect().subscriptions == [LOGS]


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


def test_a_snapshot_that_does_not_fit_its_channel_is_a_mismatch() -> None:
    client = following()
    client.subscribe(S)
    with pytest.raises(Mismatch):
        client.subscribed(
            S, SubscribeResult(snapshot=Snapshot(resource=S, state={"title": 1}, from_seq=1)), NOW
        )
