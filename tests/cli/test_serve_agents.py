"""`serai serve` with an agent that a file describes."""

from __future__ import annotations

import json
import re
import shlex
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cli.programs import Program, running
from conformance.client import Client, connecting
from harness.acp.conftest import QUICK, RESUMES, notices, said, say

SESSION = "ahp-session:/one"


def describe_agent(home: Path, **told: Any) -> None:
    """Write an agent's program, and the file that tells of it."""
    program = home / "quick-agent"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(QUICK)} {shlex.quote(json.dumps(told))}\n")
    program.chmod(0o755)
    (home / "serai.toml").write_text(f'[agents.quick]\ncommand = "{program}"\nlabel = "Quick"\n')


@asynccontextmanager
async def client_of(host: Program) -> AsyncGenerator[Client]:
    found = await host.says(r"http://(\S+?)/\?tkn=(\S+)")
    async with connecting(f"ws://{found[1]}", "one", token=found[2]) as client:
        await client.initialize("ahp-root://")
        await client.until(lambda: any(agent.provider == "quick" for agent in client.root.agents))
        yield client


async def test_an_agents_session_survives_a_host_that_is_killed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    describe_agent(tmp_path, keep=str(kept), capabilities=RESUMES)
    async with running("serve", "--port", "0", home=tmp_path) as host, client_of(host) as client:
        folder = tmp_path.as_uri()
        await client.request("createSession", SESSION, provider="quick", workingDirectory=folder)
        await client.subscribe(SESSION)
        await client.until(lambda: client.session(SESSION).lifecycle == "ready")
        assert said(await say(client, SESSION, "echo one")) == "one"
        host.process.send_signal(signal.SIGKILL)
        await host.ended()
    async with running("serve", "--port", "0", home=tmp_path) as host, client_of(host) as client:
        await client.subscribe(SESSION)
        turn = await say(client, SESSION, "recall")
        assert said(turn) == '["echo one"]'
        assert re.search("has resumed its session", notices(turn)[0])
