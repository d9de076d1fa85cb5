"""Which session is asked, and how its turns end."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai import Agent, AudioUrl, BinaryContent, UploadedFile
from pydantic_ai.exceptions import (
    ModelConnectionError,
    ModelRequestRejectedError,
    UserError,
)
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.test import TestModel

from agents.players import ALL, Players
from machine.processes.watching import runs, until
from models.conversing import Making, prompts, texts
from serai import agents
from serai.errors import AgentClosed
from serai.models import AgentModel, AgentModelWarning

PICTURE = BinaryContent(b"png", media_type="image/png")


async def test_each_request_has_an_agent_of_its_own(model: Making) -> None:
    one = model()
    first, second = [int((await Agent(one).run("pid")).output) for _ in range(2)]
    assert first != second
    assert not runs(first)
    assert not runs(second)


async def test_a_session_goes_on_and_stays_open(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        agent = Agent(AgentModel.of(session))
        first = await agent.run("pid")
        second = await agent.run("pid", message_history=first.all_messages())
        assert first.output == second.output
        stored = ModelMessagesTypeAdapter.dump_json(second.all_messages())
        again = ModelMessagesTypeAdapter.validate_json(stored)
        await agent.run("echo c", message_history=again)
        assert (await session.ask("echo d")).text == "d"
    assert texts(players) == ["pid", "pid", "echo c", "echo d"]
    assert players.methods.count("session/new") == 1


async def test_a_session_survives_a_run_that_is_cancelled(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        agent = Agent(AgentModel.of(session))
        running = asyncio.create_task(agent.run("wait"))
        await until(lambda: session.acp.turn is not None)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await agent.run("echo next")).output == "next"
    assert players.methods.count("session/cancel") == 1


async def test_a_session_is_told_its_instructions_when_they_change(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        model = AgentModel.of(session)
        for instructions in ("Be kind.", "Be kind.", "Be brief.", None):
            await Agent(model, instructions=instructions).run("echo a")
    assert texts(players) == [
        "Be kind.\n\necho a",
        "echo a",
        "These instructions hold from now on, instead of the earlier ones:\n\nBe brief.\n\necho a",
        "The earlier instructions do not hold any more.\n\necho a",
    ]


async def test_a_new_session_is_told_what_holds_throughout(players: Players, model: Making) -> None:
    players.native("native")
    for name in ("player", "native"):
        agent = Agent(
            model(name, system_prompt="Be honest."), system_prompt="Be kind.", instructions="Be brief."
        )
        await agent.run("echo a")
    assert texts(players) == ["Be honest.\n\nBe kind.\n\nBe brief.\n\necho a", "echo a"]
    opened = [each["params"] for each in players.heard if each["method"] == "session/new"]
    assert opened[1]["_meta"]["systemPrompt"]["append"] == "Be honest.\n\nBe kind.\n\nBe brief."


async def test_instructions_alone_are_a_prompt(players: Players, model: Making) -> None:
    assert (await Agent(model(), instructions="echo a").run()).output == "a"
    async with agents.session("player", **players.options) as session:
        assert (await Agent(AgentModel.of(session), instructions="echo b").run()).output == "b"


async def test_an_earlier_session_is_resumed(players: Players, model: Making) -> None:
    players.add("able", capabilities=ALL)
    first = await Agent(model("able")).run("echo a")
    again = Agent(model("able", resume="s1"))
    second = await again.run("echo b", message_history=first.all_messages())
    assert second.output == "b"
    assert texts(players) == ["echo a", "echo b"]
    assert "session/resume" in players.methods


async def test_a_history_that_an_agent_does_not_know_is_told_with_a_warning(
    model: Making, players: Players
) -> None:
    def weather() -> str:
        return "rain"

    elsewhere = Agent(TestModel(custom_output_text="It rains."), tools=[weather])
    history = (await elsewhere.run("How is it?")).all_messages()
    with pytest.warns(AgentModelWarning) as caught:
        result = await Agent(model()).run("echo a", message_history=history)
    assert result.output == "a"
    first, second = [str(each.message) for each in caught]
    assert "earlier answers of the history — they are told in the prompt" in first
    assert second == 'Agent "player" does not take the tool calls and results of this history — dropped.'
    [text] = texts(players)
    assert "User:\nHow is it?\n\nAssistant:\nIt rains." in text
    assert "weather" not in text


# -- parts -------------------------------------------------------------------------------------------------


async def test_an_able_agent_gets_all_parts(players: Players, model: Making) -> None:
    players.add("able", capabilities=ALL)
    sound = BinaryContent(b"wav", media_type="audio/wav")
    note = BinaryContent(b"# Hi", media_type="text/markdown", identifier="note")
    paper = BinaryContent(b"%PDF\xff", media_type="application/pdf", identifier="paper")
    link = AudioUrl("https://a.example/song.mp3")
    await Agent(model("able")).run(["echo a", PICTURE, sound, note, paper, link])
    [[text, *blocks]] = prompts(players)
    assert text == {"type": "text", "text": "echo a"}
    assert blocks == [
        {"type": "image", "data": "cG5n", "mimeType": "image/png"},
        {"type": "audio", "data": "d2F2", "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {"uri": "attachment:///note", "mimeType": "text/markdown", "text": "# Hi"},
        },
        {
            "type": "resource",
            "resource": {"uri": "attachment:///paper", "mimeType": "application/pdf", "blob": "JVBERv8="},
        },
        {"type": "resource_link", "uri": "https://a.example/song.mp3", "name": "song.mp3"},
    ]


async def test_parts_that_an_agent_cannot_take_are_dropped_in_the_words_of_ask(
    players: Players, model: Making
) -> None:
    with pytest.warns(AgentModelWarning) as caught:
        result = await Agent(model()).run(["echo a", PICTURE, BinaryContent(b"x", media_type="video/mp4")])
    assert result.output == "a"
    assert [str(each.message) for each in caught] == players.warnings


async def test_a_file_that_another_provider_keeps_is_refused(players: Players, model: Making) -> None:
    with pytest.raises(UserError, match="openai stores it"):
        await Agent(model()).run(["echo a", UploadedFile("file-1", "openai")])
    assert not players._record.exists()


async def test_instructions_do_not_go_without_what_they_are_for(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        agent = Agent(AgentModel.of(session), instructions="Be brief.")
        with pytest.raises(ModelRequestRejectedError):
            await agent.run([PICTURE])
        assert "session/prompt" not in players.methods
    with pytest.raises(ModelRequestRejectedError):
        await Agent(AgentModel("player", **players.options), instructions="Be brief.").run([PICTURE])
    assert "session/prompt" not in players.methods


async def test_cancelling_a_run_cancels_the_turn_and_ends_the_agent(model: Making, players: Players) -> None:
    running = asyncio.create_task(Agent(model()).run("wait"))
    await until(lambda: players._record.exists() and "session/prompt" in players.methods)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert players.methods[-1] == "session/cancel"  # and the fixture sees that nothing is left


async def test_an_agent_that_ends_in_a_turn_fails_it(model: Making) -> None:
    with pytest.raises(ModelConnectionError) as raised:
        await Agent(model()).run("crash")
    assert isinstance(raised.value.__cause__, AgentClosed)
    assert raised.value.in_stream
    assert raised.value.provider_error_code == "connection_closed"
