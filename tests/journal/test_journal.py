"""One order for all that happens, committed before anyone hears of it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from journal.conftest import SESSION, FaultyStore, Listener
from serai.ahp import actions as a
from serai.ahp.types import MarkdownResponsePart, UserMessage
from serai.errors import StorageFailed, StorageUnavailable
from serai.journal.journal import Journal
from serai.journal.sessions import KeptSession
from serai.store.contract import Batch

WITHIN = 30.0


def do(journal: Journal, kept: KeptSession, *actions: a.StateAction) -> None:
    for action in actions:
        kept.apply(action, 5)
        journal.append(kept.uri, action, session=kept)


def title(text: str) -> a.SessionTitleChangedAction:
    return a.SessionTitleChangedAction(title=text)


def begin_turn(journal: Journal, kept: KeptSession) -> None:
    do(
        journal,
        kept,
        a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="hi")),
        a.SessionResponsePartAction(turn_id="t", part=MarkdownResponsePart(id="p", content="")),
    )


def delta(content: str, part: str = "p") -> a.SessionDeltaAction:
    return a.SessionDeltaAction(turn_id="t", part_id=part, content=content)


async def full(journal: Journal) -> None:
    """Wait until the journal knows that nothing can be written."""
    async with asyncio.timeout(WITHIN):
        while journal.unavailable is None:
            await asyncio.wait({journal.ended}, timeout=0.001)


async def test_nothing_is_published_before_it_is_committed(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    listener = Listener()
    journal.subscriptions.add(SESSION, listener)
    store.gate.clear()
    do(journal, kept, title("a"))
    await asyncio.wait({journal.ended}, timeout=0.02)
    assert not listener.writes
    store.gate.set()
    async with asyncio.timeout(WITHIN):
        await journal.committed()
    assert len(listener.lines) == 1


async def test_what_arrives_during_a_commit_goes_into_one_transaction(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    do(journal, kept, title("first"))
    await journal.committed()
    store.gate.clear()
    do(journal, kept, title("second"))
    await asyncio.wait({journal.ended}, timeout=0.01)  # the writer has taken it
    do(journal, kept, title("third"), title("fourth"))
    before = len(store.batches)
    store.gate.set()
    async with asyncio.timeout(WITHIN):
        await journal.committed()
    sizes = [len(batch.items) for batch in store.batches[before:] if batch.items]
    assert sizes == [1, 2]


async def test_deltas_of_one_part_that_wait_together_travel_as_one(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    listener = Listener()
    begin_turn(journal, kept)
    await journal.committed()
    journal.subscriptions.add(SESSION, listener)
    do(journal, kept, delta("a"), delta("b"), delta("c"))
    await journal.committed()
    [line] = listener.lines
    assert msgspec.json.decode(line)["params"]["action"]["content"] == "abc"
    rows = await store.rows(SESSION, 0)
    assert msgspec.json.decode(rows[-1].action)["content"] == "abc"


async def test_a_merged_delta_stays_below_64_kib(journal: Journal, kept: KeptSession) -> None:
    listener = Listener()
    begin_turn(journal, kept)
    await journal.committed()
    journal.subscriptions.add(SESSION, listener)
    for _ in range(3):
        do(journal, kept, delta("x" * 40_000))
    await journal.committed()
    assert len(listener.lines) == 3


async def test_only_a_batch_of_deltas_may_use_the_cheaper_sync(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    begin_turn(journal, kept)
    await journal.committed()
    assert store.batches[-1].durable
    do(journal, kept, delta("text"))
    while len(store.batches) < 2 or store.batches[-1].items == []:
        await asyncio.wait({journal.ended}, timeout=0.001)
        assert not journal.ended.done()
        if any(not batch.durable for batch in store.batches):
            break
    assert not store.batches[-1].durable


async def test_an_effect_happens_between_what_came_before_and_after(
    journal: Journal, kept: KeptSession
) -> None:
    listener = Listener()
    journal.subscriptions.add(SESSION, listener)
    seen: list[tuple[int, int]] = []
    do(journal, kept, title("a"))
    journal.then(lambda seq: seen.append((seq, len(listener.lines))))
    do(journal, kept, title("b"))
    await journal.committed()
    first = msgspec.json.decode(listener.lines[0])["params"]["serverSeq"]
    assert seen == [(first, 1)]
    assert len(listener.lines) == 2


async def test_an_effect_that_raises_does_not_stop_the_journal(
    journal: Journal, kept: KeptSession, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_seq: int) -> None:
        raise ValueError("no")

    journal.then(fail)
    do(journal, kept, title("after"))
    async with asyncio.timeout(WITHIN):
        await journal.committed()
    assert "an effect failed" in caplog.text


async def test_a_rejection_reaches_its_sender_alone_and_is_not_kept(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    sender, other = Listener(), Listener()
    for listener in (sender, other):
        journal.subscriptions.add(SESSION, listener)
    origin = a.ActionOrigin(client_id="c", client_seq=4)
    do(journal, kept, title("before"))
    journal.reject(SESSION, title("no"), origin, "not_ready: wait", sender)
    do(journal, kept, title("after"))
    await journal.committed()
    heard = [msgspec.json.decode(line)["params"] for line in sender.lines]
    assert [item.get("rejectionReason") for item in heard] == [None, "not_ready: wait", None]
    assert [item["serverSeq"] for item in heard] == sorted(item["serverSeq"] for item in heard)
    assert len(other.lines) == 2
    assert len(await store.rows(SESSION, 0)) == 2


async def test_records_have_a_place_in_the_order_and_are_not_published(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    listener = Listener()
    journal.subscriptions.add("serai-relay", listener)
    journal.record("serai-relay", b'{"type":"delivery.created"}')
    await journal.committed()
    assert not listener.writes
    [row] = await store.rows("serai-relay", 0)
    assert row.action == b'{"type":"delivery.created"}'
    del kept


async def test_a_full_disk_publishes_nothing_and_the_batch_is_tried_again(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    listener = Listener()
    journal.subscriptions.add(SESSION, listener)
    store.faults = [StorageUnavailable("the disk is full"), StorageUnavailable("the disk is full")]
    do(journal, kept, title("a"))
    await full(journal)
    assert not listener.writes
    async with asyncio.timeout(WITHIN):
        await journal.committed()
    assert journal.unavailable is None
    assert len(listener.lines) == 1
    assert len(await store.rows(SESSION, 0)) == 1


async def test_who_produces_much_waits_while_the_disk_is_full(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    store.faults = [StorageUnavailable("the disk is full")] * 2
    do(journal, kept, title("a"))
    await full(journal)
    waiting = asyncio.create_task(journal.room())
    await asyncio.wait({waiting}, timeout=0.001)
    assert not waiting.done()
    async with asyncio.timeout(WITHIN):
        await waiting


def send_back(journal: Journal, sender: Listener, *texts: str, waits: bool = False) -> None:
    for number, text in enumerate(texts):
        origin = a.ActionOrigin(client_id="c", client_seq=number)
        journal.reject(SESSION, title(text), origin, "the disk is full", sender, waits=waits)


def titles(listener: Listener) -> list[tuple[int, str]]:
    told = [msgspec.json.decode(line)["params"] for line in listener.lines]
    return [(each["serverSeq"], each["action"]["title"]) for each in told]


async def test_what_is_sent_back_passes_the_line_while_it_stands_still(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    listener = Listener()
    journal.subscriptions.add(SESSION, listener)
    store.faults = [StorageUnavailable("the disk is full")]
    do(journal, kept, title("waits"))
    async with asyncio.timeout(WITHIN):
        await full(journal)
        send_back(journal, listener, "one", "two")
        await journal.committed()
    assert [text for _, text in titles(listener)] == ["one", "two", "waits"]
    numbers = [number for number, _ in titles(listener)]
    assert numbers == sorted(numbers)


async def test_but_not_what_says_that_something_is_written(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    listener = Listener()
    journal.subscriptions.add(SESSION, listener)
    store.faults = [StorageUnavailable("the disk is full")]
    store.gate.clear()
    do(journal, kept, title("first"))
    await asyncio.sleep(0)
    do(journal, kept, title("gathers"))
    store.gate.set()
    await full(journal)
    send_back(journal, listener, "patient", waits=True)
    send_back(journal, listener, "passes")
    async with asyncio.timeout(WITHIN):
        await journal.committed()
    assert [text for _, text in titles(listener)] == ["passes", "first", "gathers", "patient"]


@pytest.mark.parametrize("outcome", ["written", "full"])
async def test_but_never_a_batch_that_may_have_its_numbers(
    journal: Journal, store: FaultyStore, kept: KeptSession, outcome: str
) -> None:
    listener = Listener()
    journal.subscriptions.add(SESSION, listener)
    store.faults = [StorageUnavailable("the disk is full")]
    do(journal, kept, title("waits"))
    async with asyncio.timeout(WITHIN):
        await full(journal)
        store.gate.clear()
        tries = store.tries
        while store.tries == tries:  # it is tried again
            await asyncio.wait({journal.ended}, timeout=0.001)
        send_back(journal, listener, "one", "two")
        await asyncio.wait({journal.ended}, timeout=0.01)
        assert not listener.writes
        store.faults = [StorageUnavailable("the disk is full")] if outcome == "full" else []
        store.gate.set()
        await journal.committed()
    numbers = [number for number, _ in titles(listener)]
    assert numbers == sorted(numbers)
    first = ["waits", "one", "two"] if outcome == "written" else ["one", "two", "waits"]
    assert [text for _, text in titles(listener)] == first


async def test_a_full_disk_is_logged_once_and_so_is_its_end(
    journal: Journal, store: FaultyStore, kept: KeptSession, caplog: pytest.LogCaptureFixture
) -> None:
    store.faults = [StorageUnavailable("the disk is full", remedy="Make room")] * 3
    do(journal, kept, title("a"))
    async with asyncio.timeout(WITHIN):
        await journal.committed()
    begin, end = [record.getMessage() for record in caplog.records]
    assert begin == "nothing can be written, and clients are told so: the disk is full. Make room"
    assert end.startswith("it can be written again, after 0.")


async def test_a_disk_that_fills_up_at_the_end_does_not_keep_the_journal_open(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    listener = Listener()
    journal.subscriptions.add(SESSION, listener)
    store.faults = [StorageUnavailable("the disk is full")] * 1000
    do(journal, kept, title("a"))
    async with asyncio.timeout(WITHIN):
        await journal.close()
    assert not listener.writes


async def test_a_commit_in_doubt_ends_the_journal(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    listener = Listener()
    journal.subscriptions.add(SESSION, listener)
    store.faults = [StorageFailed("the sync failed")]
    do(journal, kept, title("a"))
    with pytest.raises(StorageFailed):
        async with asyncio.timeout(WITHIN):
            await journal.ended
    assert not listener.writes
    with pytest.raises(StorageFailed):
        await journal.committed()


async def test_a_session_that_cannot_be_saved_ends_the_journal(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    def fail(batch: Batch, last_item: int) -> None:
        raise RecursionError(f"too deep: {batch}, {last_item}")

    kept.save = fail
    do(journal, kept, title("a"))
    with pytest.raises(RecursionError):
        async with asyncio.timeout(WITHIN):
            await journal.ended
    do(journal, kept, title("b"))
    with pytest.raises(RecursionError):
        await journal.committed()
    assert not store.batches


async def test_a_follower_of_several_channels_hears_them_in_one_order(
    journal: Journal, kept: KeptSession
) -> None:
    both, one = Listener(), Listener()
    other = "ahp-session:/2"
    journal.subscriptions.add(SESSION, both)
    journal.subscriptions.add(other, both)
    journal.subscriptions.add(other, one)
    do(journal, kept, title("a"))
    journal.append(other, title("b"))
    do(journal, kept, title("c"))
    await journal.committed()
    titles = [msgspec.json.decode(line)["params"]["action"]["title"] for line in both.lines]
    assert titles == ["a", "b", "c"]
    assert len(both.writes) == 1
    assert len(one.lines) == 1


async def test_who_sends_much_is_held_up_while_the_disk_hangs_and_goes_on_afterwards(
    journal: Journal, store: FaultyStore, kept: KeptSession
) -> None:
    went_on = asyncio.Event()
    store.gate.clear()
    do(journal, kept, title("a"))
    await asyncio.wait({journal.ended}, timeout=0.02)  # so that the rest waits for the next batch
    assert not journal.holds_up(went_on.set)
    encoded = b" " * (1 << 20)
    for _ in range(9):
        journal.append(kept.uri, title("b"), encoded=encoded)
    assert journal.holds_up(went_on.set)
    store.gate.set()
    await asyncio.wait_for(went_on.wait(), WITHIN)
    await journal.committed()
    assert not journal.holds_up(went_on.set)
