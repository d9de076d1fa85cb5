"""Posts that show who sent them: HMAC-SHA256 over the time and the body, in two headers.

    X-Serai-Timestamp: 1767225600
    X-Serai-Signature: sha256=<hex of HMAC(secret, timestamp + "." + body)>

Whoever receives one computes the same, and refuses what is old.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
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
    # It takes a while to import, and few are posted to.
    from httpx2 import AsyncClient, HTTPError, InvalidURL  # noqa: PLC0415 - that is why

    answer = b""
    try:
        async with (
            asyncio.timeout(seconds),
            AsyncClient(trust_env=False, timeout=seconds) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            async for piece in response.aiter_bytes():
                if len(answer := answer + piece) > _MOST:
                    break
    except (HTTPError, InvalidURL, OSError, TimeoutError, ValueError) as error:
        what = str(error) or type(error).__name__
        raise ConnectionLost(f"nobody answers at the URL ({what})") from None
    if not response.is_success:
        raise ProtocolError(f"the URL answers {response.status_code}")
    return answer
