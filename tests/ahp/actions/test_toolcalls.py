"""The answer to a tool call: one action for yes and for no, each with what it needs."""

from __future__ import annotations

import pytest

from serai.ahp.actions import SessionToolCallConfirmedAction
from serai.ahp.wire import convert
from serai.errors import Mismatch


def test_an_approval_needs_its_ground_and_a_denial_its_reason() -> None:
    with pytest.raises(ValueError, match="confirmed"):
        SessionToolCallConfirmedAction(turn_id="t", tool_call_id="c", approved=True, reason="denied")
    with pytest.raises(ValueError, match="reason"):
        SessionToolCallConfirmedAction(turn_id="t", tool_call_id="c", approved=False, confirmed="setting")


@pytest.mark.parametrize("null", [True, False])
def test_null_is_no_ground(null: bool) -> None:
    answer = {"turnId": "t", "toolCallId": "c", "approved": True, **({"confirmed": None} if null else {})}
    with pytest.raises(Mismatch):
        convert(answer, SessionToolCallConfirmedAction)


def test_grounds_that_are_newer_than_this_version_are_kept() -> None:
    answer = {"turnId": "t", "toolCallId": "c", "approved": True, "confirmed": "policy"}
    assert convert(answer, SessionToolCallConfirmedAction).confirmed == "policy"
