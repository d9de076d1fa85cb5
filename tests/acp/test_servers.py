from __future__ import annotations

from typing import Any

import pytest

from serai.acp.capabilities import AgentCapabilities
from serai.acp.servers import HttpServer, SseServer, StdioServer, read_server, write_servers
from serai.errors import Mismatch

NONE = AgentCapabilities.read({})
BOTH = AgentCapabilities.read({"agentCapabilities": {"mcpCapabilities": {"http": True, "sse": True}}})


def test_servers_are_written_as_acp_has_them() -> None:
    servers = [
        StdioServer(name="a", command="/bin/a", args=("-x",), env={"K": "v"}),
        HttpServer(name="b", url="https://b", headers={"H": "v"}),
        SseServer(name="c", url="https://c", headers={"H": "v"}),
    ]
    assert write_servers(servers, BOTH, "x") == [
        {"name": "a", "command": "/bin/a", "args": ["-x"], "env": [{"name": "K", "value": "v"}]},
        {"type": "http", "name": "b", "url": "https://b", "headers": [{"name": "H", "value": "v"}]},
        {"type": "sse", "name": "c", "url": "https://c", "headers": [{"name": "H", "value": "v"}]},
    ]


@pytest.mark.parametrize(
    ("told", "server"),
    [
        ({"name": "a", "command": "a"}, StdioServer(name="a", command="a")),
        (
            {"name": "a", "type": "stdio", "command": "a", "args": ["x"], "env": {"K": "v"}},
            StdioServer(name="a", command="a", args=("x",), env={"K": "v"}),
        ),
        (
            {"name": "a", "command": "a", "env": [{"name": "K", "value": "v"}]},
            StdioServer(name="a", command="a", env={"K": "v"}),
        ),
        ({"name": "a", "url": "u"}, HttpServer(name="a", url="u")),
        ({"name": "a", "type": "streamable-http", "url": "u"}, HttpServer(name="a", url="u")),
        (
            {"name": "a", "type": "sse", "url": "u", "headers": {"H": "v"}},
            SseServer(name="a", url="u", headers={"H": "v"}),
        ),
    ],
)
def test_settings_are_read_in_the_forms_that_people_use(told: dict[str, Any], server: Any) -> None:
    assert read_server(told) == server


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ({"command": "a"}, "`name`"),
        ({"name": "a"}, "`command`"),
        ({"name": "a", "command": "a", "args": "x"}, "$.args"),
        ({"name": "a", "command": "a", "env": [{"name": "K"}]}, "$.env"),
        ({"name": "a", "type": "acp", "url": "u"}, "$.type"),
    ],
)
def test_what_is_missing_is_named(told: dict[str, Any], what: str) -> None:
    with pytest.raises(Mismatch) as caught:
        read_server(told)
    assert what in str(caught.value)


def test_two_servers_of_one_name_are_refused() -> None:
    servers = [{"name": "a", "command": "a"}, {"name": "b", "command": "a"}, {"name": "a", "command": "c"}]
    with pytest.raises(Mismatch) as caught:
        write_servers(servers, NONE, "x")
    assert caught.value.field == "mcpServers[2].name"
