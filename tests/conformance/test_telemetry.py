"""What a host tells of itself, over the port."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from conformance.client import Client, Refused, connecting
from conformance.conftest import over, say
from hosts import WITHIN, House

TRACES = "ahp-otlp:/traces"
LOGS = "ahp-otlp:/logs/warn"


async def exported(client: Client, method: str) -> list[dict[str, Any]]:
    """What has come of a signal, once something has."""
    await client.until(lambda: any(n["method"] == method for n in client.notes))
    return [n for n in client.notes if n["method"] == method]


def spans(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        span
        for params in payloads
        for resource in params["payload"]["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


async def test_the_handshake_tells_where_telemetry_is(house: House) -> None:
    async with connecting(house.url, "fresh") as client:
        welcome = await client.initialize(TRACES)
        assert welcome["telemetry"] == {
            "logs": "ahp-otlp:/logs/{level}",
            "traces": TRACES,
            "metrics": "ahp-otlp:/metrics",
        }
        assert welcome["snapshots"] == []


async def test_a_turn_its_tool_calls_and_its_delivery_are_spans_without_content(
    client: Client, session: str
) -> None:
    assert await client.request("subscribe", TRACES) == {}
    await say(client, session, "say a canary sings")
    await over(client, session)
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(WITHIN):
        while not {"deliver", "invoke_agent demo"} <= {span["name"] for span in found}:
            await client.ping()
            found = spans(await exported(client, "otlp/exportTraces"))
    assert "canary" not in json.dumps(found)
    turn = next(span for span in found if span["name"] == "invoke_agent demo")
    delivery = next(span for span in found if span["name"] == "deliver")
    assert turn["parentSpanId"] == delivery["spanId"]
    assert turn["traceId"] == delivery["traceId"]


async def test_a_level_that_is_not_there_is_no_channel(client: Client) -> None:
    with pytest.raises(Refused) as refused:
        await client.request("subscribe", "ahp-otlp:/logs/loud")
    assert refused.value.code == -32008


async def test_telemetry_is_followed_again_after_a_reconnect(house: House, client: Client) -> None:
    await client.request("subscribe", TRACES)
    await client.close()
    async with connecting(house.url, client.state) as again:
        result = await again.reconnect(subscriptions=[TRACES])
        assert result.get("missing", []) == []
