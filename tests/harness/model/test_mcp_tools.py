from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from msgspec.structs import replace

from harness.model.workbench import Workbench
from hosts import TOKEN, WITHIN
from relay.ports import open_inn
from requirements import proves
from serai.ahp.types import McpServerCustomization
from serai.customizations.containers import Definition
from serai.customizations.trees import DiskTree
from serai.harness.model.tool import Asking, ModelTool
from serai.harness.model.tools.mcp import McpServers

SERVER = """
import json, os, sys

TOOLS = [
    {"name": "look.up", "description": "Looks.", "inputSchema": {"type": "object"},
     "annotations": {"readOnlyHint": True}},
    {"name": "variable", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    {"name": "die", "inputSchema": {"type": "object"}},
]

def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "test", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    name = params["name"]
    if name == "die":
        sys.exit("it is over")
    text = os.environ.get(params["arguments"]["name"], "") if name == "variable" else str(os.getpid())
    return {"content": [{"type": "text", "text": text}], "isError": name == "variable" and not text}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    reply = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] in ("initialize", "tools/list", "tools/call"):
        reply["result"] = answer(asked["method"], asked.get("params"))
    else:
        reply["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(reply), flush=True)
"""


@pytest.fixture
async def servers(bench: Workbench) -> AsyncGenerator[McpServers]:
    """The servers of the workbench's session. When they are closed, no process is left."""
    servers = McpServers(bench.conversation.session.seat, bench.folder)
    yield servers
    async with asyncio.timeout(WITHIN):
        await servers.close()
    assert not bench.host.processes._children


def described(bench: Workbench, **more: Any) -> dict[str, Any]:
    script = bench.folder.parent / "server.py"
    script.write_text(SERVER)
    return {"command": sys.executable, "args": [str(script)], **more}


async def offered(bench: Workbench, servers: McpServers, *definitions: Definition) -> dict[str, ModelTool]:
    tools, notices = await servers.tools(bench.agent, definitions)
    assert notices == []
    return {tool.name: tool for tool in tools}


@proves("session:Tools-and-secrets/secrets-from-keychain")
async def test_tools_of_a_server_that_is_a_program(
    bench: Workbench, servers: McpServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN_AWAY", "a-word-nobody-says")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-made-up-4711-key")
    env = {"GIVEN": "env:HIDDEN_AWAY", "PLAIN": "as it is"}
    bench.agent = replace(bench.agent, mcp_servers={"test server": described(bench, env=env)})
    tools = await offered(bench, servers)
    assert list(tools) == ["mcp__test_server__look_up", "mcp__test_server__variable", "mcp__test_server__die"]
    look, variable, _ = tools.values()
    assert (look.asking, variable.asking) == (Asking.NEVER, Asking.UNLESS_GRANTED)
    assert variable.spec.input_schema["properties"] == {"name": {"type": "string"}}

    assert (await bench.use(variable, name="PLAIN")).text == "as it is"
    assert (await bench.use(variable, name="GIVEN")).text == "a-word-nobody-says"
    assert (await bench.use(variable, name="OPENAI_API_KEY")).is_error
    # It reached the server, and nothing that anyone sees.
    await bench.host.journal.committed()
    assert "a-word-nobody-says" not in json.dumps(bench.conversation.actions)

    first = (await bench.use(look)).text
    assert (await bench.use((await offered(bench, servers))["mcp__test_server__look_up"])).text == first


async def test_a_server_that_dies_is_an_error_for_the_model_and_is_started_anew_for_the_next_turn(
    bench: Workbench, servers: McpServers
) -> None:
    bench.agent = replace(bench.agent, mcp_servers={"test": described(bench)})
    tools = await offered(bench, servers)
    before = (await bench.use(tools["mcp__test__look_up"])).text
    assert "failed" in await bench.refusal(tools["mcp__test__die"])
    assert "is gone" in await bench.refusal(tools["mcp__test__look_up"])
    tools = await offered(bench, servers)
    assert (await bench.use(tools["mcp__test__look_up"])).text != before


async def test_a_server_that_cannot_be_used_is_a_notice_and_the_others_go_on(
    bench: Workbench, servers: McpServers
) -> None:
    bench.agent = replace(
        bench.agent,
        mcp_servers={
            "absent": {"command": "no-such-program-at-all"},
            "broken": {"command": sys.executable, "args": ["-c", "raise SystemExit('not today')"]},
            "odd": {"args": ["x"]},
            "unset": described(bench, env={"X": "env:NOT_SET_ANYWHERE"}),
            "test": described(bench),
        },
    )
    tools, notices = await servers.tools(bench.agent, [])
    assert {tool.name.split("__")[1] for tool in tools} == {"test"}
    for name, words in {"absent": "no program", "broken": "not today", "odd": "needs a command"}.items():
        assert any(name in notice and words in notice for notice in notices), notices
    assert any("NOT_SET_ANYWHERE" in notice for notice in notices)


async def test_a_server_of_a_customisation_ends_when_it_is_switched_off(
    bench: Workbench, servers: McpServers
) -> None:
    child = McpServerCustomization(id="on", uri="file:///x", name="on")
    definition = Definition(child, "c", ".mcp.json", True, described(bench), DiskTree(bench.folder))
    tools = await offered(bench, servers, definition)
    pid = int((await bench.use(tools["mcp__on__look_up"])).text)
    assert await offered(bench, servers) == {}
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@proves("session:Tools-and-secrets/ssrf-policy")
async def test_a_server_at_a_private_address_needs_to_be_named_by_the_agent_s_file(
    bench: Workbench, servers: McpServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_inn() as inn:
        monkeypatch.setenv("TOKEN_OF_TEST", TOKEN)
        settings = {"url": inn.url, "headers": {"Authorization": "Bearer env:TOKEN_OF_TEST"}}
        bench.agent = replace(bench.agent, mcp_servers={"inn": settings})
        refused, notices = await servers.tools(bench.agent, [])
        assert refused == []
        assert "private network" in notices[0]

        bench.agent = replace(bench.agent, allowed_hosts=(f"127.0.0.1:{inn.port}",))
        tools = await offered(bench, servers)
        assert "@alice" in (await bench.use(tools["mcp__inn__list_agents"])).text
        await servers.close()
