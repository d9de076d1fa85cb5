"""A session comes back from its head, its turns and the actions since."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings, strategies as st

from journal.conftest import SESSION, empty_session
from serai.ahp import actions as a, wire
from serai.ahp.types import MarkdownResponsePart, UserMessage
from serai.journal.sessions import KeptSession
from serai.store.contract import Batch, Row
from serai.store.memory import MemoryStore

WORDS = st.text("abc ", min_size=1, max_size=5)
STEPS: st.SearchStrategy[tuple[str, object]] = st.one_of(
    st.tuples(st.just("turn"), st.none()),
    st.tuples(st.just("text"), WORDS),
    st.tuples(st.just("end"), st.none()),
    st.tuples(st.just("truncate"), st.integers(0, 4)),
    st.tuples(st.just("title"), WORDS),
    st.tuples(st.just("commit"), st.none()),
    st.tuples(st.just("big"), st.none()),
)


def actions_for(kept: KeptSession, step: tuple[str, object], number: int) -> list[a.StateAction]:
    head, turn = kept.live.head, kept.live.turn
    match step:
        case ("turn", _) if turn is None:
            return [
                a.SessionTurnStartedAction(turn_id=f"t{number}", user_message=UserMessage(text="hi")),
                a.SessionResponsePartAction(
                    turn_id=f"t{number}", part=MarkdownResponsePart(id="p", content="")
                ),
            ]
        case ("text", str(text)) if turn is not None:
            return [a.SessionDeltaAction(turn_id=turn.id, part_id="p", content=text)]
        case ("big", _) if turn is not None:
            return [a.SessionDeltaAction(turn_id=turn.id, part_id="p", content="x" * 50_000)]
        case ("end", _) if turn is not None:
            return [a.SessionTurnCompleteAction(turn_id=turn.id)]
        case ("truncate", int(n)):
            return [a.SessionTruncatedAction(turn_id=head.turns[n].id if n < len(head.turns) else None)]
        case ("title", str(text)):
            return [a.SessionTitleChangedAction(title=text)]
        case _:
            return []


async def commit(store: MemoryStore, kept: KeptSession, batch: Batch) -> None:
    kept.wrote([len(row.action) for row in batch.items if row])
    kept.save(batch, len(batch.items) - 1)
    await store.append(batch)


async def restored(store: MemoryStore) -> KeptSession:
    head = await store.head(SESSION)
    assert head is not None
    [row] = await store.sessions()
    return KeptSession.restore(row, head, await store.turns(SESSION), await store.rows(SESSION, head.seq))


@settings(max_examples=60)
@given(st.lists(STEPS, max_size=25))
def test_a_session_read_back_equals_the_one_that_was_written(steps: list[tuple[str, object]]) -> None:
    async def scenario() -> None:
        store = MemoryStore()
        await store.open()
        kept = KeptSession.create(SESSION, empty_session())
        batch = Batch()
        for number, step in enumerate([*steps, ("commit", None)]):
            for action in actions_for(kept, step, number):
                kept.apply(action, number)
                batch.items.append(Row(SESSION, wire.encode(action)))
            if step[0] == "commit":
                await commit(store, kept, batch)
                batch = Batch()
                again = await restored(store)
                assert again.live.snapshot() == kept.live.snapshot()
                assert again.events == kept.events == 1 + len(await store.rows(SESSION, 0))

    asyncio.run(scenario())


async def test_heads_are_written_only_when_it_pays() -> None:
    kept = KeptSession.create(SESSION, empty_session())
    first = Batch()
    kept.save(first, -1)
    assert len(first.heads) == 1
    actions, heads = 0, 0
    kept.apply(a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="hi")), 0)
    kept.apply(a.SessionResponsePartAction(turn_id="t", part=MarkdownResponsePart(id="p", content="")), 0)
    for _ in range(200):
        action = a.SessionDeltaAction(turn_id="t", part_id="p", content="x" * 5_000)
        kept.apply(action, 0)
        batch = Batch(items=[Row(SESSION, wire.encode(action))])
        actions += 5_000
        kept.wrote([5_000])
        kept.save(batch, 0)
        heads += sum(len(head.state) for head in batch.heads)
    assert heads <= 2 * actions


async def test_completed_turns_are_written_once() -> None:
    kept = KeptSession.create(SESSION, empty_session())
    kept.apply(a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="hi")), 0)
    kept.apply(a.SessionTurnCompleteAction(turn_id="t"), 0)
    first, second = Batch(), Batch()
    kept.save(first, -1)
    kept.apply(a.SessionTitleChangedAction(title="x"), 0)
    kept.save(second, -1)
    assert [turn.turn_id for turn in first.turns] == ["t"]
    assert second.turns == []
