"""Lost connections: what was missed, what was not answered, and what cannot be known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from client.hosts import House, Scripted, ScriptedHost, initialized, snapshot, soon
from serai.ahp import commands as c
from serai.ahp.types import ROOT
from serai.client import (
    AccessRefused,
    Client,
    ClientEvent,
    Connected,
    ConnectionLost,
    Disconnected,
    Rejected,
    SessionClient,
    SessionGone,
    TextAdded,
    ToolWaiting,
    TurnEnded,
    TurnStarted,
    TurnStream,
)
from serai.client.connection import backoff
from serai.errors import ProtocolError
from serai.host.turn import Turn

S = "ahp-session:/1"


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextAdded))


async def rest_of(turn: TurnStream) -> list[Any]:
    return [event async for event in turn]


async def unreachable() -> Any:
    raise ConnectionLost("no host answers")


class Gate:
    """An agent that says a word each time it is told to, and ends when it is told so."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str | None] = asyncio.Queue()

    async def answer(self, turn: Turn) -> None:
        while (word := await self.words.get()) is not None:
            await turn.say(word)


class TestOurHost:
    async def test_a_turn_goes_on_while_nobody_is_connected(self) -> None:
        gate = Gate()
        async with House(agent=gate.answer) as house, house.client() as client:
            session = await soon(client.create_session())
            turn = await soon(session.prompt("go"))
            gate.words.put_nowait("one ")
            assert isinstance(await soon(anext(turn)), TurnStarted)
            assert text_of([await soon(anext(turn))]) == "one "
            house.is_reachable = False
            house.cut()
            gate.words.put_nowait("two ")
            gate.words.put_nowait("three")
            gate.words.put_nowait(None)
            await soon(_idle(house, session.uri))
            house.is_reachable = True
            events = await soon(rest_of(turn))
            assert text_of(events) == "two three"
            assert events[-1] == TurnEnded("complete")
            assert (await soon(turn.result())).text == "one two three"

    async def test_an_action_without_a_connection_happens_when_the_host_is_back(self) -> None:
        async def agent(turn: Turn) -> None:
            await turn.say(turn.message.text)

        async with House(agent=agent) as house, house.client() as client:
            session = await soon(client.create_session())
            house.is_reachable = False
            house.cut()
            await soon(_event(client, Disconnected))
            prompt = asyncio.ensure_future(session.prompt("later"))
            listing = asyncio.ensure_future(client.list_sessions())
            await asyncio.sleep(0)
            assert session.state.active_turn is not None
            assert not prompt.done()
            house.is_reachable = True
            assert (await soon((await soon(prompt)).result())).text == "later"
            assert len(await soon(listing)) == 1

    async def test_a_restart_ends_the_turn_with_an_error_that_says_so(self) -> None:
        gate = Gate()
        async with House(agent=gate.answer) as house, house.client() as client:
            session = await soon(client.create_session())
            turn = await soon(session.prompt("go"))
            gate.words.put_nowait("half")
            assert isinstance(await soon(anext(turn)), TurnStarted)
            assert text_of([await soon(anext(turn))]) == "half"
            await soon(house.restart())
            events = await soon(rest_of(turn))
            assert text_of(events) == ""
            assert events[-1].state == "error"
            assert events[-1].error.error_type == "interrupted"
            assert (await soon((await soon(_later(session, gate))).result())).ok

    async def test_the_session_is_gone_when_the_host_is_back(self) -> None:
        gate = Gate()
        async with House(agent=gate.answer) as house, house.client() as client, house.client() as other:
            session = await soon(client.create_session())
            turn = await soon(session.prompt("go"))
            [link] = [one for one in house.links if one.peer.client_id == client.client_id]
            opener, client._opener = client._opener, unreachable
            link.transport.cut()
            await soon(_event(client, Disconnected))
            await soon(other.dispose_session(session.uri))
            client._opener = opener
            connected = await soon(_event(client, Connected))
            assert connected.lost == (session.uri,)
            with pytest.raises(SessionGone):
                await soon(turn.result())


async def _later(session: SessionClient, gate: Gate) -> TurnStream:
    gate.words.put_nowait(None)
    return await session.prompt("again")


async def _idle(house: House, uri: str) -> None:
    """Wait until the host has ended the turn of a session."""
    session = house.host.sessions.get(uri)
    assert session is not None
    while session.live.turn is not None:  # noqa: ASYNC110 - the host is in the same loop
        await asyncio.sleep(0)


async def _event(client: Client, kind: type[Any]) -> Any:
    """The next event of a kind."""
    found: asyncio.Future[ClientEvent] = asyncio.get_running_loop().create_future()

    def hear(event: ClientEvent) -> None:
        if isinstance(event, kind) and not found.done():
            found.set_result(event)

    stop = client.on_event(hear)
    try:
        return await found
    finally:
        stop()


class TestScripted:
    async def begin(
        self, host: ScriptedHost, client: Client, **state: Any
    ) -> tuple[Scripted, SessionClient, asyncio.Task[Any]]:
        """A client that follows one session, and its first connection."""
        opening = asyncio.ensure_future(client.open())
        peer = await host.connection()
        hello = await peer.expect("initialize")
        assert hello["params"]["initialSubscriptions"] == [S]
        assert hello["params"]["protocolVersions"] == ["0.2.0"]
        peer.answer(hello, initialized(10, snapshot(10, **state)))
        await soon(opening)
        return peer, await soon(client.open_session(S)), opening

    async def test_replay_then_live_without_a_word_twice(self) -> None:
        host = ScriptedHost()
        async with _Closing(host.client(S)) as client:
            peer, session, _ = await self.begin(host, client)
            prompt = asyncio.ensure_future(session.prompt("hi"))
            dispatched = await peer.expect("dispatchAction")
            turn_id = dispatched["params"]["action"]["turnId"]
            peer.act(11, dispatched["params"]["action"], dispatched)
            turn = await soon(prompt)
            part = {"kind": "markdown", "id": "p", "content": "a"}
            peer.act(12, {"type": "session/responsePart", "turnId": turn_id, "part": part})
            delta = {"type": "session/delta", "turnId": turn_id, "partId": "p"}
            peer.act(13, {**delta, "content": "b"})
            seen = [await soon(anext(turn)), await soon(anext(turn))]
            peer.cut()
            peer = await host.connection()
            again = await peer.expect("reconnect")
            assert again["params"]["lastSeenServerSeq"] == 13
            assert again["params"]["subscriptions"] == [S]
            missed = [peer.envelope(14, {**delta, "content": "c"})]
            peer.answer(again, {"type": "replay", "actions": missed, "missing": []})
            peer.act(15, {**delta, "content": "d"})
            peer.act(16, {"type": "session/turnComplete", "turnId": turn_id})
            seen += await soon(rest_of(turn))
            assert text_of(seen) == "abcd"
            assert (await soon(turn.result())).text == "abcd"

    async def test_a_snapshot_is_compared_with_what_was_told(self) -> None:
        host = ScriptedHost()
        async with _Closing(host.client(S)) as client:
            active = {
                "id": "t",
                "userMessage": {"text": "hi"},
                "responseParts": [{"kind": "markdown", "id": "p", "content": "one "}],
            }
            peer, session, _ = await self.begin(host, client, activeTurn=active)
            turn = session.follow_turn("t")
            seen = [await soon(anext(turn)), await soon(anext(turn))]
            peer.cut()
            peer = await host.connection()
            again = await peer.expect("reconnect")
            waiting = {
                "status": "pending-confirmation",
                "toolCallId": "c",
                "toolName": "bash",
                "displayName": "Run",
                "invocationMessage": "ls",
            }
            parts = [
                {"kind": "markdown", "id": "p", "content": "one two "},
                {"kind": "toolCall", "toolCall": waiting},
                {"kind": "markdown", "id": "r", "content": "three"},
            ]
            state = snapshot(500, activeTurn={**active, "responseParts": parts})
            peer.answer(again, {"type": "snapshot", "snapshots": [state]})
            seen += [await soon(anext(turn)) for _ in range(3)]
            assert text_of(seen) == "one two three"
            assert isinstance(seen[3], ToolWaiting)
            peer.act(501, {"type": "session/delta", "turnId": "t", "partId": "r", "content": "!"})
            assert await soon(anext(turn)) == TextAdded("r", "!")
            # A turn that ended, and one that began, while nobody looked.
            turns = session.turns()
            assert (await soon(anext(turns))).id == "t"
            peer.cut()
            peer = await host.connection()
            again = await peer.expect("reconnect")
            done = {**active, "responseParts": [parts[0]], "state": "complete"}
            other = {"id": "u", "userMessage": {"text": "x"}, "responseParts": [], "state": "complete"}
            running = {"id": "v", "userMessage": {"text": "y"}, "responseParts": []}
            state = snapshot(600, turns=[done, other], activeTurn=running)
            peer.answer(again, {"type": "snapshot", "snapshots": [state]})
            assert (await soon(rest_of(turn)))[-1] == TurnEnded("complete")
            assert [(await soon(anext(turns))).id for _ in range(2)] == ["u", "v"]
            await turns.aclose()

    async def test_an_unanswered_action_is_sent_again_under_its_number(self) -> None:
        host = ScriptedHost()
        async with _Closing(host.client(S)) as client:
            peer, session, _ = await self.begin(host, client)
            change = asyncio.ensure_future(session.set_title("new"))
            first = await peer.expect("dispatchAction")
            peer.cut()
            peer = await host.connection()
            peer.answer(await peer.expect("reconnect"), {"type": "replay", "actions": [], "missing": []})
            second = await peer.expect("dispatchAction")
            assert second == first
            assert session.state.summary.title == "new"
            peer.act(11, second["params"]["action"], second)
            await soon(change)

    @pytest.mark.parametrize("taken", [True, False])
    async def test_a_duplicate_is_done_but_for_a_prompt_that_began_no_turn(self, taken: bool) -> None:
        host = ScriptedHost()
        async with _Closing(host.client(S)) as client:
            peer, session, _ = await self.begin(host, client)
            prompt = asyncio.ensure_future(session.prompt("hi"))
            first = await peer.expect("dispatchAction")
            title = asyncio.ensure_future(session.set_title("new"))
            await peer.expect("dispatchAction")
            peer.cut()
            peer = await host.connection()
            again = await peer.expect("reconnect")
            # Past the replay: only the state can tell. A host that is asked again knows the number.
            turn = {"id": first["params"]["action"]["turnId"], "userMessage": {"text": "hi"}}
            state: dict[str, Any] = {"activeTurn": {**turn, "responseParts": []}} if taken else {}
            peer.answer(again, {"type": "snapshot", "snapshots": [snapshot(20, **state)]})
            for number in (21, 22):
                repeat = await peer.expect("dispatchAction")
                peer.act(number, repeat["params"]["action"], repeat, reason="duplicate")
            await soon(title)
            if taken:
                assert (await soon(prompt)).id == turn["id"]
                return
            with pytest.raises(Rejected, match="duplicate"):
                await soon(prompt)

    async def test_what_a_host_that_forgot_the_client_did_not_answer_is_not_done_again(self) -> None:
        host = ScriptedHost()
        async with _Closing(host.client(S)) as client:
            waiting = {
                "status": "pending-confirmation",
                "toolCallId": "c",
                "toolName": "bash",
                "displayName": "Run",
                "invocationMessage": "ls",
            }
            active = {
                "id": "t",
                "userMessage": {"text": "hi"},
                "responseParts": [{"kind": "toolCall", "toolCall": waiting}],
            }
            peer, session, _ = await self.begin(host, client, activeTurn=active)
            title = asyncio.ensure_future(session.set_title("new"))
            await peer.expect("dispatchAction")
            approval = asyncio.ensure_future(session.approve("c"))
            await peer.expect("dispatchAction")
            peer.cut()
            peer = await host.connection()
            peer.fail(await peer.expect("reconnect"), -32008, "who are you")
            hello = await peer.expect("initialize")  # on the same connection
            assert hello["params"]["initialSubscriptions"] == [S]
            peer.answer(hello, initialized(3, snapshot(3, activeTurn=active)))
            for unknown in (title, approval):
                with pytest.raises(ConnectionLost, match="outcome is not known"):
                    await soon(unknown)
            assert session.state.summary.title == "A session"
            title = asyncio.ensure_future(session.set_title("new"))
            again = await peer.expect("dispatchAction")
            assert again["params"]["clientSeq"] == 3  # our numbers go on
            peer.act(4, again["params"]["action"], again)
            await soon(title)

    async def test_a_request_is_asked_again_and_a_created_session_is_no_error(self) -> None:
        host = ScriptedHost()
        async with _Closing(host.client(S)) as client:
            peer, _, _ = await self.begin(host, client)
            creating = asyncio.ensure_future(client.create_session("demo", uri="ahp-session:/2"))
            await peer.expect("createSession")
            peer.cut()
            peer = await host.connection()
            peer.answer(await peer.expect("reconnect"), {"type": "replay", "actions": [], "missing": []})
            peer.fail(await peer.expect("createSession"), -32003, "it exists")
            subscribe = await peer.expect("subscribe")
            peer.cut()  # before the answer: it is asked again, too
            peer = await host.connection()
            again = await peer.expect("reconnect")
            assert again["params"]["subscriptions"] == [S]
            peer.answer(again, {"type": "replay", "actions": [], "missing": []})
            subscribe = await peer.expect("subscribe")
            peer.answer(subscribe, {"snapshot": snapshot(10, "ahp-session:/2", lifecycle="creating")})
            peer.act(11, {"type": "session/ready"}, channel="ahp-session:/2")
            session = await soon(creating)
            assert session.state.lifecycle == "ready"

    async def test_another_version_is_refused_with_a_remedy(self) -> None:
        host = ScriptedHost()
        client = host.client()
        opening = asyncio.ensure_future(client.open())
        peer = await host.connection()
        peer.fail(await peer.expect("initialize"), -32005, "no", {"supportedVersions": ["^9.0.0"]})
        with pytest.raises(AccessRefused, match="does not speak AHP"):
            await soon(opening)
        await client.close()

    async def test_a_client_id_that_belongs_to_another_ends_the_tries(self) -> None:
        host = ScriptedHost()
        async with _Closing(host.client(S)) as client:
            peer, session, _ = await self.begin(host, client)
            events: list[ClientEvent] = []
            client.on_event(events.append)
            title = asyncio.ensure_future(session.set_title("new"))
            await peer.expect("dispatchAction")
            peer.cut()
            peer = await host.connection()
            peer.fail(await peer.expect("reconnect"), -32009, "not yours")
            with pytest.raises(AccessRefused):
                await soon(title)
            assert [type(event) for event in events] == [Disconnected, Disconnected]
            assert events[-1] == Disconnected("not yours", None)
            assert isinstance(client.failure, AccessRefused)

    async def test_it_gives_up_when_the_delays_end(self) -> None:
        host = ScriptedHost()
        client = Client(host.opener, client_id="me", subscriptions=[S], delays=lambda: iter([0.0, 0.0]))
        async with _Closing(client):
            peer, session, _ = await self.begin(host, client)
            host.is_reachable = False
            events = client.events()
            first = asyncio.ensure_future(anext(events))
            waiting = asyncio.ensure_future(session.until(lambda _state: False))
            await asyncio.sleep(0)
            peer.cut()
            with pytest.raises(ConnectionLost, match="gave up: no host answers"):
                await soon(waiting)
            assert await soon(first) == Disconnected("the connection to the host broke", 0.0)
            assert await soon(anext(events)) == Disconnected("no host answers", 0.0)
            assert await soon(anext(events)) == Disconnected("gave up: no host answers", None)
            with pytest.raises(ConnectionLost, match="gave up"):
                await soon(anext(events))

    async def test_the_hosts_requests_are_answered(self) -> None:
        async def read(params: c.ResourceReadParams) -> c.ResourceReadResult:
            if params.uri == "virtual:/secret":
                raise ProtocolError("not that one", number=-32009)
            if params.uri == "virtual:/broken":
                raise ValueError("oh")
            return c.ResourceReadResult(data=params.uri, encoding="utf-8")

        host = ScriptedHost()
        async with _Closing(host.client(S)) as client:
            client.handle("resourceRead", read)
            with pytest.raises(ValueError, match="never asks"):
                client.handle("createSession", read)
            peer, _, _ = await self.begin(host, client)

            async def ask(method: str, uri: str) -> Any:
                params = {"channel": ROOT, "uri": uri}
                peer.send({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
                return await peer.response()

            assert (await ask("resourceRead", "virtual:/a"))["result"]["data"] == "virtual:/a"
            assert (await ask("resourceRead", "virtual:/secret"))["error"]["code"] == -32009
            assert (await ask("resourceRead", "virtual:/broken"))["error"]["code"] == -32603
            assert (await ask("resourceList", "virtual:/"))["error"]["code"] == -32601
            assert (await ask("resource/dance", "virtual:/"))["error"]["code"] == -32601
            peer.send({"jsonrpc": "2.0", "id": 8, "method": "resourceRead", "params": {"channel": ROOT}})
            assert (await peer.response())["error"]["code"] == -32602
            # What is neither of ours nor readable is passed over.
            peer.send({"jsonrpc": "2.0", "method": "something/new", "params": {}})
            peer.send({"jsonrpc": "2.0", "id": 99, "result": None})
            peer.send([1, 2])
            peer.act(11, {"type": "session/newer", "what": 1})
            ping = asyncio.ensure_future(client.ping())
            peer.answer(await peer.expect("ping"), None)
            await soon(ping)


class _Closing:
    """A client that is closed at the end; opening it is the test's."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __aenter__(self) -> Client:
        return self.client

    async def __aexit__(self, *_error: object) -> None:
        await soon(self.client.close())


def test_delays_grow_to_a_cap_and_differ() -> None:
    delays: Iterator[float] = backoff(first=1.0, cap=8.0)
    found = [next(delays) for _ in range(50)]
    assert 0.5 <= found[0] <= 1.0
    assert 1.0 <= found[1] <= 2.0
    assert all(4.0 <= delay <= 8.0 for delay in found[3:])
    assert len(set(found)) > 40
