"""How what an agent asks is answered, apart from any conversation."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from serai.acp import BasicClient, CreateTerminal, PermissionRequest
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


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ({"env": [{"name": "K", "value": "v"}], "outputByteLimit": 3}, (3, {"K": "v"})),
        ({"env": None}, (None, {})),
    ],
)
def test_a_terminal_is_described_in_the_forms_that_agents_use(
    told: dict[str, Any], meant: tuple[int | None, dict[str, str]]
) -> None:
    asked = HANDLERS["terminal/create"].read({"sessionId": "s", "command": "ls", **told})
    assert isinstance(asked, CreateTerminal)
    assert (asked.output_byte_limit, asked.environ) == meant


@pytest.mark.parametrize("told", [{"outputByteLimit": 3.5}, {"env": {"K": 5}}, {"env": ["K=v"]}])
def test_a_terminal_that_is_not_described_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        HANDLERS["terminal/create"].read({"sessionId": "s", "command": "ls", **told})
