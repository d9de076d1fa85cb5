"""The commands of the relay, each against a real port."""

from __future__ import annotations

import asyncio
import io
import re
from typing import Any

import pytest

from hosts import TOKEN, WITHIN
from relay.port import ports
from serai.cli import main
from serai.cli.relay import line_of_event


async def test_each_command_tells_what_its_method_returned(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ports() as port:
        await port.house.session("one")

        async def run(*words: Any, status: int = 0) -> str:
            reach = ["--url", port.url, "--token", TOKEN]
            assert await asyncio.to_thread(main, [*words, *reach]) == status
            return capsys.readouterr().out

        assert await run("rooms", "create", "ops", "--topic", "nights") == "#ops: nights  1 in it\n"
        assert await run("rooms", "join", "ops", "@demo") == "#ops: nights  2 in it\n"
        assert "@demo  accepted, waits for flush  manual" in await run(
            "send", "#ops", "later", "--mode", "manual"
        )
        assert "later" in await run("rooms", "read", "ops")
        [delivery] = re.findall(r"dlv_\w+", await run("deliveries", "--agent", "@demo"))
        assert "@demo  failed: cancelled" in await run("deliveries", "cancel", delivery)
        assert "@demo  failed: cancelled" in await run("deliveries", "retry", delivery, status=1)
        assert await run("deliveries", "flush", "@demo") == "There are no deliveries.\n"
        assert "later" in await run("search", "later")
        assert await run("inbox") == "Nothing waits.\n"
        assert (await run("token", "create", "--for", "ci", "--kind", "service")).startswith("srt_")
        assert "agent  @ci  service  2" in (listed := await run("token", "list"))
        assert await run("token", "revoke", listed.split()[0]) == "It is revoked.\n"
        assert len((await run("webhooks", "create", "http://127.0.0.1:9/x", "delivery.*")).split()) == 2
        assert "http://127.0.0.1:9/x  delivery.*" in await run("webhooks")
        assert await run("webhooks", "delete", "1") == "It is deleted.\n"
        await run("listen", "nope.x", status=1)
        monkeypatch.setattr("sys.stdin", io.StringIO("a value of many words\n"))
        await run("secrets", "words")
        assert "[secret:words]" in await run("send", "@ci", "say a value of many words", "--json")


async def test_each_event_is_a_line_also_that_someone_is_in_a_room() -> None:
    async with ports() as port:
        relay = await port.connect()
        before = (await relay.call("hello")).last_event_id
        await port.house.session("one")
        await relay.send("@demo", "hello")
        await port.house.call("rooms.create", name="ops")
        lines: list[str] = []
        async with asyncio.timeout(WITHIN):
            async for event in relay.follow(after=before):
                lines.append(line_of_event(event))
                if event.type == "room.joined" and event.data["name"] == "#ops":
                    break
        assert any("delivery.created  dlv_" in line and "  @demo  hello" in line for line in lines)
        assert lines[-1].endswith("room.joined  @alice")
        await relay.close()
