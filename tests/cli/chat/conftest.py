"""A host that the chats of this folder share, and chats with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli.programs import Seat, running, seated


@pytest.fixture(scope="session")
def inn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of a host that runs."""
    home = tmp_path_factory.mktemp("inn")
    with asyncio.Runner() as runner:
        host = running("serve", "--port", "0", home=home)
        program = runner.run(host.__aenter__())
        runner.run(program.says("address"))
        yield home
        runner.run(host.__aexit__(None, None, None))


@asynccontextmanager
async def chatting(
    home: Path, *words: str, size: tuple[int, int] = (90, 40), **environ: str
) -> AsyncGenerator[Seat]:
    """A chat with the demo agent of a host that runs."""
    async with seated("chat", "--agent", "demo", *words, home=home, size=size, **environ) as seat:
        await seat.sees("^>$")
        yield seat
