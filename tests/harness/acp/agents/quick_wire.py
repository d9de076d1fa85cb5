"""What the quick agent has in common with all that it does: the pipe, and what it knows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOLD: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
KEEP = Path(TOLD["keep"]) if "keep" in TOLD else None
HEARD: list[dict[str, Any]] = []
PENDING: list[dict[str, Any]] = []
REMEMBERED: dict[str, list[str]] = {}
STATE: dict[str, Any] = {"mode": "ask", "model": "small", "effort": "low", "loud": False}
NUMBER = [0]
PARAMS: dict[str, dict[str, Any]] = {}
PROMPT: dict[str, Any] = {}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    if PENDING:
        return PENDING.pop(0)
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message = json.loads(line)
    HEARD.append(message)
    return message


def update(session: str, kind: str, /, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **fields}})


def say(session: str, text: str, **more: Any) -> None:
    update(session, "agent_message_chunk", content={"type": "text", "text": text}, **more)


def ask(method: str, **params: Any) -> dict[str, Any]:
    """Ask the client and wait for its answer. What else comes meanwhile is looked at later."""
    NUMBER[0] += 1
    request = f"q{NUMBER[0]}"
    send(id=request, method=method, params=params)
    kept: list[dict[str, Any]] = []
    while True:
        message = receive()
        if message.get("id") == request and "method" not in message:
            PENDING[:0] = kept
            return message
        kept.append(message)


def told(answer: dict[str, Any]) -> str:
    return json.dumps(answer.get("result", answer.get("error")), sort_keys=True)
