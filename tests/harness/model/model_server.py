"""A server of models on loopback that follows a script: it speaks OpenAI's dialect, well or badly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@dataclass(frozen=True)
class Call:
    """A tool call of a reply. Arguments are sent as they are, also when they are no JSON."""

    name: str
    arguments: str | dict[str, Any]
    id: str = "call_1"


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    text: Sequence[str] = ()
    """Pieces of the answer; each is a chunk of its own."""
    reasoning: Sequence[str] = ()
    calls: Sequence[Call] = ()
    finish: str | None = None
    """Why it stopped; without it `tool_calls` or `stop`, as it should be."""
    usage: dict[str, Any] | None = field(default_factory=lambda: USAGE)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    error: str = "scripted"
    """What the body of a status other than 200 says."""
    stall: bool = False
    """Whether it falls silent after its text, until the client is gone or the server is closed."""
    silent: bool = False
    """Whether it falls silent before it answers at all."""
    drop: bool = False
    """Whether it closes the connection after its text, without an end."""
    cut_off: bool = False
    """Whether it ends the stream after its text as if it were whole, without saying why it stopped."""
    gate: asyncio.Event | None = None
    """What it waits for after its text."""


class ModelScriptServer:
    """The server: what it was asked, and what it will answer. When the script has ended, it says `done`."""

    def __init__(self, script: Sequence[Reply]) -> None:
        self.script = list(script)
        self.bodies: list[dict[str, Any]] = []
        """What was asked, in its order."""
        self.headers: list[dict[str, str]] = []
        self.asked = asyncio.Event()
        """Set when a request has come."""
        self.spoke = asyncio.Event()
        """Set when the text of a reply has been sent."""
        self.hung_up = asyncio.Event()
        """Set when a client is gone before its reply was whole."""
        self.base_url = ""
        self.answer: Callable[[dict[str, Any]], Reply] | None = None
        """Says what to answer, given what was asked, instead of the script."""
        self._closing = asyncio.Event()

    @property
    def requests(self) -> int:
        """How many requests have come."""
        return len(self.bodies)

    def close(self) -> None:
        """Let go of the replies that stall."""
        self._closing.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.headers.append(headers)
        self.bodies.append(json.loads(body))
        self.asked.set()
        if self.answer is not None:
            reply = self.answer(self.bodies[-1])
        else:
            reply = self.script.pop(0) if self.script else Reply(text=["done"])
        if reply.silent:
            await self._wait(reader)
            return False
        if reply.status != 200:
            await _refuse(writer, reply)
            return True
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        model = self.bodies[-1].get("model", "scripted")
        for delta in _deltas(reply):
            _send(writer, model, delta)
        await writer.drain()
        self.spoke.set()
        if reply.gate is not None:
            await reply.gate.wait()
        if reply.stall:
            await self._wait(reader)
        if reply.stall or reply.drop:
            return False
        if not reply.cut_off:
            _send(writer, model, {}, reply.finish or ("tool_calls" if reply.calls else "stop"))
            if reply.usage is not None:
                _event(writer, json.dumps({**_head(model), "choices": [], "usage": reply.usage}))
            _event(writer, "[DONE]")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _wait(self, reader: asyncio.StreamReader) -> None:
        """Be silent until the client is gone."""
        gone = asyncio.ensure_future(reader.read())
        closing = asyncio.ensure_future(self._closing.wait())
        await asyncio.wait([gone, closing], return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            self.hung_up.set()
        for waiting in (gone, closing):
            waiting.cancel()
        await asyncio.gather(gone, closing, return_exceptions=True)


def _deltas(reply: Reply) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in reply.reasoning]
    deltas += [{"content": piece} for piece in reply.text]
    for index, call in enumerate(reply.calls):
        given = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
        function = {"name": call.name, "arguments": given}
        deltas.append(
            {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        )
    return deltas


def _head(model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}


def _send(writer: asyncio.StreamWriter, model: str, delta: dict[str, Any], finish: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    _event(writer, json.dumps({**_head(model), "choices": [choice]}))


def _event(writer: asyncio.StreamWriter, data: str) -> None:
    chunk = f"data: {data}\n\n".encode()
    writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))


async def _refuse(writer: asyncio.StreamWriter, reply: Reply) -> None:
    body = json.dumps({"error": {"message": reply.error, "type": "scripted", "code": None}}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **reply.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {reply.status} Scripted\r\n{lines}\r\n".encode() + body)
    await writer.drain()


@asynccontextmanager
async def model_server(script: Sequence[Reply] = ()) -> AsyncGenerator[ModelScriptServer]:
    """A server that listens on a free port of loopback. More replies may be added to its script later."""
    scripted = ModelScriptServer(script)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(scripted.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    scripted.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield scripted
    finally:
        server.close()
        scripted.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
