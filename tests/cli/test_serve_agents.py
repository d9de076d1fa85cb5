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

from cli.programs import Program, address_of, run, running
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
async def client_of(host: Program, home: Path) -> AsyncGenerator[Client]:
    address, token = await address_of(host, home)
    async with connecting(f"ws://{address}", "one", token=token) as client:
        await client.initialize("ahp-root://")
        await client.until(lambda: any(agent.provider == "quick" for agent in client.root.agents))
        yield client


async def turn_after_a_kill(tmp_path: Path, text: str, **told: Any) -> Any:
    """What becomes of a turn with an agent, when the host was killed after the one before."""
    kept = tmp_path / "kept"
    kept.mkdir()
    describe_agent(tmp_path, keep=str(kept), **told)
    async with running("serve", "--port", "0", home=tmp_path) as host, client_of(host, tmp_path) as client:
        folder = tmp_path.as_uri()
        await client.request("createSession", SESSION, provider="quick", workingDirectory=folder)
        await client.subscribe(SESSION)
        await client.until(lambda: client.session(SESSION).lifecycle == "ready")
        assert said(await say(client, SESSION, "echo one")) == "one"
        host.process.send_signal(signal.SIGKILL)
        await host.ended()
    async with running("serve", "--port", "0", home=tmp_path) as host, client_of(host, tmp_path) as client:
        await client.subscribe(SESSION)
        return await say(client, SESSION, text)


async def test_an_agents_session_survives_a_host_that_is_killed(tmp_path: Path) -> None:
    turn = await turn_after_a_kill(tmp_path, "recall", capabilities=RESUMES, late=0.05)
    assert said(turn) == '["echo one"]'
    (notice,) = notices(turn)
    assert re.search("has resumed its session", notice)


async def test_a_trusted_folders_agent_counts_also_when_it_is_the_hosts_own(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("trusted", "other")}
    for folder in folders.values():
        make_folder(folder, 'default_agent = "demo"\n')
    describe_agent(tmp_path)
    assert (await run("config", "trust", str(folders["trusted"]), home=tmp_path)).code == 0
    async with running("serve", "--port", "0", home=tmp_path) as host, client_of(host, tmp_path) as client:
        await client.dispatch("ahp-root://", "root/configChanged", config={"defaultAgent": "quick"})
        await client.hear("root/configChanged")
        chosen: dict[str, str] = {}
        for name, folder in folders.items():
            uri = f"ahp-session:/{name}"
            await client.request("createSession", uri, workingDirectory=folder.as_uri())
            await client.subscribe(uri)
            chosen[name] = client.session(uri).summary.provider
        assert chosen == {"trusted": "demo", "other": "quick"}


def make_folder(folder: Path, settings: str) -> None:
    folder.mkdir()
    (folder / "serai.toml").write_text(settings)
