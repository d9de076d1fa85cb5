"""Choices hold: while others are on their way, while the agent is away, and whatever other sessions do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client
from harness.acp.conftest import (
    AGENTS,
    FORKS,
    ONE,
    Inn,
    notices,
    said,
    say,
)
from harness.acp.test_choices import asked, model, values
from machine.processes.watching import runs, until

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


@pytest.mark.parametrize("last", ["c", "a"])
async def test_a_choice_that_is_made_while_another_is_on_its_way_is_the_last(
    inn: Inn, client: Client, gate: Gate, last: str
) -> None:
    session = await inn.begun(client, CHOOSY, gate=gate.path)
    await change(client, mode="b")
    await is_asked_for(client, "b")
    await change(client, mode=last)
    await client.ping()
    gate.open(2)
    assert await asked(client, session) == [["mode", "b"], ["mode", last]]
    assert values(client)["mode"] == last


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


@pytest.mark.parametrize(
    ("choice", "what"),
    [
        ({"to": "m3"}, "take the model m3"),
        ({"mode": "b"}, "set mode to 'b'"),
        ({"effort": "high"}, "set effort to 'high'"),
    ],
)
async def test_a_choice_that_is_refused_again_is_told_again_but_not_by_itself(
    inn: Inn, client: Client, choice: dict[str, Any], what: str
) -> None:
    session = await inn.begun(client, CHOOSY, refused=["m3", "b", "high"])
    for _ in range(2):
        await change(client, **choice)
        turn = await say(client, session, "settings")
        assert [told.partition(":")[0] for told in notices(turn)] == [f"Quick did not {what}"]
        assert "not today" in notices(turn)[0]
        assert notices(await say(client, session, "settings")) == []
    assert (model(client), values(client)) == ("m1", {"mode": "a", "effort": "low"})


# -- whatever other sessions do ----------------------------------------------------------------------------


async def test_what_one_session_has_no_more_others_can_still_choose_and_inherit(
    inn: Inn, client: Client
) -> None:
    one, two = await inn.begun(client, CHOOSY, capabilities=FORKS), await inn.session(client, TWO)
    turn = await say(client, one, "settings")
    await change(client, two, to="m2")
    await client.until(lambda: "effort" not in values(client, two))
    three = await inn.session(client, "ahp-session:/three", config={"effort": "high"})
    assert values(client, three)["effort"] == "high"
    fork = {"session": one, "turnId": turn.id}
    four = await inn.session(client, "ahp-session:/four", fork=fork)
    assert values(client, four) == {"mode": "a", "effort": "low"}


async def test_a_setting_goes_and_comes_with_the_model_without_a_word(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, CHOOSY)
    await change(client, to="m2")
    turn = await say(client, session, "settings")
    assert (notices(turn), values(client)) == ([], {"mode": "a"})
    await change(client, to="m1")
    await client.until(lambda: values(client) == {"mode": "a", "effort": "low"})
    assert notices(await say(client, session, "settings")) == []


# -- learning ----------------------------------------------------------------------------------------------
