"""A real host with a port, agents that do as a test says, and a client that is strict."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, calls_of, connecting, text_of
from hosts import House, housing
from machine.processes.watching import children, until
from serai.acp.process.connection import Launch
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import FoundAgent
from serai.ahp.types import SystemNotificationResponsePart
from serai.changes import git
from serai.harness.acp.harness import AcpHarness
from serai.store.memory import MemoryStore

AGENTS = Path(__file__).parent / "agents"
QUICK = (sys.executable, "-E", "-s", "-S", "-u", str(AGENTS / "quick.py"))
ONE = "ahp-session:/one"

RESUMES = {"sessionCapabilities": {"resume": {}}}
LOADS = {"loadSession": True}
FORKS = {"loadSession": True, "sessionCapabilities": {"fork": {}}}


def found_agent(argv: tuple[str, ...], name: str = "quick", **definition: Any) -> FoundAgent:
    """An agent as the catalogue finds it."""
    way = Way(program=argv[0])
    made = AgentDefinition(id=name, label=name.title(), ways=(way,), **definition)
    launch = Launch(argv=argv, name=name, login=made.login, cumulative_tokens=made.cumulative_tokens)
    return FoundAgent(made, installed=True, way=way, launch=launch)


class Inn:
    """A host with agents over ACP, and whoever connects to it."""

    def __init__(self, house: House, stack: AsyncExitStack, folder: Path) -> None:
        self.house = house
        self.folder = folder
        """Where sessions work."""
        self._stack = stack
        self._offers: list[tuple[FoundAgent, dict[str, Any]]] = []

    def offer(self, argv: tuple[str, ...] = QUICK, name: str = "quick", **told: Any) -> AcpHarness:
        """Offer an agent that was told something; `definition` and `timeouts` are for the host."""
        definition = told.pop("definition", {})
        timeouts = told.pop("timeouts", {})
        found = found_agent((*argv, json.dumps(told)), name, **definition)
        self._offers.append((found, timeouts))
        return self._add(found, timeouts)

    def _add(self, found: FoundAgent, timeouts: dict[str, Any]) -> AcpHarness:
        host = self.house.host
        harness = AcpHarness(found, host)
        harness.timeouts = timeouts
        host.agent_list.add([harness])
        return harness

    async def connect(self, client_id: str = "one", *subscriptions: str) -> Client:
        client = await self._stack.enter_async_context(connecting(self.house.url, client_id))
        await client.initialize(*subscriptions)
        return client

    async def restart(self) -> None:
        """Stop the host and start it again, with the same agents."""
        await self.house.restart()
        for found, timeouts in self._offers:
            self._add(found, timeouts)

    async def session(self, client: Client, uri: str = ONE, provider: str = "quick", **params: Any) -> str:
        """A session with an agent, which the client follows, and which is not being created any more."""
        params = {"workingDirectory": self.folder.as_uri(), **params}
        assert await client.request("createSession", uri, provider=provider, **params) is None
        await client.subscribe(uri)
        await client.until(lambda: client.session(uri).lifecycle != "creating")
        return uri

    async def begun(self, client: Client, argv: tuple[str, ...] = QUICK, **told: Any) -> str:
        """Offer an agent that was told something, and make a session with it."""
        self.offer(argv, **told)
        return await self.session(client)


@pytest.fixture(autouse=True)
def no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly no test here looks at changes, and a git for each turn takes its time."""

    def nowhere(*_: object) -> None:
        return None

    monkeypatch.setattr(git, "find_program", nowhere)


@pytest.fixture
async def inn(tmp_path: Path) -> AsyncIterator[Inn]:
    """When it is closed, none of its agents may be left."""
    folder = tmp_path / "work"
    folder.mkdir()
    before = children()
    async with AsyncExitStack() as stack:
        house = await stack.enter_async_context(housing(MemoryStore, home=tmp_path / "home"))
        yield Inn(house, stack, folder)
    await until(lambda: children() <= before)


@pytest.fixture
async def client(inn: Inn) -> Client:
    return await inn.connect("one", "ahp-root://")


@pytest.fixture
def keep(tmp_path: Path) -> str:
    """Where the agent keeps its sessions."""
    folder = tmp_path / "kept"
    folder.mkdir()
    return str(folder)


async def back(inn: Inn) -> Client:
    """Restart the host, and follow the session again."""
    await inn.restart()
    return await inn.connect("again", ONE)


_TURNS = iter(range(1, 1 << 30))


async def begin(client: Client, session: str, text: str, **message: Any) -> str:
    """Begin a turn."""
    turn = f"t{next(_TURNS)}"
    await client.dispatch(session, "turnStarted", turnId=turn, userMessage={"text": text, **message})
    return turn


async def ended(client: Client, session: str, turn: str) -> Any:
    """The turn, once it is over."""
    await client.until(lambda: any(t.id == turn for t in client.session(session).turns))
    return next(t for t in client.session(session).turns if t.id == turn)


async def say(client: Client, session: str, text: str, **message: Any) -> Any:
    """A whole turn."""
    return await ended(client, session, await begin(client, session, text, **message))


async def pending(client: Client, session: str) -> Any:
    """The call that waits for a confirmation."""
    found: list[Any] = []

    def look() -> bool:
        turn = client.session(session).active_turn
        calls = calls_of(turn) if turn else []
        found[:] = [call for call in calls if type(call).__struct_config__.tag == "pending-confirmation"]
        return bool(found)

    await client.until(look)
    return found[0]


async def confirm(client: Client, session: str, call: Any, *, approved: bool = True, **fields: Any) -> None:
    how: dict[str, Any] = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    turn = client.session(session).active_turn
    assert turn is not None
    await client.dispatch(
        session,
        "toolCallConfirmed",
        turnId=turn.id,
        toolCallId=call.tool_call_id,
        approved=approved,
        **{**how, **fields},
    )


def notices(turn: Any) -> list[str]:
    """What the person was told beside the agent's words."""
    parts = [part for part in turn.response_parts if isinstance(part, SystemNotificationResponsePart)]
    return [part.content if isinstance(part.content, str) else part.content.markdown for part in parts]


def said(turn: Any) -> str:
    """The agent's words; none of a turn that has not begun."""
    return text_of(turn) if turn is not None else ""


def status(call: Any) -> str:
    return str(type(call).__struct_config__.tag)
