"""`serai mcp`: the relay's tools over standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from cli.programs import environment, run, running
from relay.ports import tools_of


async def test_an_agent_has_the_tools_of_the_host_of_this_machine(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await host.says("Press Ctrl-C")
        made = await run("token", "create", "--for", "ci", home=tmp_path)
        env = environment(tmp_path, SERAI_TOKEN=made.out.strip())
        named = [{"name": name, "value": value} for name, value in env.items()]
        async with tools_of(
            {"command": sys.executable, "args": ["-m", "serai", "mcp"], "env": named}
        ) as tools:
            assert "send_message" in await tools.names()
            assert (await tools("list_agents"))["you"] == "@ci"
        refused = await run("mcp", home=tmp_path, typed=_CALL, SERAI_TOKEN="wrong")
        assert "the token is not the right one" in json.loads(refused.out)["error"]["message"]


_CALL = (
    '{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}\n{"jsonrpc": "2.0", "method": "notifications/x"}\n'
)


async def test_without_a_host_each_request_is_answered_with_an_error(tmp_path: Path) -> None:
    done = await run("mcp", "--url", "http://127.0.0.1:1", home=tmp_path, typed=_CALL)
    [line] = done.out.splitlines()
    answer = json.loads(line)
    assert (done.code, answer["id"]) == (0, 7)
    assert "no host answers at 127.0.0.1:1" in answer["error"]["message"]


def test_neither_a_host_that_starts_nor_the_command_loads_the_sdk() -> None:
    probe = "import sys, serai.serve.run, serai.cli.serve, serai.cli.mcp; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    assert not {"mcp", "mcp_types", "pydantic"} & set(done.stdout.split())
