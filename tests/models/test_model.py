"""An agent as a model of pydantic-ai."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import (
    UserError,
)
from pydantic_ai.messages import (
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
)
from pydantic_ai.models import override_allow_model_requests

from agents.players import Players
from models.conversing import ROME, ROME_JSON, City, Making, answer_of, texts
from serai import agents
from serai.models import AgentModel, agent_provider


async def test_an_agent_answers(model: Making) -> None:
    result = await Agent(model()).run("echo Good morning")
    assert result.output == "Goodmorning"
    response = answer_of(result.all_messages())
    assert (response.model_name, response.provider_name) == ("player", "serai")
    assert (response.provider_response_id, response.finish_reason) == ("s1", "stop")
    assert response.provider_details == {"finish_reason": "end_turn", "agent": "player", "session_id": "s1"}
    assert (result.usage.input_tokens, result.usage.output_tokens) == (1000, 100)


async def test_a_model_has_the_names_of_its_agent(model: Making) -> None:
    plain, chosen = model(), model(model="large")
    assert (plain.system, plain.model_name, plain.model_id) == ("serai", "player", "serai:player")
    assert chosen.model_name == "player/large"
    assert repr(chosen) == "AgentModel('player/large')"
    assert plain != model()


async def test_the_options_of_sessions_hold(model: Making, players: Players) -> None:
    chosen = model(model="large", permissions="auto-reject")
    assert (await Agent(chosen).run("permit allow_once reject_once")).output == "reject_once"
    assert "session/set_config_option" in players.methods
    with pytest.raises(TypeError, match="no option 'colour'"):
        model(colour="red")


async def test_the_tools_of_an_agent_are_told_as_native_ones(model: Making) -> None:
    result = await Agent(model()).run("work")
    assert result.output == "It is fine."
    thought, look, call, came, fine = answer_of(result.all_messages()).parts
    assert (thought, look, fine) == (ThinkingPart("hm"), TextPart("Let me look."), TextPart("It is fine."))
    assert isinstance(call, NativeToolCallPart)
    assert (call.tool_name, call.args, call.tool_call_id) == ("execute", {"command": "ls -l"}, "t1")
    assert call.provider_details == {"title": "ls -l", "kind": "execute", "locations": []}
    assert isinstance(came, NativeToolReturnPart)
    assert (came.content, came.outcome, came.tool_call_id) == ("README.md", "success", "t1")
    assert came.provider_details is not None
    assert [each["type"] for each in came.provider_details["content"]] == ["content", "diff", "terminal"]


async def test_requests_that_are_not_allowed_are_not_made(model: Making, players: Players) -> None:
    with override_allow_model_requests(False), pytest.raises(RuntimeError, match="not allowed"):
        await Agent(model()).run("echo a")
    assert not players._record.exists()


@pytest.mark.parametrize("output", [City, PromptedOutput(City)])
async def test_an_output_type_is_asked_for_in_the_prompt(
    players: Players, model: Making, output: Any
) -> None:
    players.add("json", answers=[f"Here it is:\n```json\n{ROME_JSON}\n```"])
    result = await Agent(model("json"), output_type=output, instructions="Be brief.").run("Which city?")
    assert result.output == ROME
    [text] = texts(players)
    assert text.startswith("Be brief.\n\nAlways respond with a JSON object")
    assert '"title": "City"' in text
    assert text.endswith("\n\nWhich city?")


async def test_an_answer_that_is_wrong_is_sent_back_to_the_session(players: Players) -> None:
    players.add("json", answers=["It is Rome.", ROME_JSON])
    async with agents.session("json", **players.options) as session:
        result = await Agent(AgentModel.of(session), output_type=City).run("Which city?")
    assert result.output == ROME
    first, second = texts(players)
    assert "Always respond" in first
    assert "validation_errors" in second
    assert "Which city?" not in second
    assert "Always respond" not in second


@pytest.mark.parametrize(
    ("output", "words"),
    [(NativeOutput(City), "Native structured output"), (ToolOutput(City), "Tool output")],
)
async def test_other_ways_to_get_data_are_refused(
    model: Making, players: Players, output: Any, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        await Agent(model(), output_type=output).run("a")
    assert not players._record.exists()


async def test_a_client_is_an_agent_with_options(players: Players) -> None:
    client = agents.client("player", **players.options)
    assert (await Agent(AgentModel(client)).run("permit allow_once reject_once")).output == "allow_once"
    careful = AgentModel(client, permissions="auto-reject")
    assert (await Agent(careful).run("permit allow_once reject_once")).output == "reject_once"


async def test_a_provider_has_defaults_for_all(players: Players) -> None:
    careful: Any = {**players.options, "permissions": "auto-reject"}
    models = agent_provider(**careful)
    assert (await Agent(models("player")).run("permit allow_once reject_once")).output == "reject_once"
    generous = models("player", permissions="auto-allow", model="large")
    assert generous.model_name == "player/large"
    assert (await Agent(generous).run("permit allow_once reject_once")).output == "allow_once"
    odd: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="no option"):
        agent_provider(**odd)


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def test_others_do_not_load_pydantic_ai() -> None:
    first = "import serai.agents; from serai.cli import main; main(['--help'])"
    look = "import sys; assert 'pydantic_ai' not in sys.modules"
    done = run(f"try:\n    {first}\nexcept SystemExit:\n    pass\n{look}")
    assert done.returncode == 0, done.stderr


def test_without_the_extra_one_is_told_its_name() -> None:
    done = run("import sys; sys.modules['pydantic_ai'] = None; import serai.models")
    assert done.returncode == 1
    assert "ModuleNotFoundError: serai.models needs pydantic-ai" in done.stderr
    assert "pip install 'serai[models]'" in done.stderr
