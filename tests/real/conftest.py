"""A model server on loopback, a host with real agents, and a client that checks every frame."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from conformance.client import Client
from real.conversation import Conversation, conversing
from real.house import RealHost, hosting
from real.table import AGENTS, NODE, RealAgent, cache_folder, installed, modules_in

_CACHE = cache_folder()  # before the tests are given another home


def pytest_report_header() -> str:
    """Say which agents it is about."""
    there = installed(_CACHE)
    names = [*(agent.package for agent in AGENTS), NODE]
    return "real agents: " + ", ".join(f"{name} {there.get(name, 'missing')}" for name in names)


@pytest.fixture(scope="session")
def modules() -> Path:
    """The folder with the agents, when all is as it has to be."""
    missing = [agent.package for agent in AGENTS if agent.package not in installed(_CACHE)]
    if missing:
        pytest.skip(f"NOT CHECKED: {', '.join(missing)} is not installed; make test-agents does it")
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))  # an address for examples: nothing is sent
        pytest.skip("NOT CHECKED: here agents could reach a network; make test-agents runs them where not")
    return modules_in(_CACHE)


@pytest.fixture(scope="session")
def model_url(shared_folder: Path) -> Iterator[str]:
    """The address of the model server."""
    script = shared_folder / "tools" / "fake_model_server.py"
    with subprocess.Popen([sys.executable, str(script), "0"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = re.search(r"'127\.0\.0\.1', (\d+)", server.stdout.readline())
        assert said is not None
        yield f"http://127.0.0.1:{said[1]}"
        server.kill()


@pytest.fixture(params=AGENTS, ids=str)
def agent(request: pytest.FixtureRequest) -> RealAgent:
    """Each of the agents."""
    return request.param


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host(
    tmp_path_factory: pytest.TempPathFactory, modules: Path, model_url: str
) -> AsyncGenerator[RealHost]:
    """A host with all of the agents."""
    async with hosting(tmp_path_factory.mktemp("host"), modules, model_url) as host:
        yield host


@pytest_asyncio.fixture(loop_scope="module")
async def mortal_host(tmp_path: Path, modules: Path, model_url: str) -> AsyncGenerator[RealHost]:
    """A host of the test's own, to be killed."""
    async with hosting(tmp_path, modules, model_url) as host:
        yield host


@pytest_asyncio.fixture(loop_scope="module")
async def client(host: RealHost) -> AsyncGenerator[Client]:
    """A client of the host."""
    async with host.client() as client:
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the agents work."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    return folder


@pytest_asyncio.fixture(loop_scope="module")
async def conversation(client: Client, agent: RealAgent, folder: Path) -> AsyncGenerator[Conversation]:
    """A session with each of the agents."""
    async with conversing(client, agent.name, folder) as conversation:
        yield conversation
