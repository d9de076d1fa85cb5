"""`serai serve` as people run it, with real agents: in a process of its own that can be killed."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cli.programs import environment
from conformance.client import Client, connecting
from real.table import AGENTS
from serai.ahp.types import ROOT
from serai.config.paths import CONFIG_NAME

_PATIENCE = 60
"""Seconds after which something that was to happen has not: agents start slowly on a busy machine."""

_SERAI = (sys.executable, "-c", "import sys; from serai.cli import main; sys.exit(main())")
_ADDRESS = re.compile(r"http://(127\.0\.0\.1:\d+)/\s")


class RealHost:
    """A host that can be started and ended several times on the same home.

    Args:
        home: Where it keeps its files.
        modules: Where npm has put the agents.
        agents: The variables of each agent, by its name.
    """

    def __init__(self, home: Path, modules: Path, agents: Mapping[str, Mapping[str, str]]) -> None:
        home.mkdir(parents=True)
        (home / CONFIG_NAME).write_text(_toml(agents))
        self.home = home
        self.agents = agents
        self.environ = environment(home, SERAI_NODE_MODULES=str(modules))
        self.url = ""
        self.token = ""
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it, and wait until clients can connect."""
        with (self.home / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(*_SERAI, "serve", "--port", "0"),
                env=self.environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(_PATIENCE):
            async for line in self._process.stdout:
                if found := _ADDRESS.search(line.decode()):
                    self.url = f"ws://{found[1]}"
                    self.token = (self.home / "token").read_text().strip()
                    return
        raise AssertionError(f"it does not start: {self.log}")

    async def kill(self) -> None:
        """Kill it as `kill -9` does, and wait until it is gone."""
        assert await self._end(signal.SIGKILL) == -signal.SIGKILL

    async def stop(self) -> None:
        """Stop it on request, and wait until it is gone. One that was killed already is left as it is."""
        assert await self._end(signal.SIGTERM) in (0, None), self.log

    async def _end(self, number: signal.Signals) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        process.send_signal(number)
        async with asyncio.timeout(_PATIENCE):
            await process.communicate()
        return process.returncode

    async def probe(self, agent: str) -> dict[str, Any]:
        """What `serai agents probe` tells of an agent."""
        process = await asyncio.create_subprocess_exec(
            *(*_SERAI, "agents", "probe", agent, "--json"),
            env=self.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(_PATIENCE):
            told, _ = await process.communicate()
        return json.loads(told)

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[Client]:
        """A client that follows the root channel, as soon as all agents are offered there."""
        async with connecting(self.url, token=self.token) as client:
            client.within = _PATIENCE
            await client.initialize(ROOT)
            await client.until(lambda: self.agents.keys() <= {one.provider for one in client.root.agents})
            yield client

    def agents_that_run(self) -> list[str]:
        """The commands of all processes that have an agent's home: agents, and what they have started."""
        homes = {f"HOME={env['HOME']}".encode() for env in self.agents.values()}
        found: list[str] = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if homes & set((process / "environ").read_bytes().split(b"\0")):
                    found.append((process / "cmdline").read_text(errors="replace").replace("\0", " "))
            except OSError:
                continue  # it is gone, or is someone else's
        return found

    @property
    def log(self) -> str:
        """What it has said on its standard error."""
        return (self.home / "log").read_text(errors="replace")


@asynccontextmanager
async def hosting(folder: Path, modules: Path, model_url: str) -> AsyncGenerator[RealHost]:
    """A host with all of the agents, each with a home of its own. No process of theirs outlives it."""
    env = {agent.name: agent.move_in(folder / "homes" / agent.name, model_url) for agent in AGENTS}
    host = RealHost(folder / "host", modules, env)
    await host.start()
    try:
        yield host
    finally:
        await host.stop()
        sys.stderr.write(host.log)  # shown when a test has failed
    assert host.agents_that_run() == []


def _toml(agents: Mapping[str, Mapping[str, str]]) -> str:
    """A configuration with these agents. A string is written in TOML as it is in JSON."""
    tables = [
        f"[agents.{name}.env]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in env.items())
        for name, env in agents.items()
    ]
    return "\n".join(tables)
