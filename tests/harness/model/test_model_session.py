"""A session with a model, from a person's message to the end of its turn, on a real host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.conversation import Conversation, calls, prose
from harness.model.model_server import Call, ModelScriptServer, Reply
from harness.model.servers import agent_file, model_host, rows_of, talk
from requirements import proves
from serai.ahp.types import TurnState
from serai.errors import InvalidParams


@proves("session:What-a-session-is/multi-turn", "session:What-a-session-is/keeps-state")
async def test_a_turn_knows_what_was_said_before(
    scripted: ModelScriptServer, conversation: Conversation
) -> None:
    scripted.script[:] = [Reply(text=["Hel", "lo."]), Reply(text=["Still here."])]
    assert prose(await conversation.say("Good morning")) == "Hello."
    assert prose(await conversation.say("And now?")) == "Still here."
    said = [(m["role"], m["content"]) for m in scripted.bodies[1]["messages"] if m["role"] != "system"]
    assert said == [("user", "Good morning"), ("assistant", "Hello."), ("user", "And now?")]
    assert [row[3] for row in await rows_of(conversation)] == ["user", "assistant"] * 2


async def test_a_no_with_a_reason_reaches_the_model_and_the_turn_goes_on(
    scripted: ModelScriptServer, conversation: Conversation, tmp_path: Path
) -> None:
    call = Call("write_file", {"path": "a.txt", "content": "new\n"})
    scripted.script[:] = [Reply(calls=[call]), Reply(text=["Then not."])]
    conversation.start("Write it")
    await conversation.deny(suggestion="use b.txt")
    assert prose(await conversation.end()) == "Then not."
    told = scripted.bodies[1]["messages"][-1]
    assert told["role"] == "tool"
    assert "use b.txt" in told["content"]
    assert not (tmp_path / "a.txt").exists()


async def test_input_that_a_person_has_edited_is_what_runs(
    scripted: ModelScriptServer, conversation: Conversation, tmp_path: Path
) -> None:
    call = Call("write_file", {"path": "a.txt", "content": "new\n"})
    scripted.script[:] = [Reply(calls=[call]), Reply(text=["Written."])]
    conversation.start("Write it")
    await conversation.approve(edited=json.dumps({"path": "b.txt", "content": "mine\n"}))
    await conversation.end()
    assert (tmp_path / "b.txt").read_text() == "mine\n"
    assert not (tmp_path / "a.txt").exists()


async def test_wrong_calls_go_back_to_the_model_and_five_in_a_row_end_the_turn(
    scripted: ModelScriptServer, conversation: Conversation
) -> None:
    wrong = [Call("fly", {}), Call("read_file", "{no json"), Call("read_file", {"path": 3})]
    scripted.script[:] = [Reply(calls=[call]) for call in (*wrong, *wrong[:2])]
    turn = await conversation.say("Try")
    assert turn.state == TurnState.ERROR
    assert turn.error is not None
    assert turn.error.error_type == "tool_misuse"
    assert scripted.requests == 5
    assert len(calls(turn)) == 5


async def test_another_model_answers_when_the_first_cannot(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    scripted.script[:] = [Reply(status=503), Reply(text=["I can."])]
    async with model_host(scripted) as host:
        agent = agent_file(tmp_path, model="local:small", fallback_chain=["local:large"])
        work = tmp_path / "work"  # what is in a folder that nobody trusts is not taken
        work.mkdir()
        conversation = await talk(host, work, agent=agent)
        turn = await conversation.say("Who?")
        assert "I can." in prose(turn)
        assert [body["model"] for body in scripted.bodies] == ["small", "large"]
        assert (await rows_of(conversation))[-1][4] == "local:large"


@proves("session:Tools-and-secrets/tools-only-narrowed", "session:Tools-and-secrets/variables-hold-no-secret")
async def test_what_widens_the_agent_or_is_a_secret_is_refused(
    scripted: ModelScriptServer, tmp_path: Path
) -> None:
    wishes: dict[str, Any] = {
        "tools": ["fly"],
        "allowedCommands": ["rm *"],
        "fsScopeTier": "full",
        "variables": {"key": "sk-ant-api03-" + "a1B2" * 20},
    }
    async with model_host(scripted) as host:
        for field, value in wishes.items():
            with pytest.raises(InvalidParams, match=field):
                await talk(host, tmp_path, config={field: value})
