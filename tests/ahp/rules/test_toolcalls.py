from __future__ import annotations

from typing import Any

import pytest

from ahp.rules.world import CALL_STATES, ME, YOU, Json, accepts, busy, call, rejection
from requirements import proves


def approved(turn_id: str = "t2", call_id: str = "c1", **fields: Any) -> Json:
    return {
        "type": "session/toolCallConfirmed",
        "turnId": turn_id,
        "toolCallId": call_id,
        "approved": True,
        "confirmed": "user-action",
        **fields,
    }


def denied(turn_id: str = "t2", call_id: str = "c1", **fields: Any) -> Json:
    return {
        "type": "session/toolCallConfirmed",
        "turnId": turn_id,
        "toolCallId": call_id,
        "approved": False,
        "reason": "denied",
        **fields,
    }


def completed(turn_id: str = "t2", call_id: str = "c1") -> Json:
    result = {"success": True, "pastTenseMessage": "Ran"}
    return {"type": "session/toolCallComplete", "turnId": turn_id, "toolCallId": call_id, "result": result}


def shown(turn_id: str = "t2", call_id: str = "c1") -> Json:
    return {
        "type": "session/toolCallContentChanged",
        "turnId": turn_id,
        "toolCallId": call_id,
        "content": [{"type": "text", "text": "half"}],
    }


def result_confirmed(turn_id: str = "t2", call_id: str = "c1", *, approved: bool = True) -> Json:
    return {
        "type": "session/toolCallResultConfirmed",
        "turnId": turn_id,
        "toolCallId": call_id,
        "approved": approved,
    }


# --- confirmations


@pytest.mark.parametrize("status", CALL_STATES)
@pytest.mark.parametrize("answer", [approved(), denied()], ids=["approved", "denied"])
def test_only_a_call_that_waits_for_it_can_be_confirmed(answer: Json, status: str) -> None:
    state = busy(call("running", "c0"), call(status))
    if status == "pending-confirmation":
        assert accepts(state, answer)
        assert accepts(state, answer, YOU)  # whoever answers first
    else:
        assert rejection(state, answer) == "not_pending"


def test_an_approval_for_a_reason_that_nobody_knows_is_rejected() -> None:
    assert rejection(busy(call("pending-confirmation")), approved(confirmed="user")) == "bad_value"


@pytest.mark.parametrize("reason", ["result-denied", "later", ""])
def test_a_denial_for_another_reason_is_rejected(reason: str) -> None:
    assert rejection(busy(call("pending-confirmation")), denied(reason=reason)) == "bad_value"


@pytest.mark.parametrize("editable", [None, False])
def test_the_input_of_a_call_that_is_not_editable_cannot_be_edited(editable: bool | None) -> None:
    state = busy(call("pending-confirmation", toolInput="ls", editable=editable))
    assert rejection(state, approved(editedToolInput="ls -l")) == "not_editable"
    assert rejection(state, approved(editedToolInput="")) == "not_editable"
    assert accepts(state, approved())


OPTIONS: list[Json] = [
    {"id": "always", "label": "Always", "kind": "approve"},
    {"id": "never", "label": "Never", "kind": "deny"},
    {"id": "perhaps", "label": "Perhaps", "kind": "later"},
]


def test_the_chosen_option_means_the_same_as_the_answer() -> None:
    state = busy(call("pending-confirmation", options=OPTIONS))
    assert accepts(state, approved(selectedOptionId="always"))
    assert accepts(state, denied(selectedOptionId="never"))
    assert rejection(state, approved(selectedOptionId="never")) == "option_mismatch"
    assert rejection(state, denied(selectedOptionId="always")) == "option_mismatch"


# --- what the client that runs a call tells of it


@proves(
    "ahp:session/toolCallComplete/foreign-client-rejected",
    "ahp:session/toolCallContentChanged/foreign-client-rejected",
)
@pytest.mark.parametrize("action", [completed(), shown()], ids=lambda action: action["type"])
def test_only_the_client_that_runs_a_call_may_tell_of_it(action: Json) -> None:
    state = busy(call("running", toolClientId=ME))
    assert accepts(state, action, ME)
    assert rejection(state, action, YOU) == "not_owner"


def test_the_client_that_is_to_run_a_call_may_decline_it_also_when_it_runs_already() -> None:
    state = busy(call("running", toolClientId=ME))
    assert accepts(state, denied(), ME)
    assert rejection(state, denied(), YOU) == "not_pending"
    assert rejection(state, approved(), ME) == "not_pending"
    assert rejection(state, denied(reason="whatever"), ME) == "bad_value"
    assert rejection(busy(call("running")), denied(), ME) == "not_pending"


@pytest.mark.parametrize("status", CALL_STATES)
def test_a_call_can_be_completed_from_running_and_from_pending_confirmation(status: str) -> None:
    state = busy(call(status, toolClientId=ME))
    if status in {"running", "pending-confirmation"}:
        assert accepts(state, completed())
    else:
        assert rejection(state, completed()) in {"not_running", "no_such_call"}


# --- results


@pytest.mark.parametrize("status", CALL_STATES)
@pytest.mark.parametrize("yes", [True, False])
def test_only_a_result_that_waits_for_it_can_be_confirmed(yes: bool, status: str) -> None:
    state = busy(call(status))
    action = result_confirmed(approved=yes)
    if status == "pending-result-confirmation":
        assert accepts(state, action)
        assert accepts(state, action, YOU)
    else:
        assert rejection(state, action) == "not_pending"


# --- several calls under one id


@pytest.mark.parametrize(
    ("status", "action"),
    [
        ("pending-confirmation", approved()),
        ("pending-confirmation", denied()),
        ("pending-result-confirmation", result_confirmed()),
    ],
)
def test_of_calls_that_share_an_id_one_that_waits_can_be_answered(status: str, action: Json) -> None:
    # All of them are changed by an action, and any that waits makes the session wait.
    assert accepts(busy(call("completed"), call(status)), action)
    assert accepts(busy(call(status), call("completed")), action)
