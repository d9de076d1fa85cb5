from __future__ import annotations

import pytest

from ahp.rules.world import ME, YOU, Json, accepts, rejection, terminal

INPUT: Json = {"type": "terminal/input", "data": "ls\n"}
CLAIMS: list[Json] = [
    {"kind": "client", "clientId": YOU},
    {"kind": "client", "clientId": ME},
    {"kind": "session", "session": "ahp-session:/1", "toolCallId": "c1"},
]


def claimed(claim: Json) -> Json:
    return {"type": "terminal/claimed", "claim": claim}


@pytest.mark.parametrize("claim", CLAIMS)
def test_who_holds_a_terminal_may_hand_it_over(claim: Json) -> None:
    assert accepts(terminal(), claimed(claim), ME)


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    "holder",
    [
        {"kind": "client", "clientId": YOU},
        {"kind": "session", "session": "ahp-session:/1"},
        {"kind": "later", "clientId": ME},
    ],
)
def test_who_does_not_hold_a_terminal_cannot_claim_it(holder: Json, claim: Json) -> None:
    assert rejection(terminal(claim=holder), claimed(claim), ME) == "not_holder"


def test_input_goes_to_a_process_that_is_alive() -> None:
    assert accepts(terminal(), INPUT)
    assert rejection(terminal(exitCode=0), INPUT) == "terminal_exited"
    assert rejection(terminal(exitCode=1), INPUT) == "terminal_exited"
