"""The agents for tests: they are real agents, without a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from serai import agents
from serai.agents import ToolCalled, ToolChanged
from serai.agents.testing import EVERYTHING, Replay, ScriptedAgent, ScriptedTurn
from serai.errors import (
    AgentClosed,
    AgentRequestFailed,
    ConfigInvalid,
    FileUnreadable,
    SessionLoadFailed,
)


async def test_a_scripted_agent_says_what_was_written_down() -> None:
    agent = ScriptedAgent(["Hello!", ["How ", "are ", "you?"]])
    async with agents.session(agent) as session:
        assert [(await session.ask("Hi")).text, (await session.ask("And?")).text] == [
            "Hello!",
            "How are you?",
        ]
        with pytest.raises(AgentRequestFailed, match="there is no turn 3"):
            await session.ask("Still there?")
    assert agent.prompts == ["Hi", "And?", "Still there?"]
    assert agent.methods[:2] == ["initialize", "session/new"]
    assert (agent.starts, agent.cwd) == (1, Path.cwd())


async def test_a_turn_can_be_anything_that_an_agent_does() -> None:
    async def turn(turn: ScriptedTurn) -> str:
        turn.think("hm")
        turn.plan("look", "write")
        turn.noise("a banner")
        call = turn.tool("write a", "edit", rawInput={"path": "/a"})
        chosen = await turn.ask_permission(call=call)
        turn.tool_update(call, text="done", diff=("/a", None, "new"))
        turn.say(f"{turn.number}: {chosen} for {turn.text}")
        turn.usage(5, 10, cost_usd=0.25)
        turn.tokens = {"inputTokens": 3}
        turn.update("hologram", depth=3)
        return "max_tokens"

    async with agents.stream(ScriptedAgent([turn]), "it", permissions="auto-allow-once") as stream:
        events = [event async for event in stream]
        result = await stream.result()
    assert (result.text, result.thinking, result.stop_reason) == ("1: allow_once for it", "hm", "max_tokens")
    assert (result.cost_usd, result.context_size, result.usage) == (0.25, 10, {"inputTokens": 3})
    assert [type(event) for event in events if isinstance(event, ToolCalled | ToolChanged)]
    [use] = result.tool_uses
    assert (use.kind, use.status, use.text, use.diffs[0].new_text) == ("edit", "completed", "done", "new")


async def test_it_keeps_its_sessions_and_has_what_it_is_given() -> None:
    agent = ScriptedAgent(
        ["a", "b", "c"],
        capabilities=EVERYTHING,
        modes=["ask", "do"],
        options={"model": ["small", "large"]},
    )
    async with agents.session(agent, model="large", mode="do") as session:
        assert [choice.value for choice in session.models.models] == ["large", "small"]
        assert session.acp.modes is not None
        assert session.acp.modes.value == "do"
        fork = await session.fork()
        first, second = session.id, fork.id
    assert first != second
    async with agents.session(agent, resume=first) as session:
        assert (session.id, agent.starts) == (first, 2)
        listed = [one.id async for one in session.host.stream_all_sessions()]
        assert listed == [first, second]
        await session.host.delete_session(second)
        with pytest.raises(SessionLoadFailed):
            await session.host.load_session(second)
    wrong = ScriptedAgent(["a"], options={"model": ["small"]})
    warnings: list[str] = []
    await agents.ask(wrong, "go", model="large", on_warning=warnings.append)
    assert "did not take the model 'large'" in warnings[0]


# -- recording and replaying -------------------------------------------------------------------------------


async def test_a_conversation_is_recorded_and_played_again(tmp_path: Path) -> None:
    async def turn(turn: ScriptedTurn) -> None:
        turn.log("token=ghp_0123456789abcdefghij0123456789abcdef")
        turn.noise("a banner")
        turn.say(await turn.ask_permission("rm x"))

    file = tmp_path / "talk.ndjson"
    first = await agents.ask(ScriptedAgent([turn]), "go", record=file, permissions="auto-reject")
    assert b"ghp_0" not in file.read_bytes()
    heard: list[str] = []
    again = await agents.ask(Replay(file), "anything", permissions="auto-reject", on_stderr=heard.append)
    assert (again.text, again.session_id) == (first.text, first.session_id) == ("reject_once", "session-1")
    assert len(heard) == 1


async def test_each_start_plays_the_next_conversation_with_its_end(tmp_path: Path) -> None:
    async def leave(turn: ScriptedTurn) -> None:
        turn.say("bye")
        turn.exit(7)

    file = tmp_path / "talk.ndjson"
    agent = ScriptedAgent([leave, "back"])
    with pytest.raises(AgentClosed):
        await agents.ask(agent, "go", record=file)
    await agents.ask(agent, "go", record=file)
    replay = Replay(file)
    with pytest.raises(AgentClosed) as caught:
        await agents.ask(replay, "go")
    assert caught.value.exit_code == 7
    assert (await agents.ask(replay, "go")).text == "back"


async def test_a_client_that_goes_another_way_is_told(tmp_path: Path) -> None:
    file = tmp_path / "talk.ndjson"
    await agents.ask(ScriptedAgent(["a"]), "go", record=file)
    assert file.stat().st_mode & 0o777 == 0o600  # nobody else is to read what was said
    async with agents.session(Replay(file)) as session:
        await session.ask("go")
        with pytest.raises(AgentRequestFailed, match="was not asked then"):
            await session.ask("more")


async def test_a_file_that_cannot_be_written_is_told_before_anything_starts(tmp_path: Path) -> None:
    agent = ScriptedAgent(["a"])
    with pytest.raises(ConfigInvalid):
        await agents.ask(agent, "go", record=tmp_path / "none" / "talk.ndjson")
    assert agent.starts == 0


@pytest.mark.parametrize("content", [None, b"{}\n"])
def test_what_is_no_transcript_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "talk.ndjson"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(FileUnreadable):
        Replay(file)
