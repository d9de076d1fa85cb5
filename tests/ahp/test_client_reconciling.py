"""What a client hopes for, what the host says, and what holds after a reconnect."""

from __future__ import annotations

import pytest

from ahp.following import (
    LOGS,
    NOW,
    OTHER,
    TERMINAL,
    TERMINAL_JSON,
    S,
    confirmed_title,
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
from ahp.strategies import action as read_action
from serai.ahp.commands import ReconnectReplayResult, ReconnectSnapshotResult, Snapshot
from serai.ahp.reducers import reduce
from serai.ahp.types import SessionState, TerminalState
from serai.ahp.wire import convert, to_json

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


def test_a_rejection_takes_back_that_action_and_no_other() -> None:
    client = following(S)
    first, second, third = (client.dispatch(S, queued(each)) for each in "abc")
    assert queue(client) == ["a", "b", "c"]
    assert not client.receive(envelope(11, queued("b"), second, rejected="no"), NOW)
    assert client.pending == [first, third]
    assert queue(client) == ["a", "c"]
    assert client.confirmed(S) == convert(session_json(), SessionState)


@pytest.mark.parametrize("origin", [("you", 1), None, ("me", 7)])
def test_a_rejection_of_what_is_not_pending_is_never_reduced(origin: tuple[str, int] | None) -> None:
    client = following(S)
    sent = client.dispatch(S, titled("mine"))
    assert not client.receive(envelope(11, titled("theirs"), origin, rejected="no"), NOW)
    assert client.pending == [sent]
    assert confirmed_title(client) == "A"


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
    assert client.receive(envelope(11, wide, sent, uri=TERMINAL), NOW)
    state = client.state(TERMINAL, NOW)
    assert isinstance(state, TerminalState)
    assert (state.cols, state.rows) == (80, 24)


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
    assert not client.receive(envelope(21, queued("mine"), sent, rejected="duplicate"), NOW)
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
    assert not client.receive(envelope(99, titled("known")), NOW)
    assert client.receive(envelope(100, titled("newer")), NOW)


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
    assert client.receive(envelope(4, titled("B")), NOW)


def test_what_is_sent_again_and_refused_as_a_repeat_is_shown_once() -> None:
    client = following(S)
    sent = client.dispatch(S, queued("mine"))
    after = reduce(convert(session_json(), SessionState), queued("mine"), NOW)
    client.reconnect()
    result = ReconnectSnapshotResult(snapshots=[Snapshot(resource=S, state=to_json(after), from_seq=11)])
    assert client.reconnected(result, NOW).resend == [sent]
    assert not client.receive(envelope(12, queued("mine"), sent, rejected="repeat"), NOW)
    assert queue(client) == ["mine"]
    assert session_of(client) == after
