"""Agents of one's own, and how any agent is started."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import msgspec
import pytest

from agents.machine import Machine
from agents.players import PLAYER, Players
from serai import agents
from serai.agents import Adapter, AgentDefinition, Catalogue, Launch, Options, Way
from serai.agents.catalogue.finder import Finder
from serai.agents.testing import ScriptedAgent, ScriptedTurn
from serai.errors import AgentNotInstalled, AuthRequired, UsageLimitReached

PLAY = ("-I", "-S", "-u", str(PLAYER))
MINE = AgentDefinition(id="mine", label="Mine", ways=(Way(program=sys.executable, args=PLAY),))


async def test_an_agent_can_be_described_where_it_is_asked(players: Players) -> None:
    options: dict[str, Any] = {**players.options, "catalogue": Catalogue([])}
    assert (await agents.ask(MINE, "echo a", **options)).agent == "mine"
    winner = (await agents.failover("echo a", [MINE], **options)).winner
    assert winner == "mine"
    listed = agents.built_in().adding(MINE)
    options["catalogue"] = listed
    assert (await agents.ask("mine", "echo b", **options)).text == "b"


async def test_an_adapter_works_out_how_its_agent_is_started(players: Players) -> None:
    class Mine(Adapter):
        id = "mine"

        async def launch(self, options: Options) -> Launch:
            told = {"answers": [f"by {options.get('model')}"]}
            return Launch((sys.executable, *PLAY, json.dumps(told)), name=self.id)

    class Missing(Adapter):
        id = "missing"

        async def launch(self, options: Options) -> Launch:
            del options
            raise AgentNotInstalled("it is not there", agent=self.id, install="pip install it")

    options: dict[str, Any] = {**players.options, "model": "large"}
    found = await agents.failover("hi", [Missing(), Mine()], **options)
    assert (found.winner, found.result.text) == ("mine", "by large")
    assert found.attempts[0].agent == "missing"
    async with agents.session(Mine(), **options) as session:
        assert session.host.definition.ways[0].program == sys.executable
        assert (await agents.capabilities(Mine(), **options)) == session.capabilities


async def test_another_program_can_be_named(players: Players, machine: Machine) -> None:
    wrapper = machine.program("wrapper", body=f'exec "{sys.executable}" "$@"')
    away = msgspec.structs.replace(MINE, ways=(Way(program="no-such-program", args=PLAY),))
    for program in (wrapper, str(wrapper)):
        assert (await agents.ask(away, "echo a", **players.options, program=program)).text == "a"
    finder = Finder(machine.surroundings)
    options: dict[str, Any] = {**players.options, "finder": finder, "program": "wrapper"}
    assert (await agents.ask(away, "echo a", **options)).text == "a"
    with pytest.raises(AgentNotInstalled):
        await agents.ask(away, "echo a", **players.options)


async def test_a_filter_says_which_variables_an_agent_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "s")
    monkeypatch.setenv("MY_NAME", "n")
    agent = ScriptedAgent(["a", "b"])

    def only_mine(environ: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in environ.items() if name in ("MY_NAME", "MORE")}

    await agents.ask(agent, "go", env={"MORE": "m"}, env_filter=only_mine)
    assert dict(agent.environ) == {"MY_NAME": "n", "MORE": "m"}
    await agents.ask(agent, "go")
    assert agent.environ["MY_SECRET"] == "s"
    assert agent.environ["PATH"] == os.environ["PATH"]


# -- what its log says -------------------------------------------------------------------------------------


class Telling(ScriptedAgent):
    """Its definition says what its log means."""

    async def launch(self, options: Options) -> Launch:
        del options
        return Launch(
            (self.id,),
            name=self.id,
            login=("mine", "login"),
            auth_patterns=(r"token (is )?expired",),
            usage_patterns=(r"\bno credits\b",),
        )


@pytest.mark.parametrize(
    ("line", "error"),
    [("ERROR Token expired", AuthRequired), ("no credits (token expired)", UsageLimitReached)],
)
async def test_a_line_of_its_log_can_end_an_agent(line: str, error: type[Exception]) -> None:
    async def turn(turn: ScriptedTurn) -> None:
        turn.log("answered 429 401 billing")  # says nothing
        turn.log(line)
        await turn.cancelled()

    async with agents.session(Telling(turn), inactivity_timeout=0) as session:
        with pytest.raises(error) as caught:
            await session.ask("go")
        with pytest.raises(error):  # whoever comes later is told the same
            await session.ask("go")
        with pytest.raises(error):
            await session.host.new_session()
    if isinstance(caught.value, AuthRequired):
        assert caught.value.login_command == ("mine", "login")


async def test_without_patterns_a_log_ends_nothing() -> None:
    async def turn(turn: ScriptedTurn) -> None:
        turn.log("401 unauthorized: token expired")
        turn.say("all is well")

    assert (await agents.ask(ScriptedAgent(turn), "go")).text == "all is well"


def test_a_pattern_has_to_be_one() -> None:
    wrong: dict[str, Any] = {"auth_patterns": ("(",)}
    with pytest.raises(ValueError, match="no regular expression"):
        AgentDefinition(id="a", label="A", ways=(Way(program="a"),), **wrong)


# -- models ------------------------------------------------------------------------------------------------


async def test_models_are_told_by_a_session_or_by_the_program(machine: Machine) -> None:
    agent = ScriptedAgent(options={"model": ["small", "large"], "effort": ["low", "high"]})
    told = await agents.models(agent)
    assert [choice.value for choice in told.models] == ["large", "small"]
    assert told.effort_option is not None
    assert (await agents.client(agent).models()) == told
    machine.program("lister", body="echo small - A model\necho large")
    lister = AgentDefinition(
        id="lister", label="Lister", ways=(Way(program="lister"),), models_args=("models",)
    )
    listed = await agents.models(lister, finder=Finder(machine.surroundings))
    assert [choice.value for choice in listed.models] == ["small", "large"]
    assert not (await agents.models(ScriptedAgent())).models
