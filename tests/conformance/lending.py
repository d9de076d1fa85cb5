"""A client that lends its tools to a session."""

from __future__ import annotations

from typing import Any

from conformance.client import Client

TOOLS = [{"name": "lookup", "title": "Look it up", "inputSchema": {"type": "object"}}]


async def claim(client: Client, session: str, **more: Any) -> None:
    active = {"clientId": client.id, "tools": TOOLS, **more}
    await client.dispatch(session, "activeClientChanged", activeClient=active)
    await client.hear("activeClientChanged")


async def begin(client: Client, session: str, text: str = "client tool lookup water") -> dict[str, Any]:
    """Begin a turn that calls the client's tool; the call as it starts."""
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": text})
    return (await client.hear("toolCallStart"))["action"]


def complete(call: dict[str, Any], **result: Any) -> dict[str, Any]:
    whole = {"success": True, "pastTenseMessage": "Looked it up", **result}
    return {"turnId": "t1", "toolCallId": call["toolCallId"], "result": whole}
