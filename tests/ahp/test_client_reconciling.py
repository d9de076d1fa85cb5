"""What a client hopes for, what the host says, and what holds after a reconnect."""

from __future__ import annotations

from ahp.following import (
    LOGS,
    NOW,
    OTHER,
    TERMINAL,
    S,
    confirmed_title,
    envelope,
    following,
    queue,
    queued,
    snapshot,
    titled,
)
from serai.ahp.commands import ReconnectReplayResult, ReconnectSnapshotResult
from serai.ahp.wire import to_json

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


# --- reconnecting


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
    lost = client.reconnected(ReconnectReplayResult(actions=[], missing=[OTHER, LOGS, "ahp-session:/9"]), NOW)
    assert sorted(lost) == [LOGS, OTHER]
    assert client.pending == []
    assert client.subscriptions == [S]


def test_after_too_long_a_gap_the_snapshots_are_what_is_confirmed() -> None:
    client = following(S, OTHER, TERMINAL, LOGS)
    client.receive(envelope(20, titled("old")), NOW)
    sent = client.dispatch(S, queued("mine"))
    client.dispatch(OTHER, titled("mine"))
    client.reconnect()
    result = ReconnectSnapshotResult(snapshots=[snapshot(S, 99, "new"), snapshot(TERMINAL, 98)])
    assert client.reconnected(result, NOW) == [OTHER]
    assert client.pending == [sent]
    assert confirmed_title(client) == "new"
    assert queue(client) == ["mine"]
    assert sorted(client.subscriptions) == [LOGS, S, TERMINAL]
    assert client.last_seen_server_seq == 99
    assert not client.receive(envelope(99, titled("known")), NOW)
    assert client.receive(envelope(100, titled("newer")), NOW)


def test_a_host_that_counts_from_below_what_was_seen_is_believed() -> None:
    client = following(S, seq=500)
    client.reconnect()
    client.reconnected(ReconnectSnapshotResult(snapshots=[snapshot(S, 3, "restarted")]), NOW)
    assert client.last_seen_server_seq == 3
    assert client.receive(envelope(4, titled("B")), NOW)
