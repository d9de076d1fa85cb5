"""What a tool call does around it: to the status, at the end of its turn, with what its result brings."""

from __future__ import annotations

import pytest

from ahp.reducers.calls import (
    ALLOWED,
    BASE,
    CALLS,
    CONTENT,
    DELTA,
    EVERY_ACTION,
    INPUT,
    RESULT,
    RESULT_YES,
    START,
    act,
    at,
    reached,
)
from ahp.reducers.cases import (
    ERROR,
    IDLE,
    INPUT_NEEDED,
    IS_READ,
    NEWER,
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

PENDING = call("pending-confirmation", **INPUT)
OTHER = call("pending-confirmation", toolCallId="c2", **INPUT)
RUNNING = call("running", **INPUT, confirmed="user-action")
YES_TO_C1 = act("Confirmed", approved=True, confirmed="user-action")
MOVES = {name: action for name, action in EVERY_ACTION.items() if name not in {"delta", "content"}}
STATUS = [
    case(
        "a session waits as long as one of its calls does",
        running(PENDING, OTHER, status=INPUT_NEEDED),
        YES_TO_C1,
        running(RUNNING, OTHER, status=INPUT_NEEDED),
    ),
    *(
        case(
            f"a stray action makes an error idle: {name}",
            session({"status": ERROR | IS_READ | NEWER}),
            action,
            session({"status": IDLE | IS_READ | NEWER}),
        )
        for name, action in MOVES.items()
    ),
    *(
        case(
            f"an action that moves no call leaves the status alone: {name}",
            session({"status": ERROR}),
            action,
        )
        for name, action in (("start", START), ("delta", DELTA), ("content", CONTENT))
    ),
]

SKIPPED = {
    "streaming": {"invocationMessage": "Thinking"},
    "pending-confirmation": INPUT,
    "running": INPUT,
    "pending-result-confirmation": INPUT,
}
ENDS: list[tuple[Json, str, Json]] = [
    ({"type": "session/turnComplete", "turnId": "t1"}, "complete", {}),
    ({"type": "session/turnCancelled", "turnId": "t1"}, "cancelled", {}),
    (
        {"type": "session/error", "turnId": "t1", "error": {"errorType": "e", "message": "m"}},
        "error",
        {"error": {"errorType": "e", "message": "m"}},
    ),
]
TURN_ENDS = [
    *(
        case(
            f"a call that is {status} is {after} when its turn is {state}",
            running(call(status, **BASE, **CALLS[status])),
            end,
            session(
                {"status": ERROR if state == "error" else IDLE, "modifiedAt": NOW},
                turns=[
                    turn(
                        "t1",
                        call("cancelled", **BASE, **SKIPPED[status], reason="skipped")
                        if status in SKIPPED
                        else call(status, **BASE, **CALLS[status]),
                        state=state,
                        **fields,
                    )
                ],
            ),
        )
        for status in CALLS
        for after in ["skipped" if status in SKIPPED else "left as it is"]
        for end, state, fields in ENDS
    )
]

CASES: list[Case] = [*STATUS, *TURN_ENDS]


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
        {"toolCallId": "c9"},
        {"toolClientId": "another client"},
        {"confirmed": "setting"},
        {"selectedOption": "not even an option"},
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
