"""Sessions that are posted to: what is signed, what counts as an answer, and what is tried again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from hosts import WITHIN
from relay.delivery.test_adapters import became, sent, status
from relay.port import ON_IDLE, Port, able, ports
from requirements import proves
from serai.contract import AgentStatus, DeliveryState, to_wire
from serai.errors import InvalidParams
from serai.relay.events.webhooks import SIGNATURE, TIMESTAMP, signature


class Hook:
    """An app server: what was posted to it, and what it answers next."""

    def __init__(self, answer: Callable[[bytes], Any]) -> None:
        self.posts: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[tuple[int, Any]] = []
        self.go_on = threading.Event()
        self.go_on.set()
        hook, usual_answer = self, answer

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.posts.append((dict(self.headers), body))
                hook.go_on.wait(WITHIN)
                status, answer = hook.answers.pop(0) if hook.answers else (200, None)
                answer = usual_answer(body) if answer is None else answer
                told = msgspec.json.encode(answer) if answer else b""
                self.send_response(status)
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/in?room=1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def delivered(body: bytes) -> Any:
    return {"status": "delivered", "deliveryId": msgspec.json.decode(body)["context"]["id"]}


@pytest.fixture
def hook() -> Generator[Hook]:
    opened = Hook(delivered)
    yield opened
    opened.go_on.set()
    opened.close()


async def register(port: Port, url: str, **more: Any) -> Any:
    who: dict[str, Any] = {"identity": {"name": "worker"}, "capabilities": to_wire(able(ON_IDLE))}
    return await port.house.call("sessions.register", url=url, **who, **more)


@proves("delivery:WebSocket-Role/webhook", "delivery:Adapter-Responsibilities/app-server-adapter")
async def test_a_message_is_posted_and_signed_with_a_secret_that_is_told_once(hook: Hook) -> None:
    async with ports() as port:
        secret = (await register(port, hook.url)).secret
        assert (await register(port, hook.url)).secret is None
        record = await became(port, (await sent(port, "my hook")).id, DeliveryState.DELIVERED)
        assert record.evidence["via"] == "url"
        [(headers, body)] = hook.posts
        assert headers[SIGNATURE] == signature(secret, headers[TIMESTAMP], body)
        offer = msgspec.json.decode(body)
        assert (offer["message"]["text"], offer["context"]["id"]) == ("my hook", record.id)
        await port.house.send("@worker", f"the secret is {secret}")
        assert (
            secret.encode()
            not in (await port.house.call("messages.search", query="secret")).hits[0].message.text.encode()
        )


async def test_what_is_no_success_is_tried_again_and_an_empty_one_is_accepted(hook: Hook) -> None:
    hook.answers = [(500, {}), (202, "")]
    async with ports() as port:
        await register(port, hook.url)
        record = await became(port, (await sent(port)).id, DeliveryState.ACCEPTED, DeliveryState.DELIVERED)
        while record.held_by != "adapter":
            await asyncio.sleep(0.01)
            record = await port.house.delivery(record.id)
        assert (record.attempts, len(hook.posts)) == (2, 2)
        receipt = {"status": "delivered", "deliveryId": record.id}
        told = await port.house.call("deliveries.receipt", receipt=receipt)
        assert told.state == DeliveryState.DELIVERED


async def test_nobody_there_is_offline_and_deferred_with_a_time() -> None:
    async with ports() as port:
        await register(port, "http://127.0.0.1:9/")
        record = await became(port, (await sent(port)).id, DeliveryState.DEFERRED)
        assert (record.waits_for, record.attempts) == ("connection", 0)
        assert record.available_at is not None
        assert await status(port) == AgentStatus.OFFLINE
        with pytest.raises(InvalidParams):
            await register(port, "file:///etc/passwd")
