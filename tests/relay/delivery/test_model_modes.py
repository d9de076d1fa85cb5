"""When a message of the relay surfaces in a model session: the five modes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from harness.conversation import calls
from harness.model.model_server import Call, ModelScriptServer, Reply, model_server
from harness.model.servers import model_harness
from hosts import WITHIN
from relay.workspaces import Inn, inn
from serai.ahp.commands import CreateSessionParams
from serai.contract import DeliveryState
from serai.host.session.session import Session
from serai.redact import Redactor

READ = Call("read_file", {"path": "a.txt"})


@asynccontextmanager
async def modelled(folder: Path, *script: Reply) -> AsyncGenerator[tuple[Inn, Session, ModelScriptServer]]:
    """A model session on a host with its relay."""
    async with model_server(script) as server:
        redactor = Redactor()
        harness = model_harness(redactor, server.base_url)
        async with inn(harnesses=[harness], redactor=redactor) as house:
            params = CreateSessionParams(
                channel="ahp-session:/one", provider="model", working_directory=folder.as_uri()
            )
            session = await house.host.create(params, "client")
            async with asyncio.timeout(WITHIN):
                await session.ready()
            yield house, session, server
        await harness.close()


def heard(server: ModelScriptServer, request: int) -> str:
    """The last words of a person that a request holds."""
    return [m["content"] for m in server.bodies[request]["messages"] if m["role"] == "user"][-1]


async def test_immediate_breaks_off_the_answer_and_is_answered_itself(tmp_path: Path) -> None:
    async with modelled(tmp_path, Reply(text=["Well, "], stall=True)) as (house, session, server):
        house.say(session, "Tell me all")
        async with asyncio.timeout(WITHIN):
            await server.spoke.wait()
        [record] = (await house.send("@model", "stop that", mode="immediate")).deliveries
        record = await house.final(record.id)
        assert (record.state, record.evidence["interrupted"]) == (DeliveryState.DELIVERED, "said")
        await house.until(lambda: len(session.live.head.turns) == 2)
        assert heard(server, 1).endswith("stop that")


async def test_next_tool_call_comes_before_the_call_that_the_receipt_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    gate = asyncio.Event()
    script = (Reply(text=["Hm."], calls=[READ], gate=gate), Reply(text=["Then not."]))
    async with modelled(tmp_path, *script) as (house, session, server):
        house.say(session, "Read it")
        async with asyncio.timeout(WITHIN):
            await server.spoke.wait()
        [record] = (await house.send("@model", "not that file", mode="next-tool-call")).deliveries
        assert record.waits_for == "next-tool-call"
        gate.set()
        record = await house.final(record.id)
        await house.until(lambda: session.live.head.turns)
        [call] = calls(session.live.head.turns[0])
        assert record.state == DeliveryState.DELIVERED
        assert record.evidence["toolCallId"] == call.tool_call_id
        assert heard(server, 1).endswith("not that file")
        [told] = [m["content"] for m in server.bodies[1]["messages"] if m["role"] == "tool"]
        assert "Not run: a message came in first." in told
