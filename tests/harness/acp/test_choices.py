"""Modes, options and models of agents, as settings of sessions."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client
from harness.acp.conftest import AGENTS, ONE, Inn, begin, ended, notices, said, say
from machine.processes.watching import runs, until
from serai.acp.options import read_options, read_stand_ins
from serai.harness.acp.settings import Choices, schema_of

FULL: dict[str, Any] = {"modes": True, "options": True}


def values(client: Client, session: str = ONE) -> dict[str, Any]:
    config = client.session(session).config
    assert config is not None
    return config.values


def model(client: Client, session: str = ONE) -> str | None:
    chosen = client.session(session).summary.model
    return chosen.id if chosen else None


async def rejection(client: Client, number: int = 1) -> str:
    """Why an action was rejected, as the first or a later one."""

    def reasons() -> list[str]:
        return [one["rejectionReason"] for one in client.envelopes if "rejectionReason" in one]

    await client.until(lambda: len(reasons()) >= number)
    return reasons()[number - 1]


async def asked(client: Client, session: str = ONE) -> list[Any]:
    """What the agent was asked to set."""
    turn = await say(client, session, "settings")
    return json.loads(said(turn))


async def test_what_nobody_chose_is_as_the_agent_has_it(inn: Inn, client: Client) -> None:
    await inn.begun(client, **FULL)
    assert values(client) == {"mode": "ask", "effort": "low"}
    assert model(client) == "small"
    assert await asked(client) == []


async def test_what_was_chosen_for_a_new_session_is_set_before_it_is_ready(inn: Inn, client: Client) -> None:
    inn.offer(**FULL)
    config = {"mode": "do", "effort": "high"}
    await inn.session(client, config=config, model={"id": "large"})
    assert values(client) == config
    assert await asked(client) == [["model", "large"], ["mode", "do"], ["effort", "high"]]


async def test_the_first_session_teaches_the_next_ones_all_settings(inn: Inn, client: Client) -> None:
    await inn.begun(client, **FULL)
    await client.until(lambda: any(agent.models for agent in client.root.agents))
    agent = next(agent for agent in client.root.agents if agent.provider == "quick")
    assert [(each.id, each.name) for each in agent.models] == [("small", "Small"), ("large", "Large")]
    two = await inn.session(client, "ahp-session:/two", config={"loud": True})
    config = client.session(two).config
    assert config is not None
    known = config.schema.properties
    assert known["mode"].enum == ["ask", "do"]
    assert known["effort"].enum_labels == ["Low", "High"]
    assert (known["loud"].type, known["loud"].session_mutable) == ("boolean", True)
    assert values(client, two)["loud"] is True
    assert await asked(client, two) == [["loud", True]]


async def test_who_asks_before_gets_all_settings_at_once(inn: Inn, client: Client) -> None:
    inn.offer(**FULL)
    resolved = await client.request("resolveSessionConfig", provider="quick")
    assert set(resolved["schema"]["properties"]) == {
        "mode",
        "effort",
        "loud",
        "additionalDirectories",
        "mcpServers",
    }
    found = await client.request("sessionConfigCompletions", provider="quick", property="mode", query="d")
    assert [item["value"] for item in found["items"]] == ["do"]


async def test_a_choice_reaches_the_agent_at_once_also_in_a_turn(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, **FULL)
    turn = await begin(client, session, "wait")
    await client.hear("delta", content="waiting")
    await client.dispatch(session, "configChanged", config={"mode": "do"})
    await client.until(lambda: "mode do now" in said(client.session(session).active_turn))
    await client.dispatch(session, "turnCancelled", turnId=turn)
    await ended(client, session, turn)
    assert values(client)["mode"] == "do"


async def test_a_model_that_is_chosen_in_a_turn_is_the_next_ones(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, **FULL)
    turn = await begin(client, session, "wait")
    await client.hear("delta", content="waiting")
    await client.dispatch(session, "modelChanged", model={"id": "large", "config": {"effort": "high"}})
    await client.dispatch(session, "turnCancelled", turnId=turn)
    await ended(client, session, turn)
    assert await asked(client) == [["model", "large"], ["effort", "high"]]
    assert (model(client), values(client)["effort"]) == ("large", "high")


@pytest.mark.parametrize(
    ("action", "fields", "reason"),
    [
        (
            "configChanged",
            {"config": {"mode": "fly"}},
            "bad_config: Quick has these values for 'mode': ask, do",
        ),
        ("modelChanged", {"model": {"id": "huge"}}, "bad_model: Quick has these models: small, large"),
    ],
)
async def test_what_the_agent_does_not_have_is_rejected(
    inn: Inn, client: Client, action: str, fields: dict[str, Any], reason: str
) -> None:
    session = await inn.begun(client, **FULL)
    await client.dispatch(session, action, **fields)
    assert (await rejection(client)) == reason
    assert await asked(client) == []


async def test_a_wish_that_cannot_be_is_told_in_the_first_turn(inn: Inn, client: Client) -> None:
    inn.offer()
    session = await inn.session(client, model={"id": "huge"}, config={"mode": "do"})
    turn = await say(client, session, "echo hi")
    assert notices(turn) == ["Quick offers no choice of models.", "Quick has no setting 'mode'."]
    assert values(client) == {}
    assert notices(await say(client, session, "echo hi")) == []


async def test_what_the_agent_refuses_is_set_back_and_told(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, stubborn=True, **FULL)
    await client.dispatch(session, "configChanged", config={"mode": "do"})
    await client.until(
        lambda: [each["config"].get("mode") for each in client.heard("configChanged")][-2:] == ["do", "ask"]
    )
    turn = await say(client, session, "echo hi")
    assert "Quick did not set mode to 'do'" in notices(turn)[0]
    assert "not today" in notices(turn)[0]


# -- pure --------------------------------------------------------------------------------------------------


def options(*told: dict[str, Any]) -> Choices:
    return Choices(read_options(list(told)))


def select(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "select", "currentValue": "a", "options": [{"value": "a"}], **more}


def test_an_option_cannot_pass_for_a_setting_of_the_hosts() -> None:
    assert options(select("mcpServers")).named == {}


def test_what_was_learned_can_be_written_down_and_read_again() -> None:
    modes = {"currentModeId": "x", "availableModes": [{"id": "x", "name": "X"}]}
    own = read_stand_ins({"modes": modes}).values()
    choices = Choices((*own, *read_options([select("style"), select("model")])))
    again = Choices.read(json.loads(json.dumps(choices.to_json())))
    assert schema_of(again) == schema_of(choices)
    assert again.model_infos("p") == choices.model_infos("p")


async def test_models_that_an_agent_offers_without_an_option_can_be_chosen(inn: Inn, client: Client) -> None:
    harness = inn.offer(models=True)
    session = await inn.session(client, model={"id": "large"})
    assert model(client) == "large"
    await client.dispatch(session, "modelChanged", model={"id": "small"})
    assert await asked(client, session) == [["model", "large"], ["model", "small"]]
    assert [info.name for info in harness.info.models] == ["Small", "Large"]


async def test_a_model_that_is_not_used_is_not_shown_as_the_sessions(inn: Inn, client: Client) -> None:
    inn.offer()
    session = await inn.session(client, model={"id": "large"})
    assert model(client) == "default"
    first, second = [await say(client, session, "echo hi") for _ in range(2)]
    assert (notices(first), notices(second)) == (["Quick offers no choice of models."], [])


async def test_no_secret_of_what_an_agent_says_about_itself_is_written_down(inn: Inn, client: Client) -> None:
    secret = "sk-ant-api03-" + "Zk9Qx7Lm2Vt4Rw8Yb1Nc5Hd3Jf6Gs0Pa" * 3
    session = await inn.begun(client, version=secret, options=True, meta={"note": f"key {secret}"})
    await say(client, session, "entitle")
    host = inn.house.host
    await host.journal.committed()
    for channel in (f"serai-agent:{session}", "serai-agents", session, "ahp-root://"):
        rows = await host.journal.store.rows(channel, 0)
        assert all(secret.encode() not in row.action for row in rows)
    assert secret not in str(client.session(session).meta)


CHOOSY = (sys.executable, "-I", "-S", "-u", str(AGENTS / "choosy.py"))
TWO = "ahp-session:/two"


class Gate:
    """Lets the agent do what it was asked to choose, one after the other."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self._end = os.open(path, os.O_RDWR)  # for both: nobody waits for the other to open it

    def open(self, times: int = 1) -> None:
        os.write(self._end, b"." * times)

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    gate = Gate(tmp_path / "gate")
    yield gate
    gate.close()


async def change(client: Client, session: str = ONE, *, to: str | None = None, **config: Any) -> None:
    """Choose a model or settings."""
    if to is not None:
        await client.dispatch(session, "modelChanged", model={"id": to})
    if config:
        await client.dispatch(session, "configChanged", config=config)


def agent_pid(client: Client) -> int:
    meta = client.session(ONE).meta
    assert meta is not None
    return int(meta["serai.acp"]["sessionId"].split("-")[1])


async def is_asked_for(client: Client, value: str) -> None:
    await client.until(lambda: client.session(ONE).summary.title == f"asked for {value}")


# -- while others are on their way -------------------------------------------------------------------------


async def test_a_choice_that_is_made_while_another_is_on_its_way_is_the_last(
    inn: Inn, client: Client, gate: Gate
) -> None:
    session = await inn.begun(client, CHOOSY, gate=gate.path)
    await change(client, mode="b")
    await is_asked_for(client, "b")
    await change(client, mode="c")
    await client.ping()
    gate.open(2)
    assert await asked(client, session) == [["mode", "b"], ["mode", "c"]]
    assert values(client)["mode"] == "c"


# -- while the agent is away -------------------------------------------------------------------------------


async def test_a_choice_that_is_made_while_the_agent_is_away_holds_when_it_is_back(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client, CHOOSY)
    pid = agent_pid(client)
    await say(client, session, "leave")
    await until(lambda: not runs(pid))
    await change(client, to="m3", mode="c")
    await client.ping()
    turn = await say(client, session, "settings")
    if turn.error is not None:  # the host has seen only by this turn that the agent is gone
        turn = await say(client, session, "settings")
    assert json.loads(said(turn)) == [["model", "m3"], ["mode", "c"]]
    assert (model(client), values(client)["mode"]) == ("m3", "c")
    assert not [told for told in notices(turn) if "did not" in told]


async def test_a_choice_that_the_agent_does_not_answer_is_told_and_set_back_and_no_other_turn_waits_for_it(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client, CHOOSY, deaf="high", timeouts={"inactivity_timeout": 0.2})
    await change(client, effort="high")
    turn = await say(client, session, "settings")
    assert [told.partition(":")[0] for told in notices(turn)] == ["Quick did not set effort to 'high'"]
    assert values(client)["effort"] == "low"
    assert await asked(client, session) == [["effort", "high"]]
    await change(client, effort="high")  # again, as someone wishes
    assert await asked(client, session) == [["effort", "high"]] * 2


# -- whatever other sessions do ----------------------------------------------------------------------------


async def test_a_setting_goes_and_comes_with_the_model_without_a_word(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, CHOOSY)
    await change(client, to="m2")
    turn = await say(client, session, "settings")
    assert (notices(turn), values(client)) == ([], {"mode": "a"})
    await change(client, to="m1")
    await client.until(lambda: values(client) == {"mode": "a", "effort": "low"})
    assert notices(await say(client, session, "settings")) == []
