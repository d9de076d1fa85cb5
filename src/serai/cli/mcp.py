"""`serai mcp`: the relay's tools over standard input and output, for agents that speak only this form of MCP.

Each line is posted to `/mcp` of the host, and the answer is printed as a line. The messages are not parsed,
so this needs no SDK and starts quickly. The host is found anew for each message: it may have been restarted
at another address.
"""

from __future__ import annotations

import argparse
import http.client
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import msgspec

from serai.cli.console.target import add_connection_options
from serai.client.address import find_address
from serai.errors import ConnectionLost, SeraiError

_LONGEST_CALL = 120.0
"""Seconds that the host has to answer. No tool takes so long."""
_MOST_CALLS = 64
"""Calls that wait for answers at once; more wait in a queue."""
_INTERNAL = -32603


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai mcp`."""
    add_connection_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    writing = Lock()

    def forward(line: bytes) -> None:
        if answer := _answer(options, line):
            with writing:
                sys.stdout.buffer.write(answer.replace(b"\n", b"") + b"\n")
                sys.stdout.buffer.flush()

    with ThreadPoolExecutor(_MOST_CALLS) as calls:  # its end waits for all answers
        for line in sys.stdin.buffer:
            if line.strip():
                calls.submit(forward, line)
    return 0


def _answer(options: argparse.Namespace, line: bytes) -> bytes | None:
    """Return the answer to a message; `None` if none is due."""
    try:
        request = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        request = {}  # the host answers with the error
    try:
        return _post(options, line)
    except (SeraiError, OSError, http.client.HTTPException) as error:
        if "id" not in request:
            return None
        problem = {"code": _INTERNAL, "message": str(error) or type(error).__name__}
        return msgspec.json.encode({"jsonrpc": "2.0", "id": request["id"], "error": problem})


def _post(options: argparse.Namespace, line: bytes) -> bytes:
    """Post a message to the host, and return its answer, which is empty for a notification.

    Raises:
        ConnectionLost: No host answers, or it refused.
    """
    address = find_address(options.url, options.token, home=options.home)
    parts = urlsplit(address.url)
    kind = http.client.HTTPSConnection if parts.scheme == "wss" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=_LONGEST_CALL)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if address.token is not None:
        headers["Authorization"] = f"Bearer {address.token}"
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
