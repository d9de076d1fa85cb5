"""What becomes of a tool call at the end of its turn, and of what its result brings."""

from __future__ import annotations

import pytest

from ahp.reducers.calls import (
    ALLOWED,
    BASE,
    CALLS,
    INPUT,
    RESULT,
    RESULT_YES,
    act,
    at,
    reached,
)
from ahp.reducers.cases import (
    NOW,
    Case,
    Json,
    call,
    case,
    check,
    params,
    running,
    session,
    turn,
)
from ahp.strategies import action as read_action
from serai.ahp.reducers import fold
from serai.ahp.types import SessionState
from serai.ahp.wire import convert, decode, encode, to_json

SKIPPED = {
    "streaming": {"invocationMessage": "Thinking"},
    "pending-confirmation": INPUT,
    "running": INPUT,
    "pending-result-confirmation": INPUT,
}
CASES: list[Case] = [
    case(
        f"a call that is {status} {'is skipped' if status in SKIPPED else 'stays'} when its turn ends",
        running(call(status, **BASE, **CALLS[status])),
        {"type": "session/turnCancelled", "turnId": "t1"},
        session(
            {"modifiedAt": NOW},
            turns=[
                turn(
                    "t1",
                    call("cancelled", **BASE, **SKIPPED[status], reason="skipped")
                    if status in SKIPPED
                    else call(status, **BASE, **CALLS[status]),
                    state="cancelled",
                )
            ],
        ),
    )
    for status in CALLS
]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)


@pytest.mark.parametrize("asking", [False, True])
def test_unknown_fields_of_a_result_stay_with_the_call(asking: bool) -> None:
    result = {**RESULT, "x-cost": 5}
    done = act("Complete", result=result, requiresResultConfirmation=asking)
    steps = [done, RESULT_YES] if asking else [done]
    check(case("", at("running"), steps, reached("completed", **INPUT, **ALLOWED, **result)), SessionState)


@pytest.mark.parametrize("asking", [False, True])
@pytest.mark.parametrize(
    "forged",
    [
        {"status": "streaming"},
        {"toolClientId": "another client"},
        {"_meta": {"forged": True}},
    ],
    ids=lambda forged: next(iter(forged)),
)
def test_an_unknown_field_of_a_result_never_takes_the_place_of_the_calls_own(
    forged: Json, asking: bool
) -> None:
    done = act("Complete", result={**RESULT, **forged}, requiresResultConfirmation=asking)
    start = convert(at("running"), SessionState)
    state = fold(start, [read_action(done)], NOW)
    expected = reached("pending-result-confirmation" if asking else "completed", **INPUT, **ALLOWED, **RESULT)
    assert to_json(state) == expected
    assert decode(encode(state), SessionState) == state
