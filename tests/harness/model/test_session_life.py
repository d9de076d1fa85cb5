"""What a model session promises from its start to its end, on a real host with a server of models."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

import serai
from harness.conversation import Conversation, calls, prose
from harness.model.model_server import Call, ModelScriptServer, Reply
from harness.model.servers import agent_file, model_host, rows_of, talk
from harness.model.test_git_tools import git
from hosts import WITHIN
from requirements import proves
from serai.ahp import actions as a
from serai.ahp.commands import SessionForkSource
from serai.ahp.types import (
    AgentSelection,
    MessageEmbeddedResourceAttachment,
    ModelSelection,
    SessionInputAnswer,
    SessionInputBooleanAnswerValue,
    SessionInputSubmitted,
    SessionStatus,
    TurnState,
)
from serai.contract.record import decode
from serai.harness.model import harness
from serai.harness.model.transcript import messages_of
from serai.serve.sessions import transcribed
from serai.session.messages import AgentSessionRecord, SessionMessage, ToolResultPart
from serai.session.turn_core import Step
from serai.session.workflow import serialize, workflow_of

READ = Call("read_file", {"path": "a.txt"})


async def record_of(conversation: Conversation) -> AgentSessionRecord:
    ((data, *_),) = await rows_of(conversation, "agent_session")
    return decode(data, AgentSessionRecord)


async def transcript(conversation: Conversation) -> list[SessionMessage]:
    rows = await rows_of(conversation)
    return [message for _, message in messages_of(conversation.session.uri, rows)]


def said(server: ModelScriptServer, request: int) -> list[tuple[str, Any]]:
    """What a request holds, but for what stands before all messages."""
    messages = server.bodies[request]["messages"]
    return [(one["role"], one.get("content")) for one in messages if one["role"] != "system"]


def system(server: ModelScriptServer, request: int = 0) -> str:
    return "".join(one["content"] for one in server.bodies[request]["messages"] if one["role"] == "system")


def is_busy(conversation: Conversation) -> bool:
    return bool(conversation.state.summary.status & SessionStatus.IN_PROGRESS)


def yes_or_no(value: bool) -> dict[str, SessionInputAnswer]:
    return {"yes": SessionInputSubmitted(value=SessionInputBooleanAnswerValue(value=value))}


# -- turns -------------------------------------------------------------------------------------------------


@proves(
    "session:What-a-session-is/message-makes-turn",
    "session:Lifecycle/start-gives-idle",
    "session:Lifecycle/send-gives-streaming",
    "session:Lifecycle/tool-call-keeps-streaming",
    "session:Lifecycle/turn-end-gives-idle",
    "session:Lifecycle/send-message-appends",
    "session:Lifecycle/send-message-runs-one-turn",
    "session:Lifecycle/send-message-records-answer",
    "session:SessionMessage/sequence-monotonic",
)
async def test_a_message_is_one_turn_that_streams_through_its_calls_to_its_end(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("what it says\n")
    gate = asyncio.Event()
    scripted.script[:] = [Reply(calls=[READ]), Reply(calls=[READ]), Reply(text=["It ", "says."], gate=gate)]
    async with model_host(scripted) as host:
        conversation = await talk(host, tmp_path, agent=agent_file(tmp_path), config={"gitRef": "main"})
        assert conversation.state.summary.status & SessionStatus.IDLE
        conversation.start("What does it say?")
        assert is_busy(conversation)
        assert [m.role for m in await transcript(conversation)] == ["user"]
        await conversation.heard("session/toolCallComplete", 2)
        await conversation.heard("session/responsePart")
        assert is_busy(conversation)
        gate.set()
        turn = await conversation.end()
        assert not is_busy(conversation)
        assert (prose(turn), len(calls(turn)), len(conversation.state.turns)) == ("It says.", 2, 1)
        kept = await transcript(conversation)
        assert [m.role for m in kept] == ["user", *("assistant", "tool") * 2, "assistant"]
        assert [m.sequence_number for m in kept] == [1, 2, 3, 4, 5, 6]


@proves("session:SessionMessage/append-only")
async def test_what_was_said_stays_as_it_was_whatever_follows(conversation: Conversation) -> None:
    first = await conversation.say("One")
    before = await rows_of(conversation)
    await conversation.say("Two")
    conversation.dispatch(a.SessionTruncatedAction(turn_id=first.id))
    await conversation.say("Three")
    after = await rows_of(conversation)
    assert after[: len(before)] == before
    assert [row[0] for row in after] == list(range(1, 7))


@proves("session:Lifecycle/cancel-aborts-turn", "session:Lifecycle/cancel-stays-resumable")
async def test_cancel_breaks_the_request_off_and_the_session_goes_on(
    scripted: ModelScriptServer, conversation: Conversation
) -> None:
    scripted.script[:] = [Reply(text=["Wait, "], stall=True), Reply(text=["Here."])]
    conversation.start("Go")
    await conversation.heard("session/responsePart")
    conversation.cancel()
    assert (await conversation.end()).state == TurnState.CANCELLED
    async with asyncio.timeout(WITHIN):
        await scripted.hung_up.wait()
    assert prose(await conversation.say("Still there?")) == "Here."


async def test_of_a_turn_that_was_not_completed_one_line_says_which_tools_ran(
    scripted: ModelScriptServer, conversation: Conversation, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("secretly long")
    scripted.script[:] = [Reply(calls=[READ]), Reply(text=["Half an "], stall=True)]
    conversation.start("Read it")
    await conversation.heard("session/toolCallComplete")
    await conversation.heard("session/responsePart")
    conversation.cancel()
    await conversation.end()
    await conversation.say("And now?")
    assert said(scripted, 2) == [
        ("user", "Read it"),
        ("assistant", "[This turn was not completed. Tools that ran: read_file.]"),
        ("user", "And now?"),
    ]


async def test_a_rate_limit_that_passes_soon_is_waited_for_and_everyone_sees_it(
    scripted: ModelScriptServer, conversation: Conversation
) -> None:
    scripted.script[:] = [Reply(status=429, headers={"retry-after": "1"}), Reply(text=["Now."])]
    assert prose(await conversation.say("Go")) == "Now."
    shown = [
        action.get("activity")
        for action in conversation.actions
        if action["type"] == "session/activityChanged"
    ]
    assert "local:small takes no more requests for 1 s" in shown
    assert shown[-1] is None
    assert scripted.requests == 2


@pytest.mark.parametrize("config", [{}, {"maxTurns": 0}, {"maxTurns": 1}])
@proves(
    "session:Turn-cap/past-cap-ends-loudly",
    "session:Turn-cap/past-cap-no-egress",
    "session:Turn-cap/finite-cap",
    "session:Turn-cap/overridable",
    "session:Turn-cap/default-fifty",
    "session:Turn-cap/zero-means-default",
)
async def test_a_message_past_the_cap_or_the_default_one_calls_no_model(
    scripted: ModelScriptServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]
) -> None:
    assert harness.DEFAULT_TURNS == 50
    monkeypatch.setattr(harness, "DEFAULT_TURNS", 2)
    most = config.get("maxTurns") or harness.DEFAULT_TURNS
    async with model_host(scripted) as host:
        conversation = await talk(host, tmp_path, config=config)
        for number in range(most):
            assert (await conversation.say(f"{number}")).state == TurnState.COMPLETE
        refused = await conversation.say("one more")
        assert refused.error is not None
        assert refused.error.error_type == "turn_limit"
        assert scripted.requests == most


@proves("session:Turn-cap/not-max-messages", "session:Chat-settings/max-messages")
async def test_max_messages_trims_what_the_model_sees_and_ends_nothing(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    async with model_host(scripted, max_messages=3) as host:
        conversation = await talk(host, tmp_path)
        for word in ("One", "Two", "Three", "Four"):
            assert (await conversation.say(word)).state == TurnState.COMPLETE
        assert said(scripted, 3) == [("user", "Three"), ("assistant", "done"), ("user", "Four")]
        assert len(await transcript(conversation)) == 8


# -- the agent, its models and its context -----------------------------------------------------------------


@proves("session:What-a-session-is/binds-one-agent", "session:What-a-session-is/no-agent-switch")
async def test_the_agent_of_the_start_stays_whatever_becomes_of_its_file(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    async with model_host(scripted) as host:
        agent = agent_file(
            tmp_path, model="local:small", fallback_chain=["local:large"], system_prompt="Rhyme."
        )
        conversation = await talk(host, tmp_path, agent=agent)
        agent_file(tmp_path, model="local:large", system_prompt="Shout.")
        scripted.script[:] = [Reply(text=["One."]), Reply(status=503), Reply(text=["Two."])]
        await conversation.say("First")
        conversation.dispatch(a.SessionAgentChangedAction(agent=AgentSelection(uri=agent.uri)))
        await conversation.until(lambda: conversation.rejections)
        assert "stays the same" in conversation.rejections[0]
        await conversation.say("Second")
        assert [body["model"] for body in scripted.bodies] == ["small", "small", "large"]
        assert all(system(scripted, request).startswith("Rhyme.") for request in range(3))


async def test_another_model_answers_from_the_next_turn_on(
    scripted: ModelScriptServer, conversation: Conversation, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    gate = asyncio.Event()
    scripted.script[:] = [Reply(text=["Hm."], calls=[READ], gate=gate), Reply(text=["One."])]
    conversation.start("First")
    await conversation.heard("session/responsePart")
    conversation.dispatch(a.SessionModelChangedAction(model=ModelSelection(id="local:large")))
    gate.set()
    await conversation.end()
    await conversation.say("Second")
    assert [body["model"] for body in scripted.bodies] == ["small", "small", "large"]
    assert [m.model_id for m in await transcript(conversation) if m.model_id] == [
        *("local:small", "local:small", "local:large")
    ]
    conversation.dispatch(a.SessionModelChangedAction(model=ModelSelection(id="local:none")))
    await conversation.until(lambda: conversation.rejections)


@proves(
    "session:SessionContext/detected",
    "session:SessionContext/overridable",
    "session:SessionContext/ctx-variables-available",
    "session:Tools-and-secrets/variables-persisted",
)
async def test_the_context_is_found_where_the_session_begins_unless_it_is_given(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q", "-b", "topic")
    async with model_host(scripted) as host:
        agent = agent_file(
            tmp_path, system_prompt="You help {{ctx.team}} with {{ctx.what}}.", variables={"what": "all"}
        )
        found = await talk(host, tmp_path, agent=agent, config={"variables": {"team": "core"}})
        context = (await record_of(found)).context
        assert (context.working_dir, context.git_ref) == (str(tmp_path), "topic")
        assert context.variables == {"what": "all", "team": "core"}
        await found.say("Go")
        assert system(scripted).startswith("You help core with all.")
        assert "Git: topic" in system(scripted)
        given = {
            "gitRef": "v1",
            "activeFile": "b.py",
            "selection": {"file": "b.py", "startLine": 2, "endLine": 4},
            "variables": {"team": "core", "what": "docs"},
        }
        other = await talk(host, tmp_path, agent=agent, config=given)
        await other.say("Go")
        for line in ("with docs.", "Git: v1", "Active file: b.py", "Selection: b.py, lines 2 to 4"):
            assert line in system(scripted, 1)


@proves(
    "session:Chat-settings/fs-scope",
    "session:Chat-settings/command-allowlist",
    "session:Chat-settings/default-model",
)
async def test_chat_settings_hold_for_sessions_that_name_no_agent(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "above.txt").write_text("from above")
    (work := tmp_path / "work").mkdir()
    reads = Call("read_file", {"path": "../above.txt"}, id="r")
    runs = Call("run_command", {"words": ["echo", "allowed"]}, id="e")
    scripted.script[:] = [Reply(calls=[reads, runs])]
    chat: dict[str, Any] = {
        "fs_scope": "project",
        "allowed_commands": ("echo *",),
        "default_model": "local:large",
    }
    async with model_host(scripted, **chat) as host:
        conversation = await talk(host, work)
        assert len(calls(await conversation.say("Go"))) == 2
        assert scripted.bodies[0]["model"] == "large"
        outputs = [content for role, content in said(scripted, 1) if role == "tool"]
        assert "from above" in outputs[0]
        assert "allowed" in outputs[1]


# -- what is kept, and what goes out -----------------------------------------------------------------------


@proves("session:SessionMessage/projected-at-call-time")
async def test_a_large_result_is_cut_for_the_model_with_a_note_and_stays_whole(
    scripted: ModelScriptServer, conversation: Conversation, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("begin " + "x" * 100_000 + " end")
    scripted.script[:] = [Reply(calls=[READ])]
    await conversation.say("Read it")
    [(_, seen)] = [one for one in said(scripted, 1) if one[0] == "tool"]
    assert len(seen) < 30_000
    assert re.search(r"\d+ characters are left out", seen)
    kept = [part for m in await transcript(conversation) for part in m.content]
    [whole] = [part.output for part in kept if isinstance(part, ToolResultPart)]
    assert "x" * 100_000 in whole


@proves(
    "session:SessionMessage/made-durable-on-the-way-in", "session:SessionMessage/handles-resolved-for-egress"
)
async def test_media_are_kept_by_handle_and_go_out_as_what_they_are(
    scripted: ModelScriptServer, conversation: Conversation
) -> None:
    picture = base64.b64encode(b"\x89PNG some picture").decode()
    attached = MessageEmbeddedResourceAttachment(label="p.png", data=picture, content_type="image/png")
    await conversation.say("What is it?", [attached])
    await conversation.say("Really?")
    rows = b"".join(row[-1] for row in await rows_of(conversation))
    assert b"serai-blob:/" in rows
    assert picture.encode() not in rows
    for body in scripted.bodies:
        assert f"data:image/png;base64,{picture}" in json.dumps(body)


@proves("session:SessionMessage/no-vendor-types")
async def test_what_is_kept_of_a_turn_is_of_our_own_types_and_one_corner_alone_knows_the_vendors(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    scripted.script[:] = [Reply(reasoning=["hm"], text=["Look."], calls=[READ])]
    async with model_host(scripted) as host:
        conversation = await talk(host, tmp_path)
        turn = await conversation.say("Go")
        steps = await host.journal.store.relay("steps_of_turn", conversation.session.uri, turn.id)
        kept = [*[decode(row[0], Step) for row in steps], *await transcript(conversation)]
        assert {type(one).__module__ for one in kept} == {"serai.session.turn_core", "serai.session.messages"}
    source = Path(serai.__file__).parent
    vendor = re.compile(r"^ *(?:from|import) (?:pydantic_ai|openai|anthropic|google)\b", re.MULTILINE)
    knowing = {
        str(file.relative_to(source)) for file in source.rglob("*.py") if vendor.search(file.read_text())
    }
    assert {name for name in knowing if not name.startswith(("models/", "agents/"))} <= {
        "harness/model/vendors.py",
        "harness/model/client.py",  # for the type checker alone
    }


KEY = "made-up-key-of-a-model-4711"


@proves(
    "session:Validation-and-persistence/no-api-keys",
    "session:Tools-and-secrets/secret-not-interpolated",
    "session:Export/no-secrets",
)
async def test_the_key_of_a_model_is_nowhere_but_in_the_header_of_its_requests(
    scripted: ModelScriptServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("ODDLY_NAMED", KEY)
    (tmp_path / "a.txt").write_text(f"the key is {KEY}")
    shows = Call("run_command", {"words": ["env"]}, id="e")
    scripted.script[:] = [Reply(text=[f"I know {KEY}."], calls=[READ, shows]), Reply(text=[f"It is {KEY}."])]
    async with model_host(scripted, entry={"key": "env:ODDLY_NAMED"}, allowed_commands=("env",)) as host:
        assert KEY not in host.redactor.redact(f"It is {KEY}."), "it is known before a model is asked"
        conversation = await talk(host, tmp_path)
        turn = await conversation.say("Go")
        assert turn.state == TurnState.COMPLETE
        await conversation.say("Again")
        steps = await host.journal.store.relay("steps_of_turn", conversation.session.uri, turn.id)
        found = await transcribed(host, conversation.session)
        kept = {
            "rows": await rows_of(conversation),
            "session": await rows_of(conversation, "agent_session"),
            "steps": steps,
            "events": conversation.actions,
            "log": caplog.text,
            "requests": scripted.bodies,
            "export": serialize(workflow_of(found.record, found.messages)),
        }
        assert [place for place, what in kept.items() if KEY in str(what)] == []
        assert "ODDLY_NAMED=" not in str(kept["rows"])
        assert {headers["authorization"] for headers in scripted.headers} == {f"Bearer {KEY}"}


@proves("session:Tools-and-secrets/own-words-kept")
async def test_what_a_person_typed_stays_also_where_it_looks_like_a_secret(
    scripted: ModelScriptServer, conversation: Conversation
) -> None:
    typed = "Is sk-ant-api03-" + "a1B2" * 20 + " a good key?"
    await conversation.say(typed)
    assert typed in str(await transcript(conversation))
    assert said(scripted, 0) == [("user", typed)]


async def test_a_fork_and_a_truncation_leave_the_model_what_is_left_of_the_conversation(
    scripted: ModelScriptServer, conversation: Conversation, tmp_path: Path
) -> None:
    first = await conversation.say("One")
    await conversation.say("Two")
    source = SessionForkSource(session=conversation.session.uri, turn_id=first.id)
    forked = await talk(conversation.host, tmp_path, fork=source)
    await forked.say("Other")
    assert said(scripted, 2) == [("user", "One"), ("assistant", "done"), ("user", "Other")]
    ((_, whole, _),) = await rows_of(conversation, "agent_session")
    ((_, own, _),) = await rows_of(forked, "agent_session")
    assert 0 < own < whole
    conversation.dispatch(a.SessionTruncatedAction(turn_id=first.id))
    await conversation.say("Three")
    assert said(scripted, 3) == [("user", "One"), ("assistant", "done"), ("user", "Three")]
    found = await transcribed(conversation.host, conversation.session)
    nodes = workflow_of(found.record, found.messages, truncated=found.truncated).nodes
    assert [node.prompt_template for node in nodes[1:-1]] == ["One", "Three"]
    assert len(found.messages) == 6


# -- money -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agreed", [True, False])
@proves("session:Chat-settings/cost-cap", "session:Chat-settings/on-exceed")
async def test_a_budget_that_asks_goes_on_when_a_person_says_so(
    scripted: ModelScriptServer, tmp_path: Path, agreed: bool
) -> None:
    async with model_host(scripted, max_cost_microcents=1000, on_exceed="ask") as host:
        conversation = await talk(host, tmp_path)
        conversation.start("Go")
        assert "of the budget are left" in ((await conversation.request()).message or "")
        assert scripted.requests == 0
        await conversation.answer(yes_or_no(agreed))
        turn = await conversation.end()
        if agreed:
            assert (turn.state, scripted.requests) == (TurnState.COMPLETE, 1)
        else:
            assert turn.error is not None
            assert (turn.error.error_type, scripted.requests) == ("budget_exceeded", 0)


async def test_a_budget_without_a_price_sends_nothing_and_without_a_budget_it_is_shown_as_unknown(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    async with model_host(scripted, entry={"prices": {}}, max_cost_microcents=10**9) as host:
        turn = await (await talk(host, tmp_path)).say("Go")
        assert turn.error is not None
        assert (turn.error.error_type, scripted.requests) == ("price_unknown", 0)
    async with model_host(scripted, entry={"prices": {}}) as host:
        conversation = await talk(host, tmp_path)
        assert (await conversation.say("Go")).state == TurnState.COMPLETE
        ((_, spent, unpriced),) = await rows_of(conversation, "agent_session")
        assert (spent, unpriced) == (0, 1)
