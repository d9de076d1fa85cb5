"""The root: agents, terminals and the host's settings."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import Case, Json, case, check, params
from serai.ahp.types import RootState

AGENT: Json = {
    "provider": "echo",
    "displayName": "Echo",
    "description": "Says it again",
    "models": [{"id": "m", "provider": "echo", "name": "M", "policyState": "enabled", "_meta": {"x": None}}],
}
TERMINAL: Json = {"resource": "ahp-terminal:/1", "title": "sh", "claim": {"kind": "client", "clientId": "c1"}}
SCHEMA: Json = {"type": "object", "properties": {"theme": {"type": "string", "title": "Theme"}}}


def root(**fields: Any) -> Json:
    return {"agents": [AGENT], **fields}


def settings(**values: Any) -> Json:
    return {"schema": SCHEMA, "values": values}


def act(name: str, **fields: Any) -> Json:
    return {"type": f"root/{name}", **fields}


CASES: list[Case] = [
    case(
        "agents are replaced as a whole",
        root(activeSessions=1),
        act("agentsChanged", agents=[{**AGENT, "provider": "other"}]),
        root(activeSessions=1, agents=[{**AGENT, "provider": "other"}]),
    ),
    case(
        "the number of sessions is set",
        root(),
        act("activeSessionsChanged", activeSessions=3),
        root(activeSessions=3),
    ),
    case(
        "terminals are replaced as a whole",
        root(terminals=[TERMINAL]),
        act("terminalsChanged", terminals=[{**TERMINAL, "exitCode": 0}, TERMINAL]),
        root(terminals=[{**TERMINAL, "exitCode": 0}, TERMINAL]),
    ),
    case(
        "settings are merged over the old ones",
        root(config=settings(theme="dark", free=None)),
        act("configChanged", config={"theme": None, "more": {"x": None}}),
        root(config=settings(theme=None, free=None, more={"x": None})),
    ),
    *(
        case(
            f"settings of a root without settings change nothing, replacing: {replace}",
            root(),
            act("configChanged", config={"more": 1}, replace=replace),
        )
        for replace in (True, False)
    ),
    case("an unknown action changes nothing", root(x=[None]), act("later", agents=[])),
]


@pytest.mark.parametrize("each", params(CASES))
def test_root(each: Case) -> None:
    check(each, RootState)
