"""How a turn goes on, from its records alone."""

from __future__ import annotations

from hypothesis import given, strategies as st

from requirements import proves
from serai.errors import FailureKind
from serai.session.messages import FinishReason, LlmReply, LlmUsage, TextPart, ToolCallPart
from serai.session.turn_core import (
    AskModel,
    CallBegun,
    CallDecided,
    CallEnded,
    DecideCall,
    EndTurn,
    ModelAnswered,
    Requested,
    RequestFailed,
    RunCall,
    SettleDoubt,
    Step,
    TurnPlan,
    next_effect,
)

PLAN = TurnPlan(chain=("a:one", "b:two"), max_tool_turns=3)


def said(text: str = "", *calls: str, finish: FinishReason = FinishReason.STOP) -> ModelAnswered:
    parts = [TextPart(text=text)] if text else []
    called = [ToolCallPart(id=call, name="look", input={}) for call in calls]
    reply = LlmReply(parts=(*parts, *called), finish=finish, usage=LlmUsage())
    return ModelAnswered(reply=reply)


def ended(call: str, *, misuse: bool = False) -> CallEnded:
    return CallEnded(call_id=call, is_misuse=misuse)


ASKED = Requested(model="a:one")


def test_a_call_is_decided_then_run_and_its_result_goes_to_the_model() -> None:
    steps: list[Step] = [ASKED, said("I look.", "c1")]
    assert isinstance(next_effect(PLAN, steps), DecideCall)
    steps.append(CallDecided(call_id="c1", input={"path": "b"}))
    effect = next_effect(PLAN, steps)
    assert isinstance(effect, RunCall)
    assert effect.call.input == {"path": "b"}  # as the person has changed it
    steps.append(ended("c1"))
    assert next_effect(PLAN, steps) == AskModel("a:one")


def test_another_model_is_asked_only_before_the_first_content_and_only_when_that_may_help() -> None:
    limit = RequestFailed(failure=FailureKind.RATE_LIMIT, message="too many")
    assert next_effect(PLAN, [ASKED, limit]) == AskModel("b:two", instead_of="a:one")
    begun = RequestFailed(failure=FailureKind.TRANSPORT, message="cut", has_begun=True)
    assert next_effect(PLAN, [ASKED, begun]) == EndTurn("model_transport", "cut")
    key = RequestFailed(failure=FailureKind.AUTHENTICATION, message="no key")
    assert next_effect(PLAN, [ASKED, key]) == EndTurn("model_authentication", "no key")
    second = [ASKED, limit, Requested(model="b:two"), limit]
    assert next_effect(PLAN, second) == EndTurn("model_rate_limit", "too many")


def test_a_model_that_took_the_place_of_another_keeps_it_for_the_turn() -> None:
    limit = RequestFailed(failure=FailureKind.OVERLOADED, message="busy")
    steps = [ASKED, limit, Requested(model="b:two"), said("", "c1"), ended("c1")]
    assert next_effect(PLAN, steps) == AskModel("b:two")


@proves("session:Turn-cap/tool-loop-same-code", "session:Turn-cap/not-max-tool-turns")
def test_the_answer_that_asks_for_one_round_more_is_not_carried_out() -> None:
    steps: list[Step] = []
    for n in range(3):
        steps += [ASKED, said("", f"c{n}"), ended(f"c{n}")]
    effect = next_effect(PLAN, [*steps, ASKED, said("", "c3")])
    assert isinstance(effect, EndTurn)
    assert effect.error == "turn_limit"
    assert next_effect(PLAN, [*steps, ASKED, said("That is all.")]) == EndTurn()


def test_five_wrong_calls_in_a_row_end_the_turn_and_a_right_one_between_them_does_not() -> None:
    plan = TurnPlan(chain=("a:one",))
    wrong: list[Step] = []
    for n in range(5):
        wrong += [ASKED, said("", f"c{n}"), ended(f"c{n}", misuse=True)]
    effect = next_effect(plan, wrong)
    assert isinstance(effect, EndTurn)
    assert effect.error == "tool_misuse"
    right: list[Step] = [ASKED, said("", "ok"), ended("ok")]
    assert next_effect(plan, [*wrong[:12], *right, *wrong[12:]]) == AskModel("a:one")


def test_an_answer_that_stops_in_the_middle_is_an_error() -> None:
    effect = next_effect(PLAN, [ASKED, said("As I was", finish=FinishReason.LENGTH)])
    assert effect == EndTurn("max_tokens", "the model stopped in the middle: it may not say more at once")


@given(st.lists(st.integers(0, 3), max_size=4), st.data())
@proves("session:Lifecycle/shared-turn-core")
def test_a_turn_that_is_cut_off_anywhere_goes_on_to_the_same_end(
    rounds: list[int], data: st.DataObject
) -> None:
    """Carries effects out as a session does; cuts the turn off after any record; no call ends twice."""
    plan = TurnPlan(chain=("a:one",), max_tool_turns=10)
    steps: list[Step] = []
    calls = [[f"r{n}c{m}" for m in range(count)] for n, count in enumerate(rounds) if count]
    script = [*(said("", *these) for these in calls), said("The end.")]
    for _ in range(200):
        if data.draw(st.booleans()):
            steps = list(steps)  # another process has nothing but the records
        match next_effect(plan, steps):
            case AskModel():
                steps.append(ASKED)
                if data.draw(st.booleans()):
                    done = sum(isinstance(step, ModelAnswered) for step in steps)
                    steps.append(script[done])
            case DecideCall(call=call):
                steps.append(CallDecided(call_id=call.id))
            case RunCall(call=call) | SettleDoubt(call=call):
                steps.append(CallBegun(call_id=call.id) if data.draw(st.booleans()) else ended(call.id))
            case EndTurn() as end:
                assert end == EndTurn()
                break
    else:
        return  # chance cut it off again and again
    over = [step.call_id for step in steps if isinstance(step, CallEnded)]
    assert sorted(over) == sorted(call for these in calls for call in these)
