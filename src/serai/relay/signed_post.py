"""Posts that show who sent them: HMAC-SHA256 over the time and the body, in two headers.

    X-Serai-Timestamp: 1767225600
    X-Serai-Signature: sha256=<hex of HMAC(secret, timestamp + "." + body)>

Whoever receives one computes the same, and refuses what is old.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import http.client
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from serai.contract import Record, encode
from serai.errors import ConnectionLost, InvalidParams, ProtocolError

__all__ = ["SIGNATURE", "TIMESTAMP", "check_url", "post_signed", "signature"]

TIMESTAMP, SIGNATURE = "X-Serai-Timestamp", "X-Serai-Signature"
_MOST = 64 * 1024
"""How much of an answer is read."""


def check_url(url: str) -> None:
    """Go on only with a URL that can be posted to.

    Raises:
        InvalidParams: It is none.
    """
    try:
        parts = urlsplit(url)
        is_fit = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_fit = False
    if not is_fit:
        raise InvalidParams("the URL must begin with http: or https:, and name a host", field="params.url")


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What the signature of a body is."""
    signed = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"sha256={signed.hexdigest()}"


async def post_signed(url: str, content: Record, secret: str, seconds: float) -> bytes:
    """Post a record as JSON, and return the body of the answer. Redirects are not followed.

    Cancelling ends the wait; what was sent may have arrived.

    Raises:
        ConnectionLost: Nobody answers there, or not in time.
        ProtocolError: The answer is not one of success.
    """
    body = encode(content)
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        TIMESTAMP: timestamp,
        SIGNATURE: signature(secret, timestamp, body),
    }
    try:
        async with asyncio.timeout(seconds):
            status, answer = await _in_thread(lambda: _post(url, body, headers, seconds))
    except (OSError, TimeoutError, http.client.HTTPException, ValueError) as error:
        what = str(error) or type(error).__name__
        raise ConnectionLost(f"nobody answers at the URL ({what})") from None
    if not 200 <= status < 300:
        raise ProtocolError(f"the URL answers {status}")
    return answer


def _post(url: str, body: bytes, headers: dict[str, str], seconds: float) -> tuple[int, bytes]:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        return response.status, response.read(_MOST)
    finally:
        connection.close()


async def _in_thread(work: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
    """Do something in a thread of its own, which nobody waits for when the host ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[int, bytes]] = loop.create_future()

    def settle(result: tuple[int, bytes] | BaseException) -> None:
        if done.done():
            return
        if isinstance(result, BaseException):
            done.set_exception(result)
        else:
            done.set_result(result)

    def run() -> None:
        try:
            result: tuple[int, bytes] | BaseException = work()
        except BaseException as error:  # noqa: BLE001 - it is raised where someone waits
            result = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=run, name="post", daemon=True).start()
    return await done
