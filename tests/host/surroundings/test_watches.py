"""Watches of clients, when someone changes the folder under their hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from serai.ahp.commands import CreateResourceWatchParams, CreateSessionParams
from serai.ahp.types import ROOT
from serai.errors import ProtocolError
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.surroundings import watches as module
from serai.host.surroundings.watches import create_watch
from serai.host.turn import Turn
from serai.machine.files import Roots
from serai.store.memory import MemoryStore

WITHIN = 30.0


async def _answer(turn: Turn) -> None:
    del turn


@pytest.fixture
async def host(tmp_path: Path) -> AsyncGenerator[Host]:
    (tmp_path / "work").mkdir()
    host = Host(
        MemoryStore(), [CallbackHarness("agent", _answer)], lambda message: message, home=tmp_path / "home"
    )
    await host.open()
    async with asyncio.timeout(WITHIN):
        folder = (tmp_path / "work").as_uri()
        params = CreateSessionParams(channel="ahp-session:/s", provider="agent", working_directory=folder)
        await host.create(params, "c")
        yield host
    await host.close()


async def test_a_link_that_is_put_there_between_looking_and_watching_is_not_followed(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "a/b").mkdir(parents=True)
    (outside / "b").mkdir(parents=True)
    found = module._found

    def swapped(uri: str, roots: Roots) -> Path:
        result = found(uri, roots)
        (work / "a").rename(work / "away")
        (work / "a").symlink_to(outside)
        return result

    monkeypatch.setattr(module, "_found", swapped)
    params = CreateResourceWatchParams(channel=ROOT, uri=f"{work.as_uri()}/a/b", recursive=True)
    with pytest.raises(ProtocolError):
        await create_watch(host.files, params, "c")


async def test_a_watch_whose_folder_is_gone_leaves_nothing(host: Host, tmp_path: Path) -> None:
    (tmp_path / "work" / "a").mkdir()
    params = CreateResourceWatchParams(channel=ROOT, uri=(tmp_path / "work" / "a").as_uri())
    uri = await create_watch(host.files, params, "c")
    (tmp_path / "work" / "a").rmdir()
    while host.channels.get(uri) is not None or len(host.watches):  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0)
