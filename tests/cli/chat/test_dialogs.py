"""What a person is shown when a tool wants to run, and what comes of what they type."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, strategies as st

from requirements import proves
from serai.ahp.types import (
    ConfirmationOption,
    SessionInputMultiSelectQuestion,
    SessionInputOption,
    SessionInputRequest,
    SessionInputSingleSelectQuestion,
    ToolCallPendingConfirmationState,
)
from serai.cli.chat.questions import Ask, Dialog, ask_call, ask_questions

OPTIONS = [
    ConfirmationOption(id="never", label="Never", kind="deny", group=1),
    ConfirmationOption(id="always", label="Always", kind="approve"),
    ConfirmationOption(id="no", label="Not now", kind="deny", group=1),
    ConfirmationOption(id="once", label="Once", kind="approve", group=0),
]


def call(**more: Any) -> ToolCallPendingConfirmationState:
    return ToolCallPendingConfirmationState(
        tool_call_id="c", tool_name="bash", display_name="Run", invocation_message="Run ls", **more
    )


def decided(dialog: Dialog, *lines: str) -> tuple[str, Any]:
    """What the host is told when these lines are typed: the method, and the option or the answers."""
    next(dialog)
    for line in lines[:-1]:
        dialog.send(line)
    with pytest.raises(StopIteration) as end:
        dialog.send(lines[-1])
    session = Mock()
    end.value.value(session)
    [(method, (_, *answers), named)] = session.method_calls
    return method, answers[0] if answers else named["option"]


def menu(shown: Ask) -> list[tuple[str, str]]:
    """The choices that are shown: what to type, and what it says."""
    return re.findall(r"^  (\w+)  (.+)$", shown.text, re.MULTILINE)


@proves("ahp:ConfirmationOption/shown-in-order")
@given(st.permutations(OPTIONS))
def test_options_are_listed_in_the_order_in_which_they_were_given(options: list[ConfirmationOption]) -> None:
    shown = menu(next(ask_call(call(options=options))))
    assert shown[: len(options)] == [
        (str(number), option.label) for number, option in enumerate(options, start=1)
    ]
    for number, option in enumerate(options, start=1):
        wanted = "approve" if option.kind == "approve" else "deny"
        assert decided(ask_call(call(options=options)), str(number)) == (wanted, option.id)


@proves("ahp:ToolCallPendingConfirmationState/options-replace-plain-buttons")
def test_options_stand_in_the_place_of_a_bare_yes_and_no() -> None:
    bare = menu(next(ask_call(call())))
    assert [key for key, _ in bare] == ["y", "n", "s"]
    chosen = menu(next(ask_call(call(options=OPTIONS))))
    assert [key for key, _ in chosen] == ["1", "2", "3", "4", "s"]
    assert decided(ask_call(call()), "y") == ("approve", None)
    assert decided(ask_call(call()), "n") == ("deny", None)


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        ("always", ("approve", "always")),
        ("NEVER", ("deny", "never")),
        # Who types a yes all the same means the first way to say it.
        ("yes", ("approve", "always")),
        ("n", ("deny", "never")),
    ],
)
def test_an_option_may_be_typed_by_its_name(typed: str, decision: tuple[str, str]) -> None:
    assert decided(ask_call(call(options=OPTIONS)), typed) == decision


def test_what_is_no_choice_is_asked_again() -> None:
    dialog = ask_call(call(options=OPTIONS))
    first = next(dialog)
    for line in ("5", "0", "", "perhaps", "e"):
        assert menu(dialog.send(line)) == menu(first)


CHOICES = [
    SessionInputOption(id="rye", label="Rye"),
    SessionInputOption(id="oat", label="Oat"),
    SessionInputOption(id="wheat", label="12"),
]


def select(*, several: bool = False, free: bool = True) -> Dialog:
    kind = SessionInputMultiSelectQuestion if several else SessionInputSingleSelectQuestion
    question = kind(id="bread", message="Which?", options=CHOICES, allow_freeform_input=free)
    return ask_questions(SessionInputRequest(id="q", questions=[question]))


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("1", "rye"), ("12", "wheat"), ("rye please", "rye please"), ("9", "9")],
)
def test_options_and_free_text_are_told_apart(typed: str, answer: str) -> None:
    assert decided(select(), typed) == ("answer", {"bread": answer})
