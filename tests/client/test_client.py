"""The client against our own host, over an in-memory link."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from client.hosts import House, soon
from serai.ahp import commands as c
from serai.ahp.types import (
    ROOT,
    ConfirmationOption,
    SessionInputBooleanQuestion,
    SessionInputIntegerQuestion,
    SessionInputMultiSelectQuestion,
    SessionInputOption,
    SessionInputRequest,
    SessionInputSingleSelectQuestion,
    SessionInputTextQuestion,
    SessionStatus,
    UsageInfo,
)
from serai.client import (
    Client,
    ConnectionLost,
    NoticeGiven,
    QuestionAsked,
    QuestionClosed,
    ReasoningAdded,
    Rejected,
    ResultWaiting,
    SessionAdded,
    SessionClient,
    SessionGone,
    SessionRemoved,
    TextAdded,
    ToolFinished,
    ToolRunning,
    ToolWaiting,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    TurnStream,
    UsageReported,
)
from serai.host.turn import Turn


async def echo(turn: Turn) -> None:
    for word in turn.message.text.split():
        await turn.say(word + " ")


async def worker(turn: Turn) -> None:
    """Thinks, uses a tool, and says what came of it."""
    await turn.think("hm")
    call = await turn.tool(
        "bash",
        "Run a command",
        input='{"command": "ls"}',
        message="ls",
        editable=True,
        options=[
            ConfirmationOption(id="once", label="Once", kind="approve"),
            ConfirmationOption(id="never", label="Never", kind="deny"),
        ],
    )
    if call.approved:
        used = await call.done("Listed", text="README.md", confirm_result=True)
        await turn.say(f"ran {call.input} ({call.option}), used: {used}")
    else:
        await turn.say(f"denied: {call.suggestion.text if call.suggestion else None}")
    await turn.notice("a notice")
    await turn.used(UsageInfo(input_tokens=1, output_tokens=2))


QUESTIONS = SessionInputRequest(
    id="q",
    message="Some questions",
    questions=[
        SessionInputTextQuestion(id="name", message="Your name", required=True, min=2),
        SessionInputIntegerQuestion(id="age", message="Your age"),
        SessionInputBooleanQuestion(id="sure", message="Sure?"),
        SessionInputSingleSelectQuestion(
            id="one",
            message="One",
            options=[SessionInputOption(id="a", label="A"), SessionInputOption(id="b", label="B")],
            allow_freeform_input=True,
        ),
        SessionInputMultiSelectQuestion(
            id="some", message="Some", options=[SessionInputOption(id="x", label="X")]
        ),
    ],
)


async def asker(turn: Turn) -> None:
    answers = await turn.ask(QUESTIONS)
    values = {key: getattr(answer, "value", None) for key, answer in sorted(answers.answers.items())}
    shown = {key: getattr(value, "value", None) for key, value in values.items()}
    await turn.say(f"{answers.response}: {shown}")


async def sleeper(turn: Turn) -> None:
    await turn.say("zzz")
    while turn.steering() is None:  # noqa: ASYNC110 - an agent that looks now and then
        await asyncio.sleep(0)
    await turn.say(" awake")


async def events_of(turn: TurnStream) -> list[TurnEvent]:
    return [event async for event in turn]


def kinds(events: list[TurnEvent]) -> list[type]:
    return [type(event) for event in events]


class TestTurns:
    async def test_a_prompt_gives_a_stream_and_a_result(self) -> None:
        async with House(echo=echo) as house, house.client() as client:
            session = await soon(client.create_session("echo"))
            turn = await soon(session.prompt("one two three"))
            events = await soon(events_of(turn))
            assert isinstance(events[0], TurnStarted)
            assert events[0].message.text == "one two three"
            assert "".join(e.text for e in events if isinstance(e, TextAdded)) == "one two three "
            assert events[-1] == TurnEnded("complete")
            result = await soon(turn.result())
            assert (result.ok, result.text) == (True, "one two three ")
            assert session.state.summary.title == "one two three"

    async def test_the_message_is_shown_before_the_host_has_answered(self) -> None:
        async with House(echo=echo) as house, house.client() as client:
            session = await soon(client.create_session())
            task = asyncio.ensure_future(session.prompt("hello"))
            await asyncio.sleep(0)
            shown = session.state.active_turn
            assert shown is not None
            assert shown.user_message.text == "hello"
            assert session.active_turn_id is None
            await soon((await soon(task)).result())

    async def test_a_second_prompt_is_rejected_while_a_turn_runs(self) -> None:
        async with House(sleeper=sleeper) as house, house.client() as client:
            session = await soon(client.create_session())
            turn = await soon(session.prompt("sleep"))
            with pytest.raises(Rejected) as caught:
                await soon(session.prompt("again"))
            assert caught.value.reason.startswith("turn_in_progress")
            assert session.active_turn_id == turn.id
            shown = session.state.active_turn
            assert shown is not None
            assert shown.user_message.text == "sleep"
            await soon(session.steer("up"))
            assert (await soon(turn.result())).text == "zzz awake"

    async def test_a_queued_message_becomes_a_turn_of_its_own(self) -> None:
        async with House(sleeper=sleeper) as house, house.client() as client:
            session = await soon(client.create_session())
            turns = session.turns()
            running = await soon(session.prompt("first"))
            assert (await soon(anext(turns))).id == running.id
            await soon(session.queue("second"))
            taken_back = await soon(session.queue("third"))
            assert [m.user_message.text for m in session.state.queued_messages or ()] == ["second", "third"]
            await soon(session.unqueue(taken_back))
            await soon(session.steer("up"))
            await soon(running.result())
            second = await soon(anext(turns))
            first_event = await soon(anext(second))
            assert isinstance(first_event, TurnStarted)
            assert first_event.message.text == "second"
            await soon(session.cancel())
            await turns.aclose()

    async def test_another_client_follows_a_running_turn_from_its_beginning(self) -> None:
        async with House(sleeper=sleeper) as house, house.client() as one, house.client() as two:
            session = await soon(one.create_session())
            turn = await soon(session.prompt("sleep"))
            assert isinstance(await soon(anext(turn)), TurnStarted)
            assert isinstance(await soon(anext(turn)), TextAdded)
            other = await soon(two.open_session(session.uri))
            theirs = other.follow_turn(turn.id)
            assert isinstance(await soon(anext(theirs)), TurnStarted)
            assert await soon(anext(theirs)) == TextAdded(f"{turn.id}-part-1", "zzz")
            await soon(other.steer("up"))
            assert (await soon(theirs.result())).text == (await soon(turn.result())).text == "zzz awake"


class TestToolCalls:
    async def run(self, session: SessionClient, deny: bool = False) -> tuple[list[TurnEvent], str]:
        turn = await soon(session.prompt("work"))
        seen: list[TurnEvent] = []
        async with asyncio.timeout(30):
            async for event in turn:
                seen.append(event)
                if isinstance(event, ToolWaiting) and deny:
                    await session.deny(event.call.tool_call_id, reason="no", suggestion="read instead")
                elif isinstance(event, ToolWaiting):
                    call = event.call
                    await session.approve(call.tool_call_id, option="once", edited_input='{"command": "pwd"}')
                elif isinstance(event, ResultWaiting):
                    await session.confirm_result(event.call.tool_call_id)
        return seen, (await turn.result()).text

    async def test_approved_with_other_input_and_its_result_confirmed(self) -> None:
        async with House(worker=worker) as house, house.client() as client:
            seen, text = await self.run(await soon(client.create_session()))
            assert text == 'ran {"command": "pwd"} (once), used: True'
            assert kinds(seen) == [
                TurnStarted,
                ReasoningAdded,
                ToolWaiting,
                ToolRunning,
                ResultWaiting,
                ToolFinished,
                TextAdded,
                NoticeGiven,
                UsageReported,
                TurnEnded,
            ]

    async def test_denied_with_a_suggestion(self) -> None:
        async with House(worker=worker) as house, house.client() as client:
            seen, text = await self.run(await soon(client.create_session()), deny=True)
            assert text == "denied: read instead"
            [finished] = [event.call for event in seen if isinstance(event, ToolFinished)]
            assert finished.reason == "denied"  # type: ignore[union-attr]


class TestQuestions:
    async def test_plain_values_answer_every_kind_of_question(self) -> None:
        async with House(asker=asker) as house, house.client() as client:
            session = await soon(client.create_session())
            turn = await soon(session.prompt("ask"))
            assert isinstance(await soon(anext(turn)), TurnStarted)
            asked = await soon(anext(turn))
            assert isinstance(asked, QuestionAsked)
            assert asked.request.message == "Some questions"
            await soon(
                session.answer(
                    "q", {"name": "Ada", "age": 36, "sure": True, "one": "something else", "some": ["x"]}
                )
            )
            assert await soon(anext(turn)) == QuestionClosed("q")
            text = (await soon(turn.result())).text
            assert text == "accept: {'age': 36, 'name': 'Ada', 'one': '', 'some': ['x'], 'sure': True}"

    async def test_an_answer_that_does_not_fit_is_rejected_and_can_be_given_again(self) -> None:
        async with House(asker=asker) as house, house.client() as client:
            session = await soon(client.create_session())
            turn = await soon(session.prompt("ask"))
            await soon(session.until(lambda state: bool(state.input_requests)))
            with pytest.raises(Rejected, match="bad_answer"):
                await soon(session.answer("q", {"name": 7}))
            with pytest.raises(Rejected, match="at least 2"):
                await soon(session.answer("q", {"name": "x"}))
            with pytest.raises(Rejected, match="asks no question"):
                await soon(session.answer("q", {"nothing": "x"}))
            with pytest.raises(Rejected, match="no_such_request"):
                await soon(session.answer("other", {}))
            await soon(session.answer("q", {"name": "Ada", "age": None}))
            assert (await soon(turn.result())).text == "accept: {'age': None, 'name': 'Ada'}"


class TestSessions:
    async def test_what_is_changed_is_seen_by_others(self) -> None:
        async with House(echo=echo) as house, house.client() as one, house.client() as two:
            session = await soon(one.create_session())
            other = await soon(two.open_session(session.uri))
            await soon(session.set_title("A title"))
            await soon(session.archive())
            await soon(session.mark_read())
            state = await soon(other.until(lambda state: bool(state.summary.status & SessionStatus.IS_READ)))
            assert state.summary.title == "A title"
            assert state.summary.status & SessionStatus.IS_ARCHIVED
            [listed] = await soon(two.list_sessions())
            assert listed.title == "A title"

    async def test_fork_and_fetch_turns(self) -> None:
        async with House(echo=echo) as house, house.client() as client:
            session = await soon(client.create_session())
            for text in ("one", "two", "three"):
                await soon((await soon(session.prompt(text))).result())
            ids = [turn.id for turn in session.state.turns]
            page = await soon(session.fetch_turns(before=ids[2], limit=1))
            assert ([turn.id for turn in page.turns], page.has_more) == ([ids[1]], True)
            forked = await soon(session.fork(ids[1]))
            assert [turn.id for turn in forked.state.turns] == ids[:2]
            await soon(session.truncate(ids[0]))
            assert [turn.id for turn in session.state.turns] == ids[:1]

    async def test_one_that_another_client_disposed_of_says_so_from_then_on(self) -> None:
        async with House(echo=echo) as house, house.client() as one, house.client() as two:
            session = await soon(one.create_session())
            waiting = asyncio.ensure_future(session.until(lambda _state: False))
            await asyncio.sleep(0)
            await soon((await soon(two.open_session(session.uri))).dispose())
            said = f"^{session.uri} was disposed of$"
            with pytest.raises(SessionGone, match=said):
                await soon(waiting)
            for call in (session.prompt, session.queue, session.set_title):
                with pytest.raises(SessionGone, match=said):
                    await soon(call("hello"))
            with pytest.raises(SessionGone, match=said):
                await soon(session.cancel())
            with pytest.raises(SessionGone, match=said):
                _ = session.state

    async def test_events_tell_of_sessions(self) -> None:
        async with House(echo=echo) as house, house.client() as one, house.client() as two:
            events = two.events()
            first = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            session = await soon(one.create_session())
            added = await soon(first)
            assert isinstance(added, SessionAdded)
            assert added.summary.resource == session.uri
            await soon(session.dispose())
            async with asyncio.timeout(30):
                async for event in events:
                    if isinstance(event, SessionRemoved):
                        assert event.session == session.uri
                        break
            await events.aclose()

    async def test_leaving_and_coming_back(self) -> None:
        async with House(echo=echo) as house, house.client() as client:
            session = await soon(client.create_session())
            await session.leave()
            assert session.uri not in client.subscriptions
            again = await soon(client.open_session(session.uri))
            assert again.state.summary.resource == session.uri
            assert again is await soon(client.open_session(session.uri))


class TestEnds:
    async def test_closing_ends_whatever_waits(self) -> None:
        async with House(sleeper=sleeper) as house:
            client = await soon(house.client())
            session = await soon(client.create_session())
            turn = await soon(session.prompt("sleep"))
            waits = [
                asyncio.ensure_future(session.until(lambda _state: False)),
                asyncio.ensure_future(turn.result()),
            ]
            await asyncio.sleep(0)
            await soon(client.close())
            for wait in waits:
                with pytest.raises(ConnectionLost, match="closed"):
                    await soon(wait)
            for call in (
                client.list_sessions(),
                session.set_title("x"),
                client.open_session(session.uri),
                session.until(lambda _state: False),
                anext(session.turns()),
            ):
                with pytest.raises(ConnectionLost):
                    await soon(call)
            assert session.state.active_turn is not None  # the last that was known
            await soon(client.close())
            assert _tasks_of_client() == []

    async def test_a_session_that_is_not_there_is_gone(self) -> None:
        async with House(echo=echo) as house, house.client() as client:
            with pytest.raises(SessionGone, match="there is no session ahp-session:/nothing"):
                await soon(client.open_session("ahp-session:/nothing"))
            assert "ahp-session:/nothing" not in client.subscriptions
            await soon(client.create_session(uri="ahp-session:/nothing"))
            assert await soon(client.open_session("ahp-session:/nothing"))

    async def test_cancelled_calls_leave_the_client_usable(self) -> None:
        async with House(sleeper=sleeper) as house, house.client() as client:
            session = await soon(client.create_session())
            for make in (
                client.list_sessions,
                lambda: session.prompt("sleep"),
                lambda: session.set_title("A title"),
                lambda: client.open_session("ahp-session:/nothing"),
                lambda: session.until(lambda _state: False),
            ):
                task = asyncio.ensure_future(make())
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await soon(task)
            state = await soon(session.until(lambda state: state.summary.title == "A title"))
            assert state.summary.title == "A title"
            await soon(client.ping())

    async def test_a_host_that_is_not_there(self) -> None:
        house = House(echo=echo)
        with pytest.raises(ConnectionLost, match="no host answers"):
            await soon(house.client())
        assert house.tries == 1

    async def test_a_cancelled_opening_leaves_nothing(self) -> None:
        opening = asyncio.Event()

        async def never() -> None:
            opening.set()
            await asyncio.Event().wait()

        client = Client(never)  # type: ignore[arg-type]
        task = asyncio.ensure_future(client.open())
        await soon(opening.wait())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(task)
        assert _tasks_of_client() == []


def _tasks_of_client() -> list[str]:
    """What still runs of the client's own code."""
    names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]
    return [name for name in names if name.startswith(("Connection", "ChannelClient"))]


class TestQuestionsOfASession:
    """What a session asks, whether or not a turn runs."""

    async def test_what_nobody_asked_in_a_turn_is_told_and_answered(self, tmp_path: Path) -> None:
        async with House(echo=echo) as house, house.client() as client, house.client("x") as other:
            session = await soon(client.create_session())
            questions = session.questions()
            params = c.ResourceRequestParams(channel=ROOT, uri=tmp_path.as_uri(), read=True)
            asked = asyncio.ensure_future(other.request("resourceRequest", params))
            first = await soon(anext(questions))
            assert isinstance(first, QuestionAsked)
            later = session.questions()
            assert await soon(anext(later)) == first
            await soon(session.answer(first.request.id, {"access": "day"}))
            await soon(asked)
            assert await soon(anext(questions)) == QuestionClosed(first.request.id)
            assert await soon(anext(later)) == QuestionClosed(first.request.id)
            await questions.aclose()
            await later.aclose()

    async def test_what_was_answered_while_the_connection_was_lost_is_told(self) -> None:
        async with House(echo=echo) as house, house.client() as client:
            session = await soon(client.create_session())
            questions = session.questions()
            on_host = house.host.sessions.get(session.uri)
            assert on_host is not None
            asked = asyncio.ensure_future(on_host.questions.ask(SessionInputRequest(id="q", message="Well?")))
            assert isinstance(await soon(anext(questions)), QuestionAsked)
            house.is_reachable = False
            house.cut()
            on_host.questions.conclude("q")
            await soon(asked)
            house.is_reachable = True
            assert await soon(anext(questions)) == QuestionClosed("q")
            await questions.aclose()
