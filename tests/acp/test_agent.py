"""An agent's start and its end."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from machine.processes.watching import runs
from serai.acp.agent import Agent
from serai.acp.client_side import ClientCapabilities, ClientSide
from serai.acp.process.connection import Launch
from serai.errors import (
    AgentInitFailed,
    AgentInitTimedOut,
    AgentNotInstalled,
    AgentNotStarted,
    AuthRequired,
    VersionMismatch,
)
from serai.machine.processes.processes import Processes


async def test_the_agent_is_told_what_the_client_truly_has(start: Any, person: Any) -> None:
    person.has = ClientCapabilities(read_text_file=True, elicitation_url=True, terminal_auth=True)
    agent = await start(capabilities={"loadSession": True})
    told = agent.handshake.raw["_meta"]["client"]
    assert told["protocolVersion"] == 1
    assert told["clientInfo"]["name"] == "serai"
    assert told["clientCapabilities"] == {
        "fs": {"readTextFile": True, "writeTextFile": False},
        "terminal": False,
        "elicitation": {"url": {}},
        "session": {"configOptions": {"boolean": {}}},
        "auth": {"terminal": True},
    }
    assert agent.capabilities.load_session
    assert agent.handshake.agent_info["name"] == "scripted"
    assert agent.is_running


async def test_noise_before_the_handshake_does_no_harm(start: Any) -> None:
    agent = await start(noise="banner\n[]\n\n")
    assert agent.stderr_tail == "banner\n[]"


async def test_an_agent_that_does_not_answer_is_ended(start: Any, processes: Processes) -> None:
    with pytest.raises(AgentInitTimedOut) as caught:
        await start(initialize="silence", start_timeout=0.2)
    assert caught.value.agent == "scripted"
    assert not processes._children


async def test_an_agent_that_ends_at_once_tells_why(start: Any) -> None:
    with pytest.raises(AgentInitFailed) as caught:
        await start(initialize="exit", log="no config, hunter2")
    assert type(caught.value) is AgentInitFailed
    assert "code 3" in str(caught.value)
    assert "no config, ***" in str(caught.value)
    assert caught.value.data["exitCode"] == 3


async def test_an_error_instead_of_a_handshake_is_told(start: Any) -> None:
    with pytest.raises(AgentInitFailed) as caught:
        await start(initialize={"error": {"code": 5, "message": "no"}})
    assert caught.value.number == 5
    with pytest.raises(AuthRequired):
        await start(initialize={"error": {"code": -32000, "message": "no"}})


@pytest.mark.parametrize("version", [0, 2, "2025-01-01"])
async def test_another_version_is_refused(version: Any, start: Any, processes: Processes) -> None:
    with pytest.raises(VersionMismatch) as caught:
        await start(version=version)
    assert (caught.value.client_version, caught.value.agent_version) == (1, version)
    assert not processes._children


async def test_a_program_that_is_not_there_is_not_installed(processes: Processes, tmp_path: Path) -> None:
    async def start(launch: Launch) -> Agent:
        return await Agent.start(launch, processes, client=ClientSide(), mask=str, warn=print)

    with pytest.raises(AgentNotInstalled) as caught:
        await start(Launch(("no-such-agent",), name="x", install="Run 'npm install x'"))
    assert str(caught.value).endswith("Run 'npm install x'")
    with pytest.raises(AgentNotStarted):
        await start(Launch((sys.executable,), cwd=tmp_path / "none"))
    (tmp_path / "file").write_text("")
    with pytest.raises(AgentNotStarted):
        await start(Launch((str(tmp_path / "file"),)))


async def test_a_start_that_is_cancelled_leaves_nothing(start: Any, processes: Processes) -> None:
    task = asyncio.create_task(start(initialize="silence"))
    async with asyncio.timeout(30):
        while not processes._children:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(30):
        while processes._children:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.005)


async def test_its_environment_is_the_hosts_without_its_secrets(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERAI_TOKEN", "secret")
    monkeypatch.setenv("OTHER", "kept")
    code = "import os, sys; print(*map(os.environ.get, ['SERAI_TOKEN', 'OTHER', 'OWN']), file=sys.stderr)"
    heard: list[str] = []
    with pytest.raises(AgentInitFailed):
        await Agent.start(
            Launch((sys.executable, "-c", code), env={"OWN": "mine"}),
            processes,
            client=ClientSide(),
            mask=str,
            warn=print,
            on_stderr=heard.append,
        )
    assert heard == ["None kept mine"]


async def test_what_it_starts_by_name_is_not_taken_from_the_folder_that_it_works_in(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what a script is for is looked for by name: `#!/usr/bin/env node`."""
    (tmp_path / "node").write_text("#!/bin/sh\necho stranger >&2\n")
    (tmp_path / "node").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/node").write_text("#!/bin/sh\necho own >&2\n")
    (tmp_path / "bin/node").chmod(0o755)
    script = tmp_path / "agent"
    script.write_text("#!/usr/bin/env node\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f":.:{tmp_path / 'bin'}:{os.environ['PATH']}")
    heard: list[str] = []
    with pytest.raises(AgentInitFailed):
        await Agent.start(
            Launch((str(script),), cwd=tmp_path),
            processes,
            client=ClientSide(),
            mask=str,
            warn=print,
            on_stderr=heard.append,
        )
    assert heard == ["own"]


async def test_closing_ends_the_process_and_may_be_done_again(agent: Agent) -> None:
    pid = agent.child.pid
    await asyncio.gather(agent.close(), agent.close())
    await agent.close()
    assert not runs(pid)
    assert agent.exit is not None
    assert agent.exit.code == 0  # it ended by itself, when its input was closed
    assert not agent.is_running


@pytest.mark.usefixtures("short_graces")
async def test_an_agent_that_ignores_all_is_killed_with_what_it_started(start: Any, tmp_path: Path) -> None:
    script = tmp_path / "wrapper.py"
    script.write_text(
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '600'])\n"  # what is ignored stays ignored in a child
        "print(child.pid, file=sys.stderr, flush=True)\n"
        "sys.stdin.readline()\n"
        """print('{"id": 0, "result": {}}', flush=True)\n"""
        "time.sleep(600)\n"
    )
    agent = await start((sys.executable, "-S", str(script)))
    async with asyncio.timeout(30):
        while not agent.stderr_tail:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.005)
    inner = int(agent.stderr_tail)
    assert runs(inner)
    await agent.close()
    assert not runs(agent.child.pid)
    assert not runs(inner)
    assert agent.exit is not None
    assert agent.exit.signal == 9


# -- what is not offered -----------------------------------------------------------------------------------
