"""`serai mcp`: the relay's tools over standard input and output, for agents that speak MCP only so.

Each line is posted to `/mcp` of the host, and what comes back is a line. Nothing of it is understood here but
the protocol's version, so this needs no SDK and starts quickly. The host is looked for with each message: it
may have been started again elsewhere.
"""

from __future__ import annotations

import argparse
import http.client
import sys
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

import msgspec

from serai.cli.console.target import add_connection_options
from serai.client.address import find_address
from serai.errors import ConnectionLost, SeraiError

_LONGEST_CALL = 120.0
"""Seconds after which the host has not answered. No tool takes so long."""
_INTERNAL = -32603


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai mcp`."""
    add_connection_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    forwarder = _Forwarder(options)
    calls: list[Thread] = []
    for line in sys.stdin.buffer:
        if line.strip():
            calls = [call for call in calls if call.is_alive()]
            calls.append(Thread(target=forwarder.forward, args=(line,), daemon=True))
            calls[-1].start()
    for call in calls:
        call.join()  # what was asked is answered
    return 0


class _Forwarder:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._writing = Lock()
        self._version: str | None = None
        """The version of MCP that was agreed on."""

    def forward(self, line: bytes) -> None:
        """Post a message, and write the answer, if one is due."""
        try:
            request = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.DecodeError:
            request = {}  # the host says what is wrong with it
        try:
            answer = self._post(line)
            if request.get("method") == "initialize":
                self._version = msgspec.json.decode(answer).get("result", {}).get("protocolVersion")
        except (SeraiError, OSError, http.client.HTTPException, msgspec.DecodeError) as error:
            if "id" not in request:
                return
            problem = {"code": _INTERNAL, "message": str(error) or type(error).__name__}
            answer = msgspec.json.encode({"jsonrpc": "2.0", "id": request["id"], "error": problem})
        if answer:
            with self._writing:
                sys.stdout.buffer.write(answer.replace(b"\n", b"") + b"\n")
                sys.stdout.buffer.flush()

    def _post(self, line: bytes) -> bytes:
        """What the host answers; nothing to a notification.

        Raises:
            ConnectionLost: No host answers, or it refused.
        """
        address = find_address(self._options.url, self._options.token, home=self._options.home)
        parts = urlsplit(address.url)
        kind = http.client.HTTPSConnection if parts.scheme == "wss" else http.client.HTTPConnection
        connection = kind(parts.netloc, timeout=_LONGEST_CALL)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if address.token is not None:
            headers["Authorization"] = f"Bearer {address.token}"
        if self._version is not None:
            headers["MCP-Protocol-Version"] = self._version
        try:
            connection.request("POST", "/mcp", line, headers)
            response = connection.getresponse()
            body = response.read()
        except OSError as error:
            raise ConnectionLost(f"no host answers at {parts.netloc}: {error}") from None
        finally:
            connection.close()
        if response.status >= 400 and b'"jsonrpc"' not in body:
            raise ConnectionLost(
                f"the host answered with {response.status}: {body[:500].decode(errors='replace')}"
            )
        return body
