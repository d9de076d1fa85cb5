"""A run of a workflow, from its file to its output, on a real host."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conformance.client import connecting
from conformance.conftest import ROOT
from harness.conversation import Conversation, prose
from harness.model.model_server import Call, ModelScriptServer, Reply
from harness.model.servers import model_host, pending
from hosts import KEY, WITHIN, host_process
from requirements import proves
from serai.ahp import types as t
from serai.ahp.client import ClientState
from serai.errors import InvalidParams
from serai.host.host import Host
from serai.serve.sessions import SessionRoutes, transcribed
from serai.session.events import SessionEvent
from serai.session.workflow import serialize, workflow_of
from serai.store.sqlite.backup import purge
from serai.store.sqlite.store import SqliteStore


def node(name: str, prompt: str = "", **more: Any) -> dict[str, Any]:
    told = {"prompt_template": prompt} if prompt else {}
    return {"id": name, "type": "agent", "agent_ref": "helper", **told, **more}


def workflow(*nodes: dict[str, Any], **agent: Any) -> dict[str, Any]:
    """A workflow of these agent nodes, all with one agent."""
    every = [{"id": "input", "type": "input"}, *nodes, {"id": "output", "type": "output"}]
    names = [one["id"] for one in every]
    return {
        "schema_version": 1,
        "workflow": {"id": "flow", "name": "A flow"},
        "nodes": every,
        "edges": [{"from": a, "to": b} for a, b in pairwise(names)],
        "agents": [{"slug": "helper", **agent}],
    }


def written(tmp_path: Path, value: dict[str, Any]) -> tuple[Path, Path]:
    """A workflow's file, and a folder to work in that it is not in."""
    file, work = tmp_path / "flow.yaml", tmp_path / "work"
    file.write_text(json.dumps(value))  # JSON is YAML
    work.mkdir(exist_ok=True)
    return file, work


async def begin(host: Host, file: Path, work: Path, **config: Any) -> Conversation:
    return await Conversation.begin(
        host,
        "workflow",
        scheme="serai-run",
        working_directory=work.as_uri(),
        config={"file": str(file), **config},
    )


async def begin_with(host: Host, tmp_path: Path, value: dict[str, Any], **config: Any) -> Conversation:
    return await begin(host, *written(tmp_path, value), **config)


def said(body: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(one["role"], one["content"]) for one in body["messages"] if one["role"] != "system"]


async def rows(host: Host, query: str, uri: str) -> list[tuple[Any, ...]]:
    await host.journal.committed()
    return await host.journal.store.relay(query, uri)


@proves("session:What-a-session-is/same-engine")
async def test_each_node_sees_what_the_nodes_before_it_said(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    scripted.script[:] = [Reply(text=["A plan."]), Reply(text=["Its sum."]), Reply(text=["The end."])]
    flow = workflow(
        node("plan", "Plan {{input}} for {{ctx.who}}"), node("sum-up", "Sum: {{plan.output}}"), node("last")
    )
    async with model_host(scripted) as host:
        run = await begin_with(host, tmp_path, flow, variables={"who": "Ada"})
        turn = await run.say("a trip")
        assert turn.state == "complete", turn.error
        first = ("user", "Plan a trip for Ada"), ("assistant", "A plan.")
        second = ("user", "Sum: A plan."), ("assistant", "Its sum.")
        assert [said(body) for body in scripted.bodies] == [
            [first[0]],
            [*first, second[0]],
            [*first, *second, ("user", "Its sum.")],
        ]
        assert prose(turn).endswith("The end.")
        notices = [
            one.content for one in turn.response_parts if isinstance(one, t.SystemNotificationResponsePart)
        ]
        assert notices == ["Step 1 of 3: plan", "Step 2 of 3: sum-up", "Step 3 of 3: last"]
        assert turn.usage is not None
        assert turn.usage.input_tokens == 300


@proves(
    "session:SessionMessage/separate-from-run-messages",
    "session:What-a-session-is/not-a-run",
)
async def test_runs_and_sessions_never_mix(scripted: ModelScriptServer, tmp_path: Path) -> None:
    async with model_host(scripted) as host:
        run = await begin_with(host, tmp_path, workflow(node("only")))
        await run.say("Go")
        folder = tmp_path / "work"
        session = await Conversation.begin(host, "model", working_directory=folder.as_uri())
        await session.say("Hello")
        one, other = run.session.uri, session.session.uri
        assert [summary.resource for summary in host.sessions.summaries()] == [other]
        assert [summary.resource for summary in host.sessions.summaries(runs=True)] == [one]
        assert [row[1] for row in await rows(host, "run_messages", one)] == ["only", "only"]
        for query, uri in zip(
            ("session_messages", "agent_session", "run_messages", "workflow_run"),
            (one, one, other, other),
            strict=True,
        ):
            assert await rows(host, query, uri) == []
        assert [agent.provider for agent in host.root.live.head.agents] == ["model"]
        config = {"file": str(tmp_path / "flow.yaml")}
        with pytest.raises(InvalidParams, match="serai-run"):
            await Conversation.begin(host, "workflow", working_directory=folder.as_uri(), config=config)
        with pytest.raises(InvalidParams, match="serai-run"):
            await Conversation.begin(host, "model", scheme="serai-run", working_directory=folder.as_uri())


@proves(
    "session:SessionContext/same-tiers-as-workflows",
    "session:Tools-and-secrets/workflow-tool-surface",
)
async def test_a_node_has_the_tools_of_a_session_and_the_same_guards(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    escape = Call("read_file", {"path": "../flow.yaml"})
    refused = Call("run_command", {"words": ["rm", "x"]})
    write = Call("write_file", {"path": "a.txt", "content": "new\n"})
    scripted.script[:] = [
        *(Reply(calls=[call]) for call in (escape, refused, write)),
        Reply(text=["Written."]),
        Reply(text=["Read."]),
    ]
    flow = workflow(
        node("write", "Write"), node("look", "Look", tools=["read_file"]), allowed_commands=["ls"]
    )
    async with model_host(scripted) as host:
        run = await begin_with(host, tmp_path, flow)
        session = await Conversation.begin(host, "model", working_directory=(tmp_path / "work").as_uri())
        run.start("")
        await run.approve()
        turn = await run.end()
        assert turn.state == "complete", turn.error
        assert (tmp_path / "work" / "a.txt").read_text() == "new\n"
        results = [content for role, content in said(scripted.bodies[3]) if role == "tool"]
        assert "outside" in results[0] or "sandboxed" in results[0]
        assert "rm" in results[1]
        await session.say("Hello")
        names = [sorted(tool["function"]["name"] for tool in body["tools"]) for body in scripted.bodies]
        assert names[0] == names[-1]
        assert names[4] == ["read_file"]


async def test_a_node_that_fails_ends_the_run(scripted: ModelScriptServer, tmp_path: Path) -> None:
    scripted.script[:] = [Reply(text=["One."]), Reply(status=400, error="no")]
    async with model_host(scripted) as host:
        run = await begin_with(host, tmp_path, workflow(*(node(name, "Go") for name in "abc")))
        turn = await run.say("")
        assert turn.error is not None
        assert turn.error.error_type.startswith("model_")
        assert scripted.requests == 2
        again = await run.say("Once more")
        assert again.error is not None
        assert again.error.error_type == "run_over"
        assert scripted.requests == 2


@proves("session:Chat-settings/same-budget-governor")
async def test_nothing_leaves_that_does_not_fit_into_the_agents_budget(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    nodes = node("a", "Go"), node("b", "Go")
    async with model_host(scripted) as host:
        free = await begin_with(host, tmp_path, workflow(*nodes))
        await free.say("")
        steps = [json.loads(row[1]) for row in await rows(host, "steps_of_run", free.session.uri)]
        reserved = next(step["reserved"] for step in steps if step["kind"] == "requested")
        run = await begin_with(host, tmp_path, workflow(*nodes, budget={"max_cost_microcents": reserved}))
        turn = await run.say("")
        assert turn.error is not None
        assert turn.error.error_type == "budget_exceeded"
        assert scripted.requests == 2 + 1  # what the first one did cost leaves too little for another
        ((_, spent, _),) = await rows(host, "workflow_run", run.session.uri)
        assert spent == 100 * 100 + 20 * 1000


async def test_what_cannot_run_is_refused_before_anything_is_sent(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    wrong = {
        "not known yet": workflow(node("a", "{{b.output}}")),
        "no model": workflow(node("a"), model="local:none"),
        "no agent": workflow(node("a", agent_ref="nobody")),
        "no tool": workflow(node("a", tools=["fly"])),
        "no value": workflow(node("a", "{{ctx.who}}")),
        "has no value": workflow(node("a"), system_prompt="{{ctx.who}}"),
        "": {},
    }
    async with model_host(scripted) as host:
        for why, value in wrong.items():
            with pytest.raises(InvalidParams, match=rf"flow\.yaml:1: .*{why}"):
                await begin_with(host, tmp_path, value)
        assert host.sessions.summaries(runs=True) == []
        assert scripted.requests == 0


async def test_a_workflow_in_a_folder_that_nobody_trusts_is_refused(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    file, _ = written(tmp_path, workflow(node("a")))
    async with model_host(scripted, trusts=False) as host:
        with pytest.raises(InvalidParams, match="not trusted"):
            await begin(host, file, tmp_path)


async def test_a_run_without_an_input_says_so_where_one_is_needed(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    async with model_host(scripted) as host:
        turn = await (await begin_with(host, tmp_path, workflow(node("a")))).say("")
        assert turn.error is not None
        assert turn.error.error_type == "prompt_empty"
        assert scripted.requests == 0


async def test_the_export_of_a_session_can_be_run(scripted: ModelScriptServer, tmp_path: Path) -> None:
    read = Reply(calls=[Call("list_directory", {"path": "."})])
    scripted.script[:] = [read, Reply(text=["Empty."]), Reply(text=["Yes, {{empty}}."])] * 2
    file, work = written(tmp_path, {})
    async with model_host(scripted) as host:
        session = await Conversation.begin(host, "model", working_directory=work.as_uri())
        await session.say("What is here?")
        await session.say("Is that {{all}}?")
        found = await transcribed(host, session.session)
        file.write_text(serialize(workflow_of(found.record, found.messages, truncated=found.truncated)))
        run = await begin(host, file, work)
        turn = await run.say("")
        assert turn.state == "complete", turn.error
        talks = [[one for one in said(body) if one[0] == "user"] for body in scripted.bodies]
        assert talks[3:] == talks[:3]


@proves("session:Events/shared-envelope")
async def test_events_of_runs_have_the_envelope_of_those_of_sessions(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    async with model_host(scripted) as host:
        run = await begin_with(host, tmp_path, workflow(node("only")))
        folder = (tmp_path / "work").as_uri()
        session = await Conversation.begin(host, "model", working_directory=folder)
        told: list[list[SessionEvent]] = []
        for one in (run, session):
            await one.say("Hello")
            told.append(await events_of(host, one.session.uri))
        for conversation, events in zip((run, session), told, strict=True):
            numbers = [event.sequence_number for event in events]
            assert numbers == list(range(1, len(events) + 1))
            assert {event.session_id for event in events} == {conversation.session.uri}
        envelopes = [{frozenset(json.loads(event.to_json())) for event in events} for events in told]
        common = frozenset.intersection(*(one for every in envelopes for one in every))
        assert {"type", "sessionId", "sequenceNumber", "timestamp"} <= common


async def events_of(host: Host, uri: str) -> list[SessionEvent]:
    """All events until the turn is completed."""
    events: list[SessionEvent] = []
    is_over = asyncio.Event()

    async def sink(more: Sequence[SessionEvent]) -> None:
        events.extend(more)
        if any(event.type == "session:turn_completed" for event in more):
            is_over.set()

    telling = asyncio.create_task(SessionRoutes(host).tell(uri, 0, sink))
    async with asyncio.timeout(WITHIN):
        await is_over.wait()
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    return events


async def test_a_purge_leaves_nothing_of_a_run(scripted: ModelScriptServer, tmp_path: Path) -> None:
    async with model_host(scripted, SqliteStore(tmp_path / "history.db", KEY)) as host:
        run = await begin_with(host, tmp_path, workflow(node("only")))
        await run.say("Go")
        uri = run.session.uri
        assert await rows(host, "steps_of_run", uri)
    purge(tmp_path / "history.db", KEY, uri)
    store = SqliteStore(tmp_path / "history.db", KEY)
    await store.open()
    try:
        for query in ("run_messages", "steps_of_run", "workflow_run"):
            assert await store.relay(query, uri) == []
    finally:
        await store.close()


async def test_a_run_that_is_killed_goes_on_in_its_node(scripted: ModelScriptServer, tmp_path: Path) -> None:
    uri, home = "serai-run:/one", tmp_path / "home"
    home.mkdir()
    file, work = written(tmp_path, workflow(node("a", "First"), node("b", "Second"), node("c", "Third")))
    write = Call("write_file", {"path": "a.txt", "content": "once"})
    scripted.script[:] = [
        Reply(text=["One."]),
        Reply(calls=[write]),
        Reply(text=["Two."]),
        Reply(text=["Three."]),
    ]
    async with host_process(home, models={"base_url": scripted.base_url}) as host:
        async with connecting(host.url, ClientState("person")) as client:
            await client.initialize(ROOT)
            config = {"file": str(file)}
            await client.request(
                "createSession", uri, provider="workflow", workingDirectory=work.as_uri(), config=config
            )
            await client.subscribe(uri)
            await client.until(lambda: client.session(uri).lifecycle == "ready")
            await client.dispatch(uri, "turnStarted", turnId="t", userMessage={"text": ""})
            await client.until(lambda: pending(client.session(uri)))
            file.unlink()  # what runs was frozen
            await host.kill()
            await client.closed()
        await host.start()
        async with connecting(host.url, ClientState("another")) as again:
            await again.initialize(ROOT)
            await again.subscribe(uri)
            await again.until(lambda: pending(again.session(uri)))
            (call_id,) = pending(again.session(uri))
            await again.dispatch(
                uri,
                "toolCallConfirmed",
                turnId="t",
                toolCallId=call_id,
                approved=True,
                confirmed="user-action",
            )
            await again.until(lambda: bool(again.session(uri).turns))
            turn = again.session(uri).turns[0]
    assert turn.state == "complete", turn.error
    assert (work / "a.txt").read_text() == "once"
    assert scripted.requests == 4
    assert prose(turn).split() == ["One.", "Two.", "Three."]
    assert [text for role, text in said(scripted.bodies[-1]) if role == "user"] == [
        "First",
        "Second",
        "Third",
    ]
