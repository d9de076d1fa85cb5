"""Agents over ACP talk to each other through the tools that the host gives to each session."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from hosts import WITHIN
from relay.ports import OpenInn, open_inn, tools_of
from serai.acp.process.connection import Launch
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import FoundAgent
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.ahp.commands import CreateSessionParams
from serai.contract import DeliveryRecord, DeliveryState
from serai.harness.acp.harness import AcpHarness
from serai.machine.processes.processes import Processes

_MESSAGE = re.compile(r"msg_[0-9a-f]+")


class Players:
    """Starts scripted agents in the place of processes, and all else as the host does."""

    def __init__(self, processes: Processes, agents: Mapping[str, ScriptedAgent]) -> None:
        self._processes = processes
        self._agents = agents

    async def start(self, argv: Sequence[str], **how: Any) -> Any:
        agent = self._agents.get(argv[0])
        return await (agent.start(argv, **how) if agent else self._processes.start(argv, **how))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processes, name)


def offer(house: OpenInn, *agents: ScriptedAgent, **more: Any) -> None:
    """Offer scripted agents on the host, over ACP; with more that the catalogue says of them."""
    host = house.host
    players = Players(host.processes, {agent.id: agent for agent in agents})
    host.processes = cast("Processes", players)
    for agent in agents:
        way = Way(program=agent.id)
        definition = AgentDefinition(id=agent.id, label=agent.id.title(), ways=(way,), **more)
        launch = Launch(argv=(agent.id,), name=agent.id)
        found = FoundAgent(definition, installed=True, way=way, launch=launch)
        host.agent_list.add([AcpHarness(found, host)])


def servers(agent: ScriptedAgent) -> list[dict[str, Any]]:
    """The MCP servers that the agent was given with its last session."""
    return agent.asked("session/new")[-1]["params"]["mcpServers"]


class Anna(ScriptedAgent):
    """Asks in a room, and thanks directly."""

    def __init__(self) -> None:
        super().__init__(self.turn, name="anna", capabilities=EVERYTHING)

    async def turn(self, turn: ScriptedTurn) -> None:
        async with tools_of(servers(self)[-1]) as tools:
            if "reply in a thread" in turn.text:
                await tools("send_message", to="@ben", text="thank you")
            else:
                await tools("create_room", name="ops")
                await tools("send_message", to="#ops", text="is the disk full, @ben?")
        turn.say("done")


class Ben(ScriptedAgent):
    """Answers in the thread."""

    def __init__(self) -> None:
        super().__init__(self.turn, name="ben")
        self.thanked = asyncio.Event()

    async def turn(self, turn: ScriptedTurn) -> None:
        if "thank you" in turn.text:
            self.thanked.set()
            turn.say("you are welcome")
            return
        [message] = _MESSAGE.findall(turn.text)
        async with tools_of(servers(self)[-1]) as tools:
            await tools("reply", message=message, text="it is")
        turn.say("told")


async def test_two_agents_talk_in_a_room_a_thread_and_directly() -> None:
    anna, ben = Anna(), Ben()
    async with open_inn() as house:
        offer(house, anna, ben)
        await house.session("anna", "anna")
        session = await house.session("ben", "ben")
        assert [one["type"] for one in servers(anna)] == ["http"]
        assert [one.get("type", "stdio") for one in servers(ben)] == ["stdio"]
        about = await house.call("agents.get", agent="@anna")
        assert about.capabilities.messaging.send
        await house.send("@anna", "find out about the disk")
        async with asyncio.timeout(WITHIN):
            await ben.thanked.wait()
        await house.until(lambda: not session.is_busy)
        records: list[DeliveryRecord] = list((await house.call("deliveries.list")).deliveries)[::-1]
        told = [(house.workspace.identities.get(one.agent).handle, one.reason.value) for one in records]
        assert told == [("@anna", "dm"), ("@ben", "mention"), ("@anna", "thread-reply"), ("@ben", "dm")]
        for record in [await house.final(record.id) for record in records]:
            assert record.state == DeliveryState.DELIVERED
            assert record.evidence["turnId"]


async def test_a_server_that_someone_chose_goes_before_the_hosts_own() -> None:
    agent = ScriptedAgent(["hello"], name="anna", capabilities=EVERYTHING)
    async with open_inn() as house:
        offer(house, agent)
        mine = {"name": "serai", "command": "mine", "args": [], "env": []}
        params = CreateSessionParams(
            channel="ahp-session:/one", provider="anna", config={"mcpServers": [mine]}
        )
        session = await house.host.create(params, "client")
        await session.ready()
        assert servers(agent) == [mine]


async def test_the_token_of_an_agent_is_in_no_state_and_no_record() -> None:
    agent = ScriptedAgent(["hello"], name="anna", capabilities=EVERYTHING)
    async with open_inn() as house:
        offer(house, agent)
        session = await house.session("one", "anna")
        [header] = servers(agent)[-1]["headers"]
        token = header["value"].removeprefix("Bearer ")
        assert token.startswith("srt_")
        assert token not in str(house.host.state_of(session.uri))
        assert token not in str(await session.seat.records())
