"""What a yes or a no means to an agent that offers answers of its own."""

from __future__ import annotations

from serai.acp import PermissionOption
from serai.harness.acp.call_actions import choose, offered


def test_an_option_of_an_unknown_kind_is_for_who_chooses_it_and_never_a_no() -> None:
    options = [PermissionOption("a", "A", "allow_session"), PermissionOption("b", "B", "perhaps")]
    assert [option.kind for option in offered(options)] == ["approve", "approve"]
    assert choose(options, "b", approved=True) == "b"
    assert choose(options, None, approved=True) == "a"
    assert choose(options, "b", approved=False) is None
    assert choose(options[1:], None, approved=True) is None


def test_a_plain_yes_is_not_for_ever_when_there_is_a_choice() -> None:
    always = [PermissionOption("x", "X", "allow_always"), PermissionOption("y", "Y", "allow_session")]
    assert choose(always, None, approved=True) is None
    assert choose(always[:1], None, approved=True) == "x"
