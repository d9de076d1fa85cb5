"""An agent for a test, someone who answers it, and a look at what it leaves behind."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from machine.processes.watching import children
from serai.acp.agent import Agent
from serai.acp.client_side import (
    ClientCapabilities,
    ClientSide,
    Elicitation,
    ElicitationAnswer,
    PermissionRequest,
    ReadTextFile,
    WriteTextFile,
)
from serai.acp.process import connection
from serai.acp.process.connection import Launch
from serai.acp.prompt import Finished, Item, PromptFailure
from serai.acp.session import AcpSession
from serai.acp.updates import AgentMessageChunk
from serai.errors import ProtocolError
from serai.machine.processes.processes import Processes

AGENTS = Path(__file__).parent / "agents"
QUICK = (sys.executable, "-I", "-S", "-u", str(AGENTS / "scripted.py"))


class Person(ClientSide):
    """Answers as a test says; `None` lets the agent wait for ever."""

    def __init__(self) -> None:
        self.has = ClientCapabilities()
        self.answer: str | None = "yes"
        self.patient = False
        """Whether nothing is answered before `released`."""
        self.released = asyncio.Event()
        self.requests: list[PermissionRequest] = []
        self.given_up = 0
        self.asked = asyncio.Event()
        self.files = {"/notes": "one\ntwo\n"}

    @property
    def capabilities(self) -> ClientCapabilities:
        return self.has

    async def request_permission(self, request: PermissionRequest) -> str | None:
        self.requests.append(request)
        self.asked.set()
        await self._wait()
        return self.answer

    async def read_text_file(self, request: ReadTextFile) -> str:
        if request.path not in self.files:
            raise ProtocolError("there is no such file", number=-32002)
        return self.files[request.path]

    async def write_text_file(self, request: WriteTextFile) -> None:
        self.files[request.path] = request.content

    async def create_elicitation(self, request: Elicitation) -> ElicitationAnswer:
        self.asked.set()
        await self._wait()
        return ElicitationAnswer("accept", {"said": request.message})

    async def _wait(self) -> None:
        try:
            if self.patient:
                await self.released.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    """When they are closed, nothing may be left: no process, no zombie, no task."""
    before = children()
    processes = Processes()
    yield processes
    await processes.close(grace=1)
    assert not processes._children
    assert children() <= before
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others, timeout=30)  # what has ended is told to each of them in its own turn
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.fixture
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    """For agents that use up all the time that they are given."""
    monkeypatch.setattr(connection, "EOF_GRACE", 0.2)
    monkeypatch.setattr(connection, "TERM_GRACE", 0.2)


@pytest.fixture
async def person() -> Person:
    return Person()


@pytest.fixture
def warned() -> list[str]:
    """What was left out, in the sentences that a person is told."""
    return []


Start = Callable[..., Awaitable[Agent]]


@pytest.fixture
async def start(processes: Processes, person: Person, warned: list[str]) -> AsyncIterator[Start]:
    """Starts a scripted agent that was told something: `start(capabilities={...}, inactivity_timeout=1)`."""
    agents: list[Agent] = []
    options = {"start_timeout", "inactivity_timeout", "cancel_timeout", "on_stderr"}

    async def start(argv: tuple[str, ...] = QUICK, **told: Any) -> Agent:
        given = {name: told.pop(name) for name in options & told.keys()}
        agent = await Agent.start(
            Launch((*argv, json.dumps(told)), name="scripted", login=told.get("login", ())),
            processes,
            client=person,
            mask=lambda text: text.replace("hunter2", "***"),
            warn=warned.append,
            **given,
        )
        agents.append(agent)
        return agent

    yield start
    for agent in agents:
        await agent.close()


@pytest.fixture
async def agent(start: Start) -> Agent:
    return await start()


@pytest.fixture
async def session(agent: Agent, tmp_path: Path) -> AcpSession:
    """A new session, whose first updates are taken."""
    session = await agent.open_session(tmp_path)
    async for item in session.updates():
        if isinstance(item, AgentMessageChunk):
            break
    return session


class Conversation:
    """What came of a prompt, in its order."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items[:-1]
        self.end = items[-1]

    @property
    def texts(self) -> list[str | None]:
        return [item.text for item in self.items if isinstance(item, AgentMessageChunk)]

    @property
    def stop_reason(self) -> str:
        assert isinstance(self.end, Finished), self.end
        return self.end.stop_reason

    @property
    def error(self) -> Exception:
        assert isinstance(self.end, PromptFailure), self.end
        return self.end.error


Converse = Callable[..., Awaitable[Conversation]]


@pytest.fixture
def converse() -> Converse:
    """Sends a prompt, if there is one, and takes all until the end of the turn."""

    async def converse(session: AcpSession, prompt: Any = None) -> Conversation:
        if prompt is not None:
            session.prompt(prompt)
        items: list[Item] = []
        async with asyncio.timeout(20):
            async for item in session.updates():
                items.append(item)
                if isinstance(item, Finished | PromptFailure):
                    return Conversation(items)
        raise AssertionError("the session ended without an end of the turn")

    return converse
