from __future__ import annotations

import pytest

from ahp.rules.world import HELLO, Json, accepts, busy, judged, rejection, session
from requirements import proves
from serai.ahp.rules import Verdict

ENDED: Json = {"id": "t1", "userMessage": HELLO, "responseParts": [], "state": "complete"}


def started(turn_id: str = "t9") -> Json:
    return {"type": "session/turnStarted", "turnId": turn_id, "userMessage": HELLO}


def cancelled(turn_id: str) -> Json:
    return {"type": "session/turnCancelled", "turnId": turn_id}


@pytest.mark.parametrize("lifecycle", ["creating", "creationFailed", "later"])
def test_a_turn_cannot_start_before_the_session_is_ready(lifecycle: str) -> None:
    assert rejection(session(lifecycle=lifecycle), started()) == "not_ready"


def test_a_turn_cannot_start_while_another_is_running() -> None:
    assert rejection(busy(), started()) == "turn_in_progress"
    assert rejection(busy(), started("t2")) == "turn_in_progress"  # a repeat would empty the running turn


@pytest.mark.parametrize("state", ["complete", "cancelled", "error"])
def test_the_id_of_an_ended_turn_cannot_be_used_again(state: str) -> None:
    idle = session(turns=[{**ENDED, "state": state}, {**ENDED, "id": "t2"}])
    assert rejection(idle, started("t1")) == "turn_exists"
    assert rejection(idle, started("t2")) == "turn_exists"
    assert accepts(idle, started("t3"))


def test_history_is_cut_after_a_turn_that_is_in_it_or_before_all() -> None:
    told = session(turns=[ENDED])
    assert accepts(told, {"type": "session/truncated", "turnId": "t1"})
    assert accepts(told, {"type": "session/truncated"})
    assert rejection(told, {"type": "session/truncated", "turnId": "t9"}) == "no_such_turn"
    assert rejection(busy(), {"type": "session/truncated", "turnId": "t2"}) == "no_such_turn"  # it runs


CHOICES: list[Json] = [
    {"type": "session/modelChanged", "model": {"id": "large"}},
    {"type": "session/agentChanged", "agent": {"uri": "file:///a.md"}},
    {"type": "session/agentChanged"},
]


@proves("ahp:session/modelChanged/deferred-during-turn", "ahp:session/agentChanged/deferred-during-turn")
@pytest.mark.parametrize("action", CHOICES)
def test_the_choice_of_a_model_or_an_agent_waits_for_the_end_of_the_turn(action: Json) -> None:
    judgement = judged(busy(), action)
    assert judgement.verdict is Verdict.DEFER
    assert judgement.reason
    assert not judgement.accepted
