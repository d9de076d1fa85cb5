"""A host on an encrypted database, and clients that connect to its port."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from conformance.client import Client, connecting
from hosts import KEY, House, housing
from serai.store.sqlite.store import SqliteStore

ROOT = "ahp-root://"
ONE = "ahp-session:/one"

Connect: TypeAlias = Callable[..., Awaitable[Client]]
"""`connect(client_id, *subscriptions)`: a client that is initialized."""


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with housing(lambda: SqliteStore(tmp_path / "history.db", KEY)) as house:
        yield house


@pytest.fixture
async def connect(house: House) -> AsyncGenerator[Connect]:
    async with AsyncExitStack() as stack:

        async def connect(client_id: str = "one", *subscriptions: str, **options: Any) -> Client:
            client = await stack.enter_async_context(connecting(house.url, client_id, **options))
            await client.initialize(*subscriptions)
            return client

        yield connect


@pytest.fixture
async def client(connect: Connect) -> Client:
    """A client that follows the root channel."""
    return await connect("one", ROOT)


@pytest.fixture
async def session(client: Client) -> str:
    """A session with the demo agent that is ready, and that the client follows."""
    return await new_session(client)


async def new_session(client: Client, uri: str = ONE, **params: Any) -> str:
    """Create a session, follow it, and wait until it is ready."""
    assert await client.request("createSession", uri, **params) is None
    await client.subscribe(uri)
    await client.until(lambda: client.session(uri).lifecycle != "creating")
    return uri


async def say(client: Client, session: str, text: str, turn: str = "t1", **message: Any) -> None:
    """Begin a turn, and wait until it is over or asks something."""
    await client.dispatch(session, "turnStarted", turnId=turn, userMessage={"text": text, **message})
    await client.until(lambda: _has_come_to_rest(client, session, turn))


def _has_come_to_rest(client: Client, session: str, turn: str) -> bool:
    state = client.session(session)
    return any(t.id == turn for t in state.turns) or bool(state.summary.status & 16)


async def over(client: Client, session: str, turn: str = "t1") -> Any:
    """Wait until a turn has ended, and return it."""
    await client.until(lambda: any(t.id == turn for t in client.session(session).turns))
    return next(t for t in client.session(session).turns if t.id == turn)


@pytest.fixture
async def folder(client: Client, tmp_path: Path) -> Path:
    """The folder of a session."""
    folder = tmp_path / "work"
    folder.mkdir()
    await new_session(client, workingDirectory=folder.as_uri())
    return folder
