"""What holds for every agent from npm, through the port of a real host.

The model server does what a prompt says: `FAKE_SHELL{…}` has the agent run a command, `FAKE_SLOW{…}` lets it
talk for long, four pieces in a second, and `FAKE_RECALL` has it tell which earlier prompts it can see.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from conformance.client import Client, calls_of, text_of
from real.conversation import Conversation, begin, conversing, notices
from real.house import RealHost
from real.table import AGENTS, RealAgent
from serai.ahp.types import ToolCallCancelledState, ToolCallCompletedState
from serai.relay.sdk import Relay

pytestmark = pytest.mark.asyncio(loop_scope="module")

ANSWER = "FAKE_JSON{I am here}"
FIVE_MINUTES = "FAKE_SLOW{1200}"
HELIOTROPE = "The word of the day is heliotrope."


# -- turns -------------------------------------------------------------------------------------------------


async def test_an_agent_answers(conversation: Conversation) -> None:
    turn = await conversation.converse("Good morning")
    assert text_of(turn) == "Hello from the fake model."
    assert notices(turn) == []


async def test_a_turn_that_is_cancelled_ends_soon(conversation: Conversation) -> None:
    await conversation.start(FIVE_MINUTES)
    await conversation.says("chunk1")
    assert (await conversation.cancel()).state == "cancelled"
    turn = await conversation.converse(ANSWER)
    assert text_of(turn) == "I am here"
    assert notices(turn) == [], "the agent itself has stopped: it was not started again"


# -- tools -------------------------------------------------------------------------------------------------


async def test_a_command_runs_when_it_is_allowed(conversation: Conversation, folder: Path) -> None:
    await conversation.start("FAKE_SHELL{touch ran.txt && echo it-has-run}")
    question = await conversation.asked()
    assert not (folder / "ran.txt").exists()
    await conversation.allow(question)
    turn = await conversation.over()
    assert turn.state == "complete"
    assert (folder / "ran.txt").exists()
    [call] = calls_of(turn)
    assert isinstance(call, ToolCallCompletedState)
    assert call.success
    assert "it-has-run" in str(call.content)


async def test_a_command_that_is_denied_does_not_run(conversation: Conversation, folder: Path) -> None:
    await conversation.start("FAKE_SHELL{touch ran.txt}")
    await conversation.deny(await conversation.asked())
    turn = await conversation.over()
    assert turn.error is None
    [call] = calls_of(turn)
    assert isinstance(call, ToolCallCancelledState)
    assert call.reason == "denied"
    assert text_of(await conversation.converse(ANSWER)) == "I am here"
    assert not (folder / "ran.txt").exists()


async def test_a_turn_can_be_cancelled_while_the_person_is_asked(
    conversation: Conversation, folder: Path
) -> None:
    await conversation.start("FAKE_SHELL{touch ran.txt}")
    await conversation.asked()
    assert (await conversation.cancel()).state == "cancelled"
    assert text_of(await conversation.converse(ANSWER)) == "I am here"
    assert not (folder / "ran.txt").exists()


@pytest.mark.parametrize("place", ["in a folder", "in a repository"])
async def test_a_file_that_is_written_is_among_the_changes(
    client: Client, agent: RealAgent, folder: Path, place: str
) -> None:
    if place == "in a repository":
        make_repository(folder)
    async with conversing(client, agent.name, folder) as conversation:
        await client.until(lambda: conversation.state.summary.changesets)
        await conversation.start(f"FAKE_WRITE{{{folder / 'new.txt'}|written by an agent}}")
        question = await conversation.asked()
        assert not (folder / "new.txt").exists()
        await conversation.allow(question)
        assert (await conversation.over()).state == "complete"
        assert (folder / "new.txt").read_text().strip() == "written by an agent"
        assert await conversation.changed("session") == {"new.txt"}
        assert await conversation.changed("turn/t1") == {"new.txt"}


def make_repository(folder: Path) -> None:
    """Put a folder under version control, with all that is in it."""
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        command = ["git", *person, *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


# -- sessions ----------------------------------------------------------------------------------------------


async def test_a_session_goes_on_after_its_host_was_killed(
    mortal_host: RealHost, agent: RealAgent, folder: Path
) -> None:
    async with mortal_host.client() as client:
        conversation = await begin(client, agent.name, folder)
        await conversation.converse(HELIOTROPE)
        await conversation.start(FIVE_MINUTES)
        await conversation.says("chunk1")
        assert mortal_host.agents_that_run()
        await mortal_host.kill()
    await mortal_host.start()
    assert mortal_host.agents_that_run() == [], "what the dead host has left was ended"
    async with mortal_host.client() as client:
        await client.subscribe(conversation.uri)
        conversation = Conversation(client, conversation.uri)
        assert conversation.turns == ["t1", "t2"]
        interrupted = conversation.state.turns[-1].error
        assert interrupted is not None
        assert interrupted.error_type == "interrupted"
        turn = await conversation.converse("FAKE_RECALL")
        assert conversation.opened in ("resumed", "loaded")
        assert any("it remembers the conversation" in notice for notice in notices(turn))
        assert HELIOTROPE in text_of(turn)
        assert conversation.turns == ["t1", "t2", "t3"], "what the agent has told again is not told twice"


async def test_a_fork_remembers_what_was_said_before(
    host: RealHost, conversation: Conversation, agent: RealAgent, folder: Path
) -> None:
    can = (await host.probe(agent.name))["capabilities"]
    await conversation.converse(HELIOTROPE)
    source = {"session": conversation.uri, "turnId": "t1"}
    async with conversing(conversation.client, agent.name, folder, fork=source) as fork:
        turn = await fork.converse("FAKE_RECALL")
        if can["forkSession"]:
            assert fork.opened == "forked"
            assert HELIOTROPE in text_of(turn)
        else:
            assert fork.opened == "re-created"
            assert any("a new session of its own" in notice for notice in notices(turn))
        assert fork.turns == ["t1", "t2"]
    assert text_of(await conversation.converse(ANSWER)) == "I am here"


async def test_several_agents_work_in_one_host_at_the_same_time(client: Client, folder: Path) -> None:
    async with AsyncExitStack() as stack:
        conversations = [
            await stack.enter_async_context(conversing(client, agent.name, folder)) for agent in AGENTS
        ]
        for one in conversations:
            await one.start(FIVE_MINUTES)
        for one in conversations:
            await one.says("chunk1")
        assert all(one.state.active_turn for one in conversations)
        for one in conversations:
            assert (await one.cancel()).state == "cancelled"
        for number, one in enumerate(conversations):
            await one.start(f"FAKE_JSON{{answer {number}}}")
        for number, one in enumerate(conversations):
            assert text_of(await one.over()) == f"answer {number}"


# -- messages ----------------------------------------------------------------------------------------------

TOOLS = {"claude": "mcp__serai__{}", "opencode": "serai_{}"}
"""What agents call the tools of the server `serai`."""


async def use(conversation: Conversation, agent: str, tool: str, **arguments: str) -> None:
    """Have an agent use one of the relay's tools, whoever is asked."""
    await conversation.client.until(lambda: conversation.state.active_turn is None)
    await conversation.start(f"FAKE_TOOL{{{TOOLS[agent].format(tool)}|{json.dumps(arguments)}}}")
    await conversation.answered_yes()
    assert "TOOL_DONE" in text_of(await conversation.over())


async def test_two_agents_talk_in_a_room_a_thread_and_directly(
    client: Client, host: RealHost, folder: Path
) -> None:
    async with (
        conversing(client, "claude", folder) as one,
        conversing(client, "opencode", folder) as other,
        await Relay.connect(host.url, host.token) as relay,
    ):
        agents = (await relay.call("agents.list")).agents
        handles = {agent.session: agent.identity.handle for agent in agents}
        await use(one, "claude", "create_room", name="talk")
        await use(other, "opencode", "join_room", room="#talk")
        await use(one, "claude", "send_message", to="#talk", text="is it done?")
        [message] = (await relay.call("messages.list", room="#talk")).messages
        await use(other, "opencode", "reply", message=message.id, text="it is")
        await use(one, "claude", "send_message", to=handles[other.uri], text="thank you")
        for conversation, text in ((one, "it is"), (other, "thank you")):
            await client.until(
                lambda said=text, state=conversation: any(
                    turn.user_message.text.endswith(said) for turn in state.state.turns
                )
            )
        for uri, reasons in ((one.uri, ["thread-reply"]), (other.uri, ["dm", "message"])):
            found = (await relay.call("deliveries.list", agent=handles[uri])).deliveries
            records = [
                await relay.call("deliveries.get", deliveryId=record.id)
                for record in found
                if record.message_id.startswith("msg_")
            ]
            assert [record.reason for record in records] == reasons
            assert {record.state for record in records} == {"delivered"}
            assert all(record.evidence["turnId"] for record in records)
