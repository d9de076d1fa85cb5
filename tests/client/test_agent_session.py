"""Agent sessions under the names of their contract, over the port of a host with an encrypted database."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.screens import Desk, parse, talk as chat
from client.hosts import at_once, soon
from harness.model.model_server import Call, ModelScriptServer, Reply, model_server
from harness.model.servers import model_harness
from hosts import KEY, TOKEN, House, housing
from requirements import proves
from serai.client import Client, SessionClient, SessionGone, connect
from serai.client.agent_session import AgentSession
from serai.redact import Redactor
from serai.session.messages import AgentSessionRecord
from serai.session.workflow import read_workflow
from serai.session.yaml import load
from serai.store.sqlite.connection import connect as open_database
from serai.store.sqlite.store import SqliteStore
from serve.conftest import Answer, ask


@pytest.fixture
async def scripted() -> AsyncGenerator[ModelScriptServer]:
    async with model_server() as server:
        yield server


@pytest.fixture
async def house(scripted: ModelScriptServer, tmp_path: Path) -> AsyncGenerator[House]:
    """A host on an encrypted database, with models."""
    harness = model_harness(Redactor(), scripted.base_url)
    async with housing(lambda: SqliteStore(tmp_path / "history.db", KEY), [harness]) as house:
        yield house
    await harness.close()


@asynccontextmanager
async def connected(house: House) -> AsyncGenerator[Client]:
    async with connect(house.url, TOKEN, delays=at_once) as client:
        yield client


def reviewer(folder: Path, **more: object) -> Path:
    path = folder / "reviewer.agent.yaml"
    path.write_text(json.dumps({"slug": "reviewer", "model": "local:small", **more}))  # JSON is YAML
    return path


def files_in(folder: Path) -> set[str]:
    """What is in a folder beside the database."""
    return {path.name for path in folder.iterdir() if not path.name.startswith("history.db")}


async def say(session: SessionClient, text: str) -> str:
    return (await soon((await soon(session.send_message(text))).result())).text


async def http(house: House, method: str, target: str) -> Answer:
    lines = [f"{method} {target} HTTP/1.0", f"Host: localhost:{house.port}", f"Authorization: Bearer {TOKEN}"]
    return await ask(house.port, "\r\n".join([*lines, "", ""]).encode())


@proves(
    "session:Lifecycle/start",
    "session:Lifecycle/start-allocates-id",
    "session:What-a-session-is/persisted-by-itself",
    "session:Validation-and-persistence/tables",
    "session:SessionMessage/bound-to-session",
)
async def test_a_session_and_its_messages_are_saved_in_their_tables_without_anybody_asking(
    house: House, tmp_path: Path
) -> None:
    async with connected(house) as client:
        session = await soon(
            AgentSession.start(client, reviewer(tmp_path), working_dir=tmp_path, variables={"team": "core"})
        )
        other = await soon(AgentSession.start(client, working_dir=tmp_path))
        assert session.uri != other.uri
        await say(session, "Hello")
    await house.close()
    database = open_database(tmp_path / "history.db", KEY)
    try:
        rows: dict[Any, Any] = {
            row[0]: row[1] for row in database.execute("SELECT uri, record FROM agent_sessions")
        }
        assert rows.keys() == {session.uri, other.uri}
        record = msgspec.json.decode(rows[session.uri], type=AgentSessionRecord)
        assert (record.agent_slug, record.context.variables) == ("reviewer", {"team": "core"})
        kept = database.execute("SELECT session, number, role FROM session_messages").fetchall()
        assert kept == [(session.uri, 1, "user"), (session.uri, 2, "assistant")]
        bound = database.execute("PRAGMA foreign_key_list(session_messages)").fetchall()
        assert [(row[2], row[3], row[4]) for row in bound] == [("agent_sessions", "session", "uri")]
    finally:
        database.close()


@proves(
    "session:Lifecycle/resume-gives-idle",
    "session:Lifecycle/cancel-or-end-from-idle",
    "session:Lifecycle/export-from-idle",
    "session:Lifecycle/export-writes-scaffold",
)
async def test_a_session_that_is_resumed_from_the_database_is_idle_and_can_be_exported_and_ended(
    house: House, scripted: ModelScriptServer, tmp_path: Path
) -> None:
    async with connected(house) as client:
        session = await soon(AgentSession.start(client, reviewer(tmp_path), working_dir=tmp_path))
        await say(session, "Before")
    await house.restart()
    async with connected(house) as client:
        session = await soon(AgentSession.resume(client, session.uri))
        assert session.active_turn_id is None
        assert await say(session, "After") == "done"
        asked = [m["content"] for m in scripted.bodies[-1]["messages"] if m["role"] == "user"]
        assert asked == ["Before", "After"]
        file = tmp_path / "exported.relavium.yaml"
        file.write_text(await soon(session.export()))
        workflow = read_workflow(load(file.read_bytes(), file.name))
        assert [node.prompt_template for node in workflow.nodes[1:-1]] == ["Before", "After"]
        await soon(session.dispose())
        with pytest.raises(SessionGone):
            await soon(AgentSession.resume(client, session.uri))


@pytest.mark.parametrize("agent", ["model", "demo"])
@proves("session:Export/one-contract", "session:Export/author-reviews")
async def test_the_command_the_route_and_python_give_the_same_file_and_only_where_told(
    house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: str
) -> None:
    async with connected(house) as client:
        session = await soon(client.create_session(agent, working_directory=tmp_path))
        assert session.state.summary.working_directory == tmp_path.as_uri()
        await soon((await soon(session.prompt("help"))).result())
        before = files_in(tmp_path)
        text = await soon(session.export())
        told = parse("export", session.uri)
        assert await soon(told.command(client, told)) == 0
        assert capsys.readouterr().out == text
        assert files_in(tmp_path) == before
        file = tmp_path / "out.yaml"
        told = parse("export", session.uri, "-o", str(file))
        assert await soon(told.command(client, told)) == 0
        assert file.read_text() == text
        assert (await http(house, "GET", f"/sessions/{session.uri}/export")).body.decode() == text
        assert len(read_workflow(load(text.encode(), "f")).nodes) == 3
        drawn = (await http(house, "GET", f"/sessions/{session.uri}/export?as=json")).body
        assert [node["id"] for node in drawn["nodes"]] == ["input", "turn-1", "output"]


async def test_what_was_granted_is_listed_and_can_be_taken_back(
    house: House, scripted: ModelScriptServer, tmp_path: Path
) -> None:
    writes = [Reply(calls=[Call("write_file", {"path": f"{n}.txt", "content": n}, id=n)]) for n in "ab"]
    scripted.script[:] = [writes[0], Reply(text=["One."]), writes[1], Reply(text=["Two."])]
    async with connected(house) as client:
        session = await soon(AgentSession.start(client, working_dir=tmp_path))
        target = f"/sessions/{session.id}/grants"
        for option, grants in (("allow-session", ["write_file"]), ("allow-once", [])):
            turn = await soon(session.send_message("Write"))
            state = await soon(session.until(_is_asked))
            await soon(session.approve(_asked_call(state), option=option))
            await soon(turn.result())
            assert (await http(house, "GET", target)).body == {"grants": grants}
            left = await http(house, "DELETE", f"{target}?grant=write_file")
            assert left.body == {"grants": []}
        assert (tmp_path / "b.txt").read_text() == "b"


def _asked_call(state: object) -> str:
    """The call that waits for an answer; nothing where there is none."""
    turn = msgspec.to_builtins(getattr(state, "active_turn", None)) or {}
    parts = [part.get("toolCall") or {} for part in turn.get("responseParts", ())]
    return next((one["toolCallId"] for one in parts if one.get("status") == "pending-confirmation"), "")


def _is_asked(state: object) -> bool:
    return bool(_asked_call(state))


async def test_a_session_tells_its_events_and_what_it_has_cost(house: House, tmp_path: Path) -> None:
    async with connected(house) as client:
        session = await soon(
            AgentSession.start(client, reviewer(tmp_path, budget={"max_cost_microcents": 10**9}))
        )
        await say(session, "Hello")
        async with aclosing(session.events()) as events:
            first = await soon(anext(events))
        assert first.data["agent"]["uri"].endswith("reviewer.agent.yaml")
        cost = await soon(session.cost())
        assert cost == {"spentMicrocents": 30_000, "unpricedRequests": 0, "maxCostMicrocents": 10**9}


async def test_chat_begins_a_session_with_the_agent_of_a_file(
    house: House, scripted: ModelScriptServer, tmp_path: Path
) -> None:
    file = reviewer(tmp_path, system_prompt="Be brief.")
    async with connected(house) as client:
        desk = Desk()
        assert (
            await chat(client, desk, "--agent", str(file), "--directory", str(tmp_path), "--once", "Hi") == 0
        )
        assert scripted.bodies[0]["messages"][0]["content"].startswith("Be brief.")
