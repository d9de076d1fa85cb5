"""Tokens: what each kind opens, what becomes of a revoked one, and secrets that the owner registers."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hosts import KEY, TOKEN, WITHIN
from relay.port import IMMEDIATE, Heard, able, ports
from relay.workspaces import Inn, inn
from serai.client.address import HostAddress
from serai.client.connection import websocket_opener
from serai.contract import DeliveryState, Role, to_wire
from serai.errors import AccessRefused, ConnectionLost, Forbidden, InvalidParams, SeraiError
from serai.relay.harness import define_harness
from serai.relay.sdk import Relay
from serai.relay.tokens import Caller
from serai.store.sqlite.store import SqliteStore

VALUE = "correct horse battery"


async def test_each_token_says_who_calls_and_only_the_owner_s_opens_ahp() -> None:
    async with ports() as port:
        tokens = {
            Role.OWNER: TOKEN,
            Role.AGENT: await port.token("worker"),
            Role.OBSERVER: (await port.house.call("tokens.create")).token,
        }
        for role, token in tokens.items():
            async with await port.connect(token) as relay:
                hello = await relay.call("hello")
                assert hello.role == role
                name = hello.identity.name if hello.identity else None
                assert name == {Role.OWNER: "alice", Role.AGENT: "worker", Role.OBSERVER: None}[role]
        for token in (tokens[Role.AGENT], tokens[Role.OBSERVER]):
            with pytest.raises(AccessRefused):
                await websocket_opener(HostAddress(f"{port.url}/ahp", token))()
        with pytest.raises(AccessRefused):
            await Relay.connect(port.url, "srt_" + "x" * 43)


async def test_what_a_participant_is_says_the_owner_and_not_the_holder_of_its_token(house: Inn) -> None:
    for kind in ("agent", "service"):
        await house.call("tokens.create", agent=f"a-{kind}", kind=kind)
        given = {"name": f"a-{kind}", "kind": "service", "metadata": {"tags": ["admin"], "of": "me"}}
        caller, declared = house.agent(f"@a-{kind}"), to_wire(able(IMMEDIATE))
        found = await house.call("sessions.register", caller, identity=given, capabilities=declared)
        assert (found.identity.kind, found.identity.metadata) == (kind, {"of": "me"})


async def test_with_a_revoked_token_nothing_is_heard_received_or_called_any_more() -> None:
    heard, events = Heard(), list[str]()
    async with ports() as port:
        made = await port.house.call("tokens.create", agent="worker")
        relay = await port.connect(made.token)
        await relay.register(define_harness("worker", heard, capabilities=able(IMMEDIATE)))
        await relay.on("message.created", lambda event: events.append(event.id))
        await port.house.call("tokens.revoke", id=made.info.id)
        [record] = (await port.house.send("@worker", "too late")).deliveries
        async with asyncio.timeout(WITHIN):
            await relay.closed()
        assert (await port.house.delivery(record.id)).state != DeliveryState.DELIVERED
        assert (heard.texts, events) == ([], [])
        with pytest.raises(ConnectionLost):
            await relay.call("hello")
        await relay.close()


async def test_a_registered_secret_is_masked_everywhere_and_kept_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "serai.db"
    async with inn(store=SqliteStore(path, KEY)) as house:
        await house.session("one")
        result = await house.call("secrets.register", name="horse", value=VALUE)
        assert VALUE not in msgspec.json.encode(result).decode()
        [record] = (await house.send("@demo", f"say {VALUE}", waitFor="answered")).deliveries
        assert record.answer is not None
        assert "[secret:horse]" in record.answer.text
        rows = await house.store.relay(
            "messages_by_number", str(list(range(house.host.journal.last_seq + 1)))
        )
        journal = await house.store.replay(
            ["serai-relay"], after=0, until=1 << 40, max_rows=10_000, max_bytes=1 << 40
        )
        assert VALUE.encode() not in b"".join(
            [data for _, data in rows] + [row.action for row in journal or ()]
        )
    assert VALUE not in caplog.text


@pytest.mark.parametrize("params", [{"name": "x", "value": "short"}, {"name": " ", "value": VALUE}])
async def test_what_cannot_be_masked_is_refused(house: Inn, params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams) as refused:
        await house.call("secrets.register", **params)
    assert params["value"] not in str(refused.value)


async def test_only_the_owner_registers_secrets(house: Inn) -> None:
    await house.session("one")
    for caller in (house.agent("@demo"), Caller(Role.OBSERVER)):
        with pytest.raises(Forbidden):
            await house.call("secrets.register", caller, name="horse", value=VALUE)


async def test_a_refusal_of_a_secret_does_not_echo_it(house: Inn) -> None:
    with pytest.raises(SeraiError) as refused:
        await house.call("secrets.register", name=VALUE, value=7)
    assert VALUE not in str(refused.value)
