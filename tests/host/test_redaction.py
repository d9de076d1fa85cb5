"""Secrets are masked in text as it grows, whatever else happens in between."""

from __future__ import annotations

import pytest

from serai.ahp import actions as a
from serai.ahp.types import MarkdownResponsePart, ToolCallConfirmationReason
from serai.host.redaction import Redaction
from serai.redact import Redactor

VALUE = "correct-horse-battery-staple-77"
KEY = "sk-ant-api03-" + "Ab3dEf6hIj" * 9

BEGINS = a.SessionToolCallStartAction(turn_id="t", tool_call_id="b", tool_name="x", display_name="X")
SAYS = a.SessionResponsePartAction(turn_id="t", part=MarkdownResponsePart(id="q", content=""))
READY = a.SessionToolCallReadyAction(
    turn_id="t",
    tool_call_id="b",
    invocation_message="Go",
    confirmed=ToolCallConfirmationReason.NOT_NEEDED,
)


def grows(text: str, call: str = "a") -> a.SessionToolCallDeltaAction:
    return a.SessionToolCallDeltaAction(turn_id="t", tool_call_id=call, content=text)


def says(text: str) -> a.SessionDeltaAction:
    return a.SessionDeltaAction(turn_id="t", part_id="p", content=text)


def told(*actions: a.StateAction) -> list[a.StateAction]:
    masking = Redaction(Redactor({"MAN": VALUE}))
    return [each for action in actions for each in masking.masked(action)]


def texts(actions: list[a.StateAction]) -> str:
    deltas = (a.SessionDeltaAction, a.SessionToolCallDeltaAction)
    return "".join(action.content for action in actions if isinstance(action, deltas))


@pytest.mark.parametrize("secret", [VALUE, KEY])
@pytest.mark.parametrize("between", [BEGINS, SAYS, READY])
def test_the_input_of_a_call_is_masked_over_what_happens_in_between(
    secret: str, between: a.StateAction
) -> None:
    text = texts(told(grows(f'{{"k":"{secret[:12]}'), between, grows(f'{secret[12:]}"}}')))
    assert text.removeprefix('{"k":"').removeprefix("sk-ant-").startswith("[")
    assert text.endswith(']"}')
    assert secret[:12] not in text


@pytest.mark.parametrize("secret", [VALUE, KEY])
def test_a_text_is_masked_over_a_call_that_becomes_ready(secret: str) -> None:
    text = texts(told(says(f"the key is {secret[:12]}"), READY, says(f"{secret[12:]} so")))
    assert text.removeprefix("the key is ").removeprefix("sk-ant-").startswith("[")
    assert text.endswith("] so")
    assert secret[:12] not in text


def test_what_is_held_of_a_text_goes_out_before_the_next_part_begins() -> None:
    for begins in (BEGINS, SAYS):
        assert told(says("token=abc"), begins) == [says("token="), says("abc"), begins]


def test_what_is_held_of_a_calls_input_goes_out_before_it_is_ready() -> None:
    done = [grows("token=", "b"), grows("abc", "b"), READY]
    assert told(grows("token=abc", "b"), READY) == done


def test_at_the_end_of_a_turn_nothing_is_held() -> None:
    end = a.SessionTurnCancelledAction(turn_id="t")
    assert told(says("token=abc"), grows("token=abc"), end) == [
        *(says("token="), grows("token=")),
        *(says("abc"), grows("abc")),
        end,
    ]
