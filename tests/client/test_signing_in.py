"""What a client asks about signing in. The whole of it, with an agent, is in tests/harness and tests/cli."""

from __future__ import annotations

import asyncio

import pytest

from client.hosts import House, ScriptedHost, initialized, soon
from serai.errors import ProtocolError
from serai.host.turn import Turn

TERMINAL = {"title": "Sign in", "content": [], "claim": {"kind": "client", "clientId": "me"}, "exitCode": 0}


async def test_a_terminal_is_followed_and_its_uri_is_the_clients_choice() -> None:
    host = ScriptedHost()
    client = host.client()
    opening = asyncio.create_task(client.open())
    peer = await host.connection()
    peer.answer(await peer.expect("initialize"), initialized(1))
    await soon(opening)
    signing = asyncio.create_task(client.sign_in("claude", "tty", size=(100, 30)))
    asked = await peer.expect("serai/signIn")
    params = asked["params"]
    uri = params.pop("terminal")
    assert uri.startswith("ahp-terminal:/")
    assert params == {
        "channel": "ahp-root://",
        "provider": "claude",
        "methodId": "tty",
        "cols": 100,
        "rows": 30,
    }
    method = {"id": "tty", "kind": "terminal", "name": "Terminal"}
    peer.answer(asked, {"method": method, "terminal": uri})
    following = await peer.expect("subscribe")
    assert following["params"]["channel"] == uri
    peer.answer(following, {"snapshot": {"resource": uri, "state": TERMINAL, "fromSeq": 2}})
    begun = await soon(signing)
    assert begun.terminal is not None
    assert (begun.terminal.uri, begun.terminal.state.exit_code, begun.method.id) == (uri, 0, "tty")
    await client.close()


async def test_a_host_that_does_not_know_the_agent_says_so() -> None:
    async def agent(turn: Turn) -> None:
        await turn.say("hi")

    async with House(agent=agent) as house, house.client() as client:
        assert (await soon(client.sign_in_methods("agent"))).methods == []
        with pytest.raises(ProtocolError, match="nobody has to sign in"):
            await soon(client.sign_in("agent"))
        with pytest.raises(ProtocolError, match="there is no agent"):
            await soon(client.sign_in_methods("nobody"))
