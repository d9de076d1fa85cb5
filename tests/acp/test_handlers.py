"""How what an agent asks is answered, apart from any conversation."""

from __future__ import annotations

import pytest

from serai.acp import BasicClient, PermissionRequest
from serai.acp.requests import HANDLERS


class Choosing(BasicClient):
    """Chooses `x`."""

    async def request_permission(self, request: PermissionRequest) -> str | None:
        del request
        return "x"


@pytest.mark.parametrize(
    ("kinds", "outcome"),
    [
        (("allow_always", "reject_once"), {"outcome": "cancelled"}),
        (("reject_once", "allow_once"), {"outcome": "cancelled"}),
        (("reject_once", "reject_always"), {"outcome": "selected", "optionId": "x"}),
        (("allow_once",), {"outcome": "selected", "optionId": "x"}),
    ],
)
async def test_an_id_that_stands_for_a_yes_and_a_no_is_no_answer(
    kinds: tuple[str, ...], outcome: dict[str, str]
) -> None:
    handler = HANDLERS["session/request_permission"]
    params = {
        "sessionId": "s",
        "toolCall": {"toolCallId": "1"},
        "options": [{"optionId": "x", "name": "it", "kind": kind} for kind in kinds],
    }
    assert await handler.ask(Choosing(), handler.read(params)) == {"outcome": outcome}
