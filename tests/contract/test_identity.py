from __future__ import annotations

import pytest

from contract.shapes import Shape, members, shape_tests
from requirements import proves
from serai.contract import AgentIdentity, AgentStatus, handle_of, name_key

SHAPES = [
    Shape(
        "",
        AgentIdentity,
        {"id": "a-1", "name": "code reviewer", "handle": "@code-reviewer"},
        {
            "displayName": "Code Reviewer",
            "description": "reads diffs",
            "kind": "agent",
            "metadata": {"team": "core"},
        },
    )
]


test_it_is_written_exactly_as_it_was_read, test_each_field_is_needed_or_may_be_left_out = shape_tests(SHAPES)


@proves("caps:Status-States/not-in-identity")
def test_an_identity_says_nothing_about_status() -> None:
    assert not any("status" in name for name in AgentIdentity.__struct_fields__)
    hints = str(AgentIdentity.__annotations__)
    assert AgentStatus.__name__ not in hints


@pytest.mark.parametrize(
    ("name", "handle"),
    [
        ("reviewer", "@reviewer"),
        ("code reviewer", "@code-reviewer"),
        ("code \t\n reviewer two", "@code-reviewer-two"),
        ("  reviewer ", "@reviewer"),
        ("Reviewer-2", "@Reviewer-2"),
    ],
)
def test_a_handle_is_the_name_with_runs_of_white_space_as_a_dash(name: str, handle: str) -> None:
    assert handle_of(name) == handle


@pytest.mark.parametrize(("one", "other"), [("Reviewer", "reviewer"), ("STRASSE", "straße"), ("a ", "A")])
def test_names_compare_without_regard_to_case(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


STATUSES = (
    *("starting", "active", "idle", "waiting", "blocked", "paused"),
    *("releasing", "released", "offline", "failed"),
)


@pytest.mark.parametrize("status", members("caps:AgentStatus", *STATUSES))
def test_a_status_has_its_name_on_the_wire(status: str) -> None:
    assert AgentStatus[status.upper()].value == status
