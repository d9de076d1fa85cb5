"""How long a title may be."""

from __future__ import annotations

import pytest

from ahp.rules.world import accepts, rejection, session, terminal
from serai.ahp.rules.session import LONGEST_TITLE


@pytest.mark.parametrize("kind", ["session", "terminal"])
def test_a_title_has_a_length(kind: str) -> None:
    state = session() if kind == "session" else terminal()
    action = {"type": f"{kind}/titleChanged", "title": "x" * LONGEST_TITLE}
    assert accepts(state, action)
    assert rejection(state, {**action, "title": "x" * (LONGEST_TITLE + 1)}) == "title_too_long"
