"""A client that is strict: it checks every frame that a host sends, whatever the test is about."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from types import NoneType
from typing import Any, TypeAlias

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from conformance.strict import check_known, check_nulls
from hosts import TOKEN, WITHIN
from serai.ahp import commands as c, wire
from serai.ahp.actions import ActionEnvelope
from serai.ahp.channels import state_of
from serai.ahp.client import ClientState
from serai.ahp.codec import EXTENSIONS, NOTIFICATIONS, REQUESTS
from serai.ahp.types import ROOT, RootState, SessionState, ToolCallResponsePart

NOW = 9999
TELEMETRY = {"otlp/exportLogs", "otlp/exportTraces", "otlp/exportMetrics"}
FROM_HOST = {"action", "root/sessionAdded", "root/sessionRemoved", "root/sessionSummaryChanged", *TELEMETRY}


class Refused(Exception):
    """The host answered a request with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.data: Any = error.get("data")
        self.message: str = error["message"]


Answers: TypeAlias = Callable[[str, dict[str, Any]], Any]
"""The result of a method with some parameters. It raises `Refused` to say no."""


def serve_nothing(method: str, params: dict[str, Any]) -> Any:
    """Say no to whatever the host asks."""
    del params
    raise Refused({"code": -32601, "message": f"this client does not serve {method}"})


class Client:
    """One connection of a client.

    Args:
        socket: The connection.
        state: The client's view of the host, which outlives connections.
    """

    def __init__(self, socket: ClientConnection, state: ClientState) -> None:
        self.socket = socket
        self.state = state
        self.frames: list[str] = []
        """All that the host sent on this connection."""
        self.envelopes: list[dict[str, Any]] = []
        """The envelopes among them, those of a replay included."""
        self.notes: list[dict[str, Any]] = []
        """The other notifications among them."""
        self.nameless: list[dict[str, Any]] = []
        """Errors without an id: the host could not read what they answer."""
        self.within: float = WITHIN
        """Seconds after which something that was to happen has not."""
        self.answers: Answers = serve_nothing
        """Answers what the host asks."""
        self.asked: list[tuple[str, dict[str, Any]]] = []
        """What the host has asked: the methods and their parameters."""
        self._looked_at = 0
        self._ids = 0
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._last_seq = 0
        self._starts: dict[str, int] = {}
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @property
    def id(self) -> str:
        return self.state.client_id

    # -- reading -------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            async for frame in self.socket:
                assert isinstance(frame, str), "AHP is spoken in text frames"
                self.frames.append(frame)
                message = json.loads(frame)
                if "method" in message and "id" in message:
                    await self._answer(message, frame)
                else:
                    self._take(message, frame)
                self._news.set()
        except ConnectionClosed:
            pass
        finally:
            self._news.set()
            for _, answer in self._waiting.values():
                if not answer.done():
                    answer.cancel()

    async def _answer(self, question: dict[str, Any], frame: str) -> None:
        assert set(question) == {"jsonrpc", "id", "method", "params"}, frame
        check_nulls(question, frame)
        method, params = question["method"], question["params"]
        assert method.startswith("resource"), f"a host does not ask {method}"
        check_known(wire.convert(params, REQUESTS[method].params))
        self.asked.append((method, params))
        head = {"jsonrpc": "2.0", "id": question["id"]}
        try:
            answer = {**head, "result": self.answers(method, params)}
        except Refused as refused:
            answer = {**head, "error": {"code": refused.code, "message": refused.message}}
        await self.send(json.dumps(answer))

    def _take(self, message: dict[str, Any], frame: str) -> None:
        assert message.pop("jsonrpc") == "2.0", frame
        check_nulls(message, frame)
        if "method" in message:
            assert set(message) == {"method", "params"}, frame
            self._take_notification(message["method"], message["params"])
            return
        assert set(message) in ({"id", "result"}, {"id", "error"}), frame
        if message["id"] is None:
            self.nameless.append(message["error"])
            return
        method, answer = self._waiting.pop(message["id"])
        if "error" in message:
            assert {"code", "message"} <= set(message["error"]) <= {"code", "message", "data"}, frame
            if not answer.done():
                answer.set_exception(Refused(message["error"]))
            return
        self._check_result(method, message["result"])
        if not answer.done():
            answer.set_result(message["result"])

    def _take_notification(self, method: str, params: Any) -> None:
        assert method in FROM_HOST, f"a host does not send {method}"
        if params.get("rejectionReason", "").startswith("invalid_action"):
            # Only its sender, which is this client, could make sense of such an action.
            decoded = wire.convert({**params, "action": {"type": "unreadable"}}, ActionEnvelope)
        else:
            decoded = wire.convert(params, NOTIFICATIONS[method])
        if method != "action":
            check_known(decoded)
            assert params["channel"].startswith("ahp-otlp:" if method in TELEMETRY else ROOT)
            self.notes.append({"method": method, **params})
            return
        self._take_envelope(params, decoded)
        self.state.receive(decoded, NOW)

    def _take_envelope(self, params: dict[str, Any], envelope: ActionEnvelope) -> None:
        assert envelope.server_seq > self._last_seq, "numbers ascend"
        assert envelope.server_seq > self._starts.get(envelope.channel, -1)
        self._last_seq = envelope.server_seq
        if envelope.rejection_reason is None:
            check_known(envelope)
        else:
            assert envelope.origin is not None
            assert envelope.origin.client_id == self.id, "a rejection is for its sender alone"
        self.envelopes.append(params)

    def _check_result(self, method: str, result: Any) -> None:
        shape = (REQUESTS.get(method) or EXTENSIONS[method]).result
        if shape is NoneType:
            assert result is None
            return
        decoded = wire.convert(result, shape)
        check_known(decoded)
        match decoded:
            case c.InitializeResult():
                assert decoded.server_seq >= self._last_seq
                self._begin(decoded.snapshots)
                assert all(snapshot.from_seq == decoded.server_seq for snapshot in decoded.snapshots)
                self.state.initialized(decoded)
            case c.SubscribeResult(snapshot=c.Snapshot() as snapshot):
                self._begin([snapshot])
                self.state.subscribed(snapshot.resource, decoded, NOW)
            case c.ReconnectReplayResult():
                for plain, envelope in zip(result["actions"], decoded.actions, strict=True):
                    assert envelope.rejection_reason is None
                    assert envelope.server_seq > self.state.last_seen_server_seq
                    self._take_envelope(plain, envelope)
                self.state.reconnected(decoded, NOW)
            case c.ReconnectSnapshotResult():
                self._begin(decoded.snapshots)
                self.state.reconnected(decoded, NOW)
            case _:
                pass

    def _begin(self, snapshots: list[c.Snapshot]) -> None:
        for snapshot in snapshots:
            assert snapshot.from_seq >= self._last_seq, "a snapshot reflects all that came before it"
            self._starts[snapshot.resource] = snapshot.from_seq
            state = state_of(snapshot)
            assert state is not None
            check_known(state)

    # -- asking and telling --------------------------------------------------------------------------------

    async def send(self, frame: str | bytes) -> None:
        """Send a frame as it is."""
        await self.socket.send(frame)

    async def ask(self, method: str, channel: Any = ROOT, **params: Any) -> asyncio.Future[Any]:
        """Send a request; the answer is awaited later."""
        self._ids += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._ids] = method, answer
        params = {"channel": channel, **params}
        await self.send(json.dumps({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}))
        return answer

    async def request(self, method: str, channel: Any = ROOT, **params: Any) -> Any:
        """Send a request, and wait for its result.

        Raises:
            Refused: It was answered with an error.
        """
        answer = await self.ask(method, channel, **params)
        async with asyncio.timeout(self.within):
            await asyncio.wait({answer, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        self._complain()
        return answer.result()

    async def notify(self, method: str, **params: Any) -> None:
        await self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    async def dispatch(self, session: str, kind: str, /, *, seq: Any = None, **fields: Any) -> int:
        """Dispatch an action of the session channel; returns our number for it."""
        if seq is None:
            self.state._client_seq += 1
            seq = self.state._client_seq
        action = {"type": kind if "/" in kind else f"session/{kind}", **fields}
        await self.notify("dispatchAction", channel=session, clientSeq=seq, action=action)
        return seq

    async def initialize(self, *subscriptions: str, versions: tuple[str, ...] = ("0.2.0",)) -> Any:
        wanted = self.state.initialize(list(versions), list(subscriptions))
        return await self.request("initialize", **_fields(wanted))

    async def reconnect(self, **changes: Any) -> Any:
        return await self.request("reconnect", **{**_fields(self.state.reconnect()), **changes})

    async def subscribe(self, channel: str) -> Any:
        self.state.subscribe(channel)
        return (await self.request("subscribe", channel))["snapshot"]

    async def ping(self) -> None:
        """Whatever the host has done so far has arrived afterwards."""
        await self.request("ping")

    # -- hearing -------------------------------------------------------------------------------------------

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until something holds that frames can bring about."""
        async with asyncio.timeout(self.within):
            while not holds():
                self._complain()
                assert not self._reading.done(), f"the connection is gone: {self.socket.close_code}"
                self._news.clear()
                await self._news.wait()
        self._complain()

    async def hear(self, kind: str, /, **fields: Any) -> dict[str, Any]:
        """The next envelope with such an action, after the last one that was heard."""
        found: dict[str, Any] = {}

        def look() -> bool:
            while self._looked_at < len(self.envelopes):
                envelope = self.envelopes[self._looked_at]
                self._looked_at += 1
                if _fits(envelope, kind, fields):
                    found.update(envelope)
                    return True
            return False

        try:
            await self.until(look)
        except TimeoutError:
            heard = [envelope["action"]["type"] for envelope in self.envelopes]
            raise AssertionError(f"no {kind} {fields} among {heard[-30:]}") from None
        return found

    async def note(self, method: str, **fields: Any) -> dict[str, Any]:
        """A notification of the root channel with these fields, also one that came before."""
        found: list[dict[str, Any]] = []

        def look() -> bool:
            found.extend(n for n in self.notes if n["method"] == method and fields.items() <= n.items())
            return bool(found)

        await self.until(look)
        return found[0]

    def heard(self, kind: str, session: str | None = None) -> list[dict[str, Any]]:
        """All actions of a kind that came so far."""
        return [
            envelope["action"]
            for envelope in self.envelopes
            if envelope["action"]["type"] == f"session/{kind}" and session in {None, envelope["channel"]}
        ]

    def session(self, uri: str) -> SessionState:
        """What this client knows of a session."""
        state = self.state.confirmed(uri)
        assert isinstance(state, SessionState)
        return state

    @property
    def root(self) -> RootState:
        """What this client knows of the host."""
        state = self.state.confirmed(ROOT)
        assert isinstance(state, RootState)
        return state

    # -- ending --------------------------------------------------------------------------------------------

    async def closed(self) -> int | None:
        """Wait until the host closes the connection; the code that it gives."""
        async with asyncio.timeout(WITHIN):
            await asyncio.wait({self._reading})
            await self.socket.wait_closed()
        self._complain()
        return self.socket.close_code

    async def close(self) -> None:
        """Close the connection, and say whether any frame was not as it should be."""
        if not self._reading.done():
            await self.socket.close()
        async with asyncio.timeout(WITHIN):
            await asyncio.wait({self._reading})
        self._complain()

    def drop(self) -> None:
        """Be gone, without a goodbye."""
        self.socket.transport.abort()

    def _complain(self) -> None:
        if self._reading.done():
            with suppress(asyncio.CancelledError):
                self._reading.result()


@asynccontextmanager
async def connecting(
    url: str, client_id: str | ClientState = "one", *, token: str = TOKEN, **options: Any
) -> AsyncGenerator[Client]:
    """A client that is connected and has said nothing yet."""
    state = client_id if isinstance(client_id, ClientState) else ClientState(client_id)
    headers = {"Authorization": f"Bearer {token}"}
    async with asyncio.timeout(WITHIN):
        socket = await connect(
            url, additional_headers=headers, compression=None, ping_interval=None, max_size=None, **options
        )
    client = Client(socket, state)
    try:
        yield client
    finally:
        await client.close()


def text_of(turn: Any) -> str:
    """What an answer says: its Markdown parts, joined in order."""
    return "".join(getattr(part, "content", "") for part in turn.response_parts if hasattr(part, "id"))


def calls_of(turn: Any) -> list[Any]:
    """The tool calls of a turn."""
    return [part.tool_call for part in turn.response_parts if isinstance(part, ToolCallResponsePart)]


def timeless(state: Any) -> Any:
    """A state as JSON without the time of its last change, which every reducer takes from its own clock."""
    plain = wire.to_json(state)
    if "summary" in plain:
        plain["summary"].pop("modifiedAt")
    return plain


def _fields(params: Any) -> dict[str, Any]:
    fields = wire.to_json(params)
    return {name: value for name, value in fields.items() if name != "channel" and value is not None}


def _fits(envelope: dict[str, Any], kind: str, fields: dict[str, Any]) -> bool:
    action = envelope["action"]
    if action["type"] not in {kind, f"session/{kind}"}:
        return False
    return all({**envelope, **action}.get(name) == value for name, value in fields.items())
