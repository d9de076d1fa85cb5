"""Agents that are found in the background, while the host is at work."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

from conformance.client import Client
from harness.acp.conftest import QUICK, Inn, said, say
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import Finder
from serai.agents.catalogue.programs import Surroundings
from serai.harness.acp.harness import offer_installed

TOLD = '{"options": true}'


def program(folder: Path) -> AgentDefinition:
    """An agent that is installed as a program."""
    path = folder / "quick-agent"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 9.9 && exit\nexec {shlex.join(QUICK)} "$@"\n')
    path.chmod(0o755)
    return AgentDefinition(id="quick", label="Quick", ways=(Way(program=str(path), args=(TOLD,)),))


MISSING = AgentDefinition(id="missing", label="Missing", ways=(Way(program="/nowhere/at-all"),))


def finder(folder: Path) -> Finder:
    return Finder(Surroundings(environ={"PATH": "/usr/bin:/bin"}, home=folder))


async def test_what_is_installed_is_offered_and_what_is_not_is_not(
    inn: Inn, client: Client, tmp_path: Path
) -> None:
    host = inn.house.host
    host.look_for(offer_installed(host, [MISSING, program(tmp_path)], finder(tmp_path)))
    await client.until(lambda: len(client.root.agents) == 2)
    assert [(one.provider, one.display_name) for one in client.root.agents][1] == ("quick", "Quick")
    assert said(await say(client, await inn.session(client), "echo hi")) == "hi"


async def test_who_asks_for_an_agent_that_is_being_looked_for_waits(
    inn: Inn, client: Client, tmp_path: Path
) -> None:
    host = inn.house.host
    go = asyncio.Event()

    async def slowly() -> None:
        await go.wait()
        await offer_installed(host, [program(tmp_path)], finder(tmp_path))

    host.look_for(slowly())
    creating = asyncio.create_task(inn.session(client))
    await (await inn.connect("other")).ping()
    go.set()
    assert said(await say(client, await creating, "echo hi")) == "hi"


async def test_what_was_learned_of_an_agent_outlives_the_host(
    inn: Inn, client: Client, tmp_path: Path
) -> None:
    async def offer() -> None:
        await offer_installed(inn.house.host, [program(tmp_path)], finder(tmp_path))

    await offer()
    await client.until(lambda: len(client.root.agents) == 2)
    assert client.root.agents[1].models == []
    await inn.session(client)
    await client.until(lambda: client.root.agents[1].models)
    await inn.restart()
    await offer()
    again = await inn.connect("again", "ahp-root://")
    assert [model.id for model in again.root.agents[-1].models] == ["small", "large"]
