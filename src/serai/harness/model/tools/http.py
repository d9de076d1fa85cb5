"""`http_request`: a request to the public network, once a person has allowed it."""

from __future__ import annotations

import asyncio
import re
from importlib import import_module
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from msgspec import Meta, field

from serai.errors import ToolError
from serai.harness.model.tool import BuiltIn, Preview, ToolAnswer, ToolContext

_SECONDS = 60.0
"""Longest time of a request, in seconds."""
_MOST_BYTES = 1 << 20
"""Most bytes that are read of an answer."""
_REDIRECTS = 5
_ODD = re.compile(r"[\\\s\x00-\x1f\x7f]")
_SHOWN = ("content-type", "location", "retry-after", "www-authenticate")
"""The headers of an answer that a model is shown."""


class HttpRequest(BuiltIn):
    """Send an HTTP request to the public network, and read the answer. A person is asked."""

    name, title = "http_request", "Send a request"

    url: Annotated[str, Meta(description="http: or https:", min_length=1)]
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: str | None = None

    def pattern(self) -> str:
        """Return the pattern of the same method at the same server."""
        parts = urlsplit(self.url)
        return f"{self.method} {parts.scheme}://{parts.netloc}/*"

    async def preview(self, context: ToolContext) -> Preview:
        """Show the whole request. The name is not resolved yet: that would already tell the network."""
        del context
        self._check()
        sent = [f"{name}: {value}" for name, value in self.headers.items()]
        sent += ["", self.body] if self.body else []
        quoted = ["", "```", *sent, "```"] if sent else []
        return Preview("\n".join([f"Send `{self.method} {self.url}`", *quoted]))

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Send the request. Redirects are followed for requests that only read."""
        self._check()
        client_module = await asyncio.to_thread(import_module, "serai.harness.model.tools.address_guard")
        httpx = client_module.httpx2
        client = client_module.guarded_client(
            context.agent.allowed_hosts,
            silence=_SECONDS,
            redirects=_REDIRECTS if self.method in {"GET", "HEAD"} else 0,
        )
        body = None if self.body is None else self.body.encode()
        try:
            async with (
                asyncio.timeout(_SECONDS),
                client,
                client.stream(self.method, self.url, headers=self.headers, content=body) as answer,
            ):
                return ToolAnswer(await _answer_text(answer))
        except TimeoutError:
            raise ToolError(f"{self.url} took more than {_SECONDS:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise ToolError(f"{self.url} cannot be fetched: {error or type(error).__name__}") from None

    def _check(self) -> None:
        """Check the request.

        Raises:
            ToolError: It is no address, or a header may not be set.
        """
        try:
            parts = urlsplit(self.url)
        except ValueError:
            raise ToolError(f"{self.url!r} is no address") from None
        if parts.scheme not in {"http", "https"}:
            raise ToolError(f"{self.url!r} is no http: or https: address")
        # An ambiguous URL is refused, because a person allows what they have read.
        if not parts.hostname or "@" in parts.netloc or _ODD.search(self.url):
            raise ToolError(f"{self.url!r} has no host, or characters that do not belong in an address")
        if "host" in map(str.lower, self.headers):
            raise ToolError("the header Host is the address's own")


async def _answer_text(answer: Any) -> str:
    data = bytearray()
    async for piece in answer.aiter_bytes():
        data += piece
        if len(data) > _MOST_BYTES:
            break
    lines = [f"HTTP {answer.status_code} {answer.reason_phrase}".rstrip()]
    if answer.history:
        lines.append(f"from: {answer.url}")
    lines += [f"{name}: {answer.headers[name]}" for name in _SHOWN if name in answer.headers]
    if b"\0" in data[:8192]:
        return "\n".join([*lines, "", f"[{len(data):,} bytes that are no text]"])
    text = bytes(data[:_MOST_BYTES]).decode(answer.encoding or "utf-8", errors="replace")
    cut = ["", f"[cut off after {_MOST_BYTES:,} bytes]"] if len(data) > _MOST_BYTES else []
    return "\n".join([*lines, "", text, *cut])
