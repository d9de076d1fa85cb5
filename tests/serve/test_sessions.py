"""Sessions over HTTP: their events, by number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from client.hosts import at_once
from hosts import KEY, TOKEN, WITHIN, House, housing
from requirements import proves
from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import UserMessage
from serai.client.address import HostAddress
from serai.client.session_events import session_events
from serai.errors import AccessRefused, InvalidParams, SessionGone
from serai.harness.callback import CallbackHarness
from serai.host.session.prune import prune
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.serve.sessions import SessionRoutes
from serai.session.events import SessionEvent
from serai.store.memory import MemoryStore
from serai.store.sqlite.store import SqliteStore, Tuning
from serve.conftest import Answer, ask
from store.kinds import Calendar

URI = "ahp-session:/one"


class Nobody:
    def publish(self, frames: bytes) -> None:
        del frames


_numbers = count(1)


def dispatch(session: Session, action: a.StateAction) -> None:
    origin = a.ActionOrigin(client_id="person", client_seq=next(_numbers))
    session.dispatch(action, origin, Nobody())


async def begin(house: House, provider: str = "demo", uri: str = URI, **config: Any) -> Session:
    params = CreateSessionParams(channel=uri, provider=provider, config=config or None)
    session = await house.host.create(params, "person")
    async with asyncio.timeout(WITHIN):
        await session.ready()
    return session


def prompt(session: Session, text: str) -> None:
    turn_id = f"t{next(_numbers)}"
    dispatch(session, a.SessionTurnStartedAction(turn_id=turn_id, user_message=UserMessage(text=text)))


def read(house: House, after: int = 0, uri: str = URI, token: str = TOKEN) -> Any:
    return aclosing(session_events(HostAddress(house.url, token), uri, after, at_once))


async def until(
    house: House, is_last: Callable[[SessionEvent], bool], after: int = 0, uri: str = URI
) -> list[SessionEvent]:
    """The events after a number, up to one."""
    found: list[SessionEvent] = []
    async with asyncio.timeout(WITHIN), read(house, after, uri) as events:
        async for event in events:
            found.append(event)
            if is_last(event):
                return found
    raise AssertionError("the events ended")


def of(kind: str) -> Callable[[SessionEvent], bool]:
    return lambda event: event.type == f"session:{kind}"


async def a_turn(house: House, session: Session, text: str, after: int = 0) -> list[SessionEvent]:
    prompt(session, text)
    return await until(house, of("turn_completed"), after)


async def get(house: House, target: str, *headers: str, token: str = TOKEN) -> Answer:
    lines = [f"GET {target} HTTP/1.0", f"Host: localhost:{house.port}", f"Authorization: Bearer {token}"]
    return await ask(house.port, "\r\n".join([*lines, *headers, "", ""]).encode())


@pytest.fixture(params=["memory", "sqlite"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[House]:
    def sqlite() -> SqliteStore:
        return SqliteStore(tmp_path / "history.db", KEY)

    async with housing(MemoryStore if request.param == "memory" else sqlite) as house:
        yield house


@asynccontextmanager
async def memory_house(**options: Any) -> AsyncGenerator[House]:
    async with housing(**options) as house:
        yield house


@proves(
    "session:Lifecycle/emits-session-events",
    "session:Lifecycle/gaps-detectable",
    "session:Events/sequence-numbers",
)
async def test_each_stage_of_a_turn_with_tools_has_its_number(house: House) -> None:
    session = await begin(house, approve="always")
    events = await a_turn(house, session, "think; tool ls; tool fail; write 30")
    assert [event.sequence_number for event in events] == list(range(1, len(events) + 1))
    assert {event.session_id for event in events} == {"ahp-session:/one"}
    kinds = [event.type.removeprefix("session:") for event in events]
    assert (kinds[0], kinds[-1]) == ("started", "turn_completed")
    assert events[-1].data["stopReason"] == "end_turn"
    assert {"turn_started", "reasoning_delta", "text_delta", "tool_call", "tool_result"} <= {*kinds}


@proves("session:Lifecycle/gaps-detectable")
async def test_from_any_number_on_the_events_are_the_same(house: House) -> None:
    session = await begin(house, approve="always")
    whole = await a_turn(house, session, "tool ls; write 5")
    last = whole[-1].sequence_number
    for after in range(last):
        rest = await until(house, lambda event: event.sequence_number == last, after)
        assert rest == whole[after:]
    await house.restart()
    assert await until(house, lambda event: event.sequence_number == last) == whole


async def test_a_reader_hears_of_what_happens_from_then_on(house: House) -> None:
    session = await begin(house)
    async with asyncio.timeout(WITHIN), read(house) as events:
        assert (await anext(events)).type == "session:started"
        prompt(session, "write 5")
        async for event in events:
            if event.type == "session:turn_completed":
                break
        prompt(session, "write 5")
        async for event in events:
            if event.type == "session:turn_completed":
                break


async def test_approvals_and_questions_are_told_with_their_answers(house: House) -> None:
    session = await begin(house)
    prompt(session, "tool ls")
    asked = (await until(house, of("approval_requested")))[-1]
    confirmed = a.SessionToolCallConfirmedAction(
        turn_id=asked.data["turnId"],
        tool_call_id=asked.data["toolCallId"],
        approved=True,
        confirmed="user-action",
    )
    dispatch(session, confirmed)
    events = await until(house, of("turn_completed"), asked.sequence_number)
    assert [event.data["approved"] for event in events if of("approval_resolved")(event)] == [True]
    last = events[-1].sequence_number
    prompt(session, "ask boolean")
    request = (await until(house, of("question_asked"), last))[-1].data["request"]
    dispatch(session, a.SessionInputCompletedAction(request_id=request["id"], response="decline"))
    answered = (await until(house, of("question_answered"), last))[-1]
    assert answered.data == {"requestId": request["id"], "response": "decline"}


async def test_agents_of_every_kind_have_events() -> None:
    async def fails(turn: Turn) -> None:
        await turn.say("half of it")
        raise ZeroDivisionError("by nothing")

    async with memory_house(harnesses=[CallbackHarness("fails", fails)]) as house:
        session = await begin(house, "fails")
        *_, last = await a_turn(house, session, "go")
        assert last.data["stopReason"] == "error"
        assert last.data["error"].keys() == {"code", "message"}


async def test_a_new_number_begins_where_the_last_host_ended(house: House) -> None:
    session = await begin(house)
    whole = await a_turn(house, session, "write 20")
    for _ in range(3):
        await house.restart()
        found = await house.host.sessions.bring(URI)
        assert found is not None
        whole += await a_turn(house, found, "write 20", whole[-1].sequence_number)
    assert [event.sequence_number for event in whole] == list(range(1, len(whole) + 1))


async def test_what_is_no_longer_there_is_answered_with_a_resync() -> None:
    calendar = Calendar()
    async with memory_house(make_store=lambda: MemoryStore(Tuning(now=calendar))) as house:
        session = await begin(house)
        whole = await a_turn(house, session, "write 20")
        await house.host.journal.committed()
        known = session.kept.events
        calendar.go_by(9)
        await prune(house.host.journal, house.host.sessions, 3)
        # At once, though nothing has happened since.
        [resync] = await until(house, of("resync"), 3)
        assert (resync.sequence_number, resync.data) == (known, {"from": known + 1})
        session.act(a.SessionTitleChangedAction(title="later"))
        await house.host.journal.committed()
        numbers = [event.sequence_number for event in await until(house, of("changed"), 3)]
        assert numbers == [known, known + 1]
        first, again, _ = await until(house, of("changed"))
        assert (first, again.type) == (whole[0], "session:resync")
        # Who has come that far misses nothing.
        assert [one.sequence_number for one in await until(house, of("changed"), known)] == [known + 1]


@pytest.mark.parametrize("after", ["1000", "-1", "x", "1.5", "1e3", "\uff19", "9" * 40])
async def test_a_number_that_is_none_is_refused(after: str) -> None:
    async with memory_house() as house:
        await begin(house)
        answer = await get(house, f"/sessions/one/events?after={quote(after)}")
        assert (answer.status, answer.body["code"]) == (400, "invalid_params")
        assert answer.body.keys() == {"code", "message", "remedy"}
        if after.isascii():
            answer = await get(house, "/sessions/one/events", f"Last-Event-ID: {after}")
            assert answer.status == 400
        with pytest.raises(InvalidParams, match="there is no event"):
            await until(house, of("started"), 1000)


async def test_only_the_owner_reads_them() -> None:
    async with memory_house() as house:
        await begin(house)
        assert (await get(house, "/sessions/one/events", token="wrong")).status == 401
        with pytest.raises(AccessRefused):
            async with read(house, token="wrong") as events:
                await anext(events)


async def test_a_session_is_named_by_its_uri_or_the_end_of_it() -> None:
    async with memory_house() as house:
        for uri in (URI, "ahp-session:/deeper/two", "other:/two"):
            await begin(house, uri=uri)
            assert (await until(house, of("started"), uri=uri))[0].session_id == uri
        assert await until(house, of("started"), uri="one") == await until(house, of("started"))
        for name in ("nobody", "two", ""):
            assert (await get(house, f"/sessions/{name}/events")).status == 404
        with pytest.raises(SessionGone):
            await until(house, of("started"), uri="nobody")


async def test_a_stream_is_what_browsers_read() -> None:
    async with memory_house() as house:
        await begin(house)
        reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
        writer.write(f"GET /sessions/one/events?tkn={TOKEN} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        async with asyncio.timeout(WITHIN):
            head = await reader.readuntil(b"\r\n\r\n")
            number, data = (await reader.readuntil(b"\n\n")).strip().split(b"\n")
        writer.close()
        assert b"content-type: text/event-stream" in head.lower()
        assert number == b"id: 1"
        assert json.loads(data.removeprefix(b"data: "))["type"] == "session:started"


async def test_a_reader_that_leaves_is_forgotten() -> None:
    async with memory_house() as house:
        await begin(house)
        is_gone = asyncio.Event()
        house.host.journal.subscriptions.changed = lambda _uri, abandoned: (
            is_gone.set() if abandoned else None
        )
        await until(house, of("started"))
        async with asyncio.timeout(WITHIN):
            await is_gone.wait()
        assert not house.host.journal.subscriptions.is_followed(URI)


@proves("session:Lifecycle/events-through-a-sink")
async def test_events_go_to_the_sink_that_is_handed_in() -> None:
    async with memory_house() as house:
        session = await begin(house)
        routes = SessionRoutes(house.host)
        heard: list[SessionEvent] = []
        is_over = asyncio.Event()

        async def sink(events: Any) -> None:
            heard.extend(events)
            if heard[-1].type == "session:turn_completed":
                is_over.set()

        telling = asyncio.create_task(routes.tell(URI, 0, sink))
        prompt(session, "write 5")
        async with asyncio.timeout(WITHIN):
            await is_over.wait()
            routes.close()  # and so it ends, for the host goes away
            await telling
        assert [event.sequence_number for event in heard] == list(range(1, len(heard) + 1))


async def test_the_variables_of_a_session_are_in_its_first_event(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_house() as house:
        session = await begin(house)
        config = session.live.head.config
        assert config is not None
        monkeypatch.setitem(config.values, "variables", {"city": "Ulm"})
        [event] = await until(house, of("started"))
        assert event.data == {"agent": {"provider": "demo"}, "variables": {"city": "Ulm"}}
