"""A stream that one task follows and another closes."""

from __future__ import annotations

import asyncio

import pytest

from agents.players import Players
from serai import agents
from serai.agents import TextAdded
from serai.agents.ask.stream import AgentStream


class Follower:
    """Follows a stream to its end in a task of its own."""

    def __init__(self, stream: AgentStream) -> None:
        self.texts: list[str] = []
        self.waits = asyncio.Event()
        self.task = asyncio.create_task(self._follow(stream))

    async def _follow(self, stream: AgentStream) -> None:
        async for event in stream:
            if isinstance(event, TextAdded):
                self.texts.append(event.text)
            if self.texts[-1:] == ["waiting"]:
                self.waits.set()

    async def waiting(self) -> None:
        async with asyncio.timeout(20):
            await self.waits.wait()


async def test_closing_ends_the_iteration_elsewhere_and_the_turn(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        stream = session.stream("wait")
        follower = Follower(stream)
        await follower.waiting()
        async with asyncio.timeout(20):
            await stream.close()
            await follower.task
        assert follower.texts == ["waiting"]
        assert (await session.ask("echo on")).text == "on"
    assert players.methods.count("session/cancel") == 1


async def test_when_it_is_closed_its_own_agent_is_gone(players: Players) -> None:
    stream = agents.stream("player", "wait", **players.options)
    follower = Follower(stream)
    await follower.waiting()
    async with asyncio.timeout(20):
        await asyncio.gather(stream.close(), stream.close(), stream.aclose())
        await follower.task
    assert players.methods.count("session/cancel") == 1
    assert [event async for event in stream] == []


async def test_it_may_be_closed_while_the_agent_starts(players: Players) -> None:
    stream = agents.stream(players.add("silent", silent=True), "wait", **players.options)
    follower = Follower(stream)
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await stream.close()
        await follower.task
    assert follower.texts == []


async def test_whoever_waits_for_the_result_is_told_that_there_is_none(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        stream = session.stream("wait")
        async for event in stream:
            if isinstance(event, TextAdded):
                break
        waiting = asyncio.create_task(stream.result())
        await asyncio.sleep(0)
        async with asyncio.timeout(20):
            await stream.close()
            with pytest.raises(RuntimeError, match="closed before its end"):
                await waiting


async def test_to_cancel_the_follower_is_still_to_cancel_it(players: Players) -> None:
    stream = agents.stream("player", "wait", **players.options)
    follower = Follower(stream)
    await follower.waiting()
    follower.task.cancel()
    async with asyncio.timeout(20):
        await stream.close()
        with pytest.raises(asyncio.CancelledError):
            await follower.task


async def test_two_cannot_follow_it(players: Players) -> None:
    async with agents.session("player", **players.options) as session, session.stream("wait") as stream:
        follower = Follower(stream)
        await follower.waiting()
        with pytest.raises(RuntimeError, match="another task"):
            await anext(stream)
        assert not follower.task.done()
        await stream.close()
        await follower.task
