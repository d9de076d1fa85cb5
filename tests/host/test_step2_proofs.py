"""Promises of the pages that no single room keeps: seen from outside, on a host with its port."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given

from ahp.strategies import actions_of
from conformance.client import calls_of, connecting
from conformance.conftest import new_session, over
from hosts import KEY, TOKEN, House, housing
from requirements import proves
from serai.ahp import actions as a
from serai.ahp.reducers import reduce
from serai.ahp.types import (
    Markdown,
    ModelSelection,
    ProjectInfo,
    ResponsePart,
    SessionState,
    SystemNotificationResponsePart,
    ToolAnnotations,
    ToolCallCompletedState,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    ToolDefinition,
    ToolResultFileEditContent,
    ToolResultResourceContent,
)
from serai.ahp.wire import convert
from serai.client import Client, ClientTool, ToolWaiting, connect
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn
from serai.store.sqlite.store import SqliteStore

S = "ahp-session:/one"


def client_of(house: House, **options: Any) -> Client:
    return connect(house.url, TOKEN, **options)


# --- a session's project


PROJECT = ProjectInfo(uri="file:///somewhere", display_name="somewhere")


@proves("ahp:ProjectInfo/server-owned")
@given(actions_of(a.SessionAction))
def test_no_action_at_all_changes_a_sessions_project(action: a.StateAction) -> None:
    summary = {
        "resource": S,
        "provider": "demo",
        "title": "",
        "status": 1,
        "createdAt": 1,
        "modifiedAt": 1,
        "project": {"uri": PROJECT.uri, "displayName": PROJECT.display_name},
    }
    state = convert({"summary": summary, "lifecycle": "ready", "turns": []}, SessionState)
    assert reduce(state, action, 2).summary.project == PROJECT


@proves("ahp:ProjectInfo/server-owned")
async def test_the_host_finds_the_project_and_does_not_take_a_clients_word_for_it(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    mine = {"uri": "file:///mine", "displayName": "mine"}
    async with housing() as house, connecting(house.url, "one") as client:
        await client.initialize()
        await client.request(
            "createSession", S, provider="demo", workingDirectory=inner.as_uri(), project=mine, config={}
        )
        await client.subscribe(S)
        theirs = ProjectInfo(uri=(tmp_path / "repository").as_uri(), display_name="repository")
        assert client.session(S).summary.project == theirs
        for kind in ("projectChanged", "summaryChanged", "metaChanged"):
            await client.dispatch(S, kind, project=mine, summary={"project": mine}, _meta={"project": mine})
        await client.ping()
        assert client.session(S).summary.project == theirs


# --- notices


def notices(parts: list[ResponsePart]) -> list[Any]:
    return [part.content for part in parts if isinstance(part, SystemNotificationResponsePart)]


@proves("ahp:SystemNotificationResponsePart/seen-by-agent")
async def test_a_session_has_no_notice_that_did_not_pass_through_its_agent(tmp_path: Path) -> None:
    """A notice is made with `turn.notice`, by the agent itself: there is no other way to one."""
    seen: list[Any] = []

    async def agent(turn: Turn) -> None:
        match turn.message.text:
            case "notice":
                seen.append(Markdown(markdown="*task y* was cancelled"))
                await turn.notice(seen[-1])
                seen.append("subagent x is done")
                await turn.notice(seen[-1])
            case "fail":
                raise ValueError("no")
            case _:
                await asyncio.Event().wait()

    async with housing(lambda: database(tmp_path), [CallbackHarness("agent", agent)]) as house:
        async with client_of(house) as client, connecting(house.url, "forger") as forger:
            session = await client.create_session("agent")
            uri = session.uri
            for text in ("notice", "fail"):
                await (await session.prompt(text)).result()
            # What a host does by itself: defer, refuse, cancel, hold a queue, end a turn at its own end.
            turn = await session.prompt("wait")
            await session.queue("later")
            model = a.SessionModelChangedAction(model=ModelSelection(id="m"))
            choice = asyncio.ensure_future(session.dispatch(model))
            await forger.initialize(uri)
            forged = {"kind": "systemNotification", "content": "forged"}
            await forger.dispatch(uri, "responsePart", turnId=turn.id, part=forged)
            assert "rejectionReason" in await forger.hear("responsePart")
            await session.cancel()
            await choice
            await session.prompt("wait")
        await house.restart()
        async with client_of(house) as client:
            turns = (await client.open_session(uri)).state.turns
    assert [turn.state for turn in turns] == ["complete", "error", "cancelled", "error"]
    assert [notice for turn in turns for notice in notices(turn.response_parts)] == seen


# --- tools: hints, and asking again

HINTS = ("read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint")


@proves("ahp:ToolAnnotations/advisory-only")
@pytest.mark.parametrize("owner", ["host", "client"])
async def test_whatever_a_tool_hints_at_a_call_of_it_is_asked_about_all_the_same(owner: str) -> None:
    tools = [
        ToolDefinition(name=f"tool-{hint}", annotations=ToolAnnotations(**dict.fromkeys(HINTS, hint)))
        for hint in (None, False, True)
    ]

    async def agent(turn: Turn) -> None:
        client_id = turn.active_client.client_id if turn.active_client else None
        for tool in tools:
            call = await turn.tool(tool.name, tool.name, message=tool.name, client_id=client_id)
            assert not call.approved

    harness = CallbackHarness("agent", agent, tools=tools if owner == "host" else None)
    async with housing(harnesses=[harness]) as house, client_of(house) as client:
        session = await client.create_session("agent")
        if owner == "client":
            await session.lend(*(ClientTool(tool, _never_runs) for tool in tools))
        asked: list[str] = []
        turn = await session.prompt("go")
        async for event in turn:
            if isinstance(event, ToolWaiting):
                asked.append(event.call.tool_name)
                await session.deny(event.call.tool_call_id)
        assert (await turn.result()).ok
        assert asked == [tool.name for tool in tools]
        active = session.state.active_client
        assert (active.tools if active else session.state.server_tools) == tools


async def _never_runs(_input: Any) -> str:
    raise AssertionError("nobody has allowed it")


@proves("ahp:session/toolCallReady/host-describes-reconfirmation")
async def test_asking_again_the_host_says_what_the_new_leave_is_for() -> None:
    async def agent(turn: Turn) -> None:
        call = await turn.tool("make", "Build", message="Build it", meta={"serai.asks": "build"})
        await call.ready(
            message="Write outside of the folder", title="Install?", meta={"serai.asks": "install"}
        )
        await call.done("Built and installed" if call.approved else "Built")

    async with (
        housing(harnesses=[CallbackHarness("agent", agent)]) as house,
        connecting(house.url, "one") as client,
    ):
        await client.initialize()
        await new_session(client, S, provider="agent")
        await client.dispatch(S, "turnStarted", turnId="t1", userMessage={"text": "go"})
        first = (await client.hear("toolCallReady"))["action"]
        yes = {
            "turnId": "t1",
            "toolCallId": first["toolCallId"],
            "approved": True,
            "confirmed": "user-action",
        }
        await client.dispatch(S, "toolCallConfirmed", **yes)
        again = (await client.hear("toolCallReady"))["action"]
        assert (first["invocationMessage"], again["invocationMessage"]) == (
            "Build it",
            "Write outside of the folder",
        )
        assert again["_meta"] == {"serai.asks": "install"}
        assert "confirmed" not in again
        [call] = calls_of(client.session(S).active_turn)
        assert isinstance(call, ToolCallPendingConfirmationState)
        assert (call.invocation_message, call.confirmation_title) == (
            "Write outside of the folder",
            "Install?",
        )
        await client.dispatch(S, "toolCallConfirmed", **yes)
        [call] = calls_of(await over(client, S))
        assert call.past_tense_message == "Built and installed"


# --- what is on the disk

SAID = "the-words-of-a-person"
SHOWN = "the-output-of-a-tool"


async def fill(house: House) -> str:
    """A session with a title, turns, a queue, a setting, and content that is kept apart. Returns its URI."""
    async with client_of(house, client_id=f"client-{SAID}") as client:
        session = await client.create_session("demo", uri=f"ahp-session:/{SAID}")
        await session.set_title(f"A title: {SAID}")
        turn = await session.prompt(
            f"{SAID}; tool edit; tool big 100; notice {SAID}; activity {SAID}; usage 5"
        )
        await session.queue(f"write 2; {SAID}")
        async for event in turn:
            if isinstance(event, ToolWaiting):
                changed = f'{{"path": "notes.md", "text": "{SHOWN}"}}'
                await session.approve(event.call.tool_call_id, option="allow-session", edited_input=changed)
        await session.until(lambda state: len(state.turns) == 2)
        return session.uri


def database(home: Path) -> SqliteStore:
    return SqliteStore(home / "history.db", KEY)


def contents(home: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in home.rglob("*") if file.is_file()}


@proves("session:Tools-and-secrets/history-encrypted")
async def test_nothing_that_was_said_can_be_read_from_the_disk(tmp_path: Path) -> None:
    async with housing(lambda: database(tmp_path)) as house:
        await fill(house)
        live = contents(tmp_path)
        assert len(live["history.db-wal"]) > 10_000, "all of it is in the log still"
    resting = contents(tmp_path)
    assert len(resting["history.db"]) > 100_000
    for name, data in [*live.items(), *resting.items()]:
        for plain in (SAID, SHOWN, "SQLite format 3", "CREATE TABLE", "session/turnStarted", "a traveller"):
            assert plain.encode() not in data, f"{name} tells {plain!r}"
    connection = apsw.Connection(str(tmp_path / "history.db"), flags=apsw.SQLITE_OPEN_READONLY)
    with pytest.raises(apsw.NotADBError):
        connection.execute("SELECT * FROM sqlite_master").fetchall()
    connection.close()


@proves("session:Validation-and-persistence/global-encrypted-database")
async def test_everything_is_in_one_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    async with housing(lambda: database(first)) as house:
        uri = await fill(house)
        async with client_of(house) as client:
            before = (await client.open_session(uri)).state
    kept = {name for name, data in contents(first).items() if data}
    beside = {"history.db.lock", "history.db-highwater"}  # who has it open, and how far it has counted
    assert kept - beside == {"history.db"}, "nothing else is written down"
    (second / "history.db").write_bytes((first / "history.db").read_bytes())
    async with housing(lambda: database(second)) as house, client_of(house) as client:
        session = await client.open_session(uri)
        assert session.state == before
        references = list(_references(session.state))
        assert len(references) == 3
        kept_apart = [await client.read(reference) for reference in references]
        assert SHOWN.encode() in kept_apart
        assert max(map(len, kept_apart)) == 100 * 1024


def _references(state: SessionState) -> Iterator[str]:
    """The content that the calls of a session refer to."""
    for part in (part for turn in state.turns for part in turn.response_parts):
        if not isinstance(part, ToolCallResponsePart) or not isinstance(
            part.tool_call, ToolCallCompletedState
        ):
            continue
        for content in part.tool_call.content or ():
            match content:
                case ToolResultResourceContent():
                    yield content.uri
                case ToolResultFileEditContent(before=before, after=after):
                    yield from (side.content.uri for side in (before, after) if side and side.content)
                case _:
                    pass
