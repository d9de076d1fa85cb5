"""An ACP agent that does nothing but write: `streaming_agent.py COUNT` tells that many updates in each turn.

Only the standard library, and the lines are made before they are wanted: what is measured is who reads them.
"""

from __future__ import annotations

import json
import sys
from typing import Any

SESSION = "0d5b2c3e-1111-4222-8333-444455556666"
TEXT = {"type": "text", "text": "some words of text "}
CALL = {
    "sessionUpdate": "tool_call_update",
    "toolCallId": "call-17",
    "status": "in_progress",
    "content": [{"type": "content", "content": {"type": "text", "text": "a line of output\n" * 4}}],
    "rawInput": {"command": "make test", "timeout": 120},
}
TURN: list[dict[str, Any]] = [
    *[{"sessionUpdate": "agent_message_chunk", "content": TEXT}] * 17,
    {"sessionUpdate": "agent_thought_chunk", "content": TEXT},
    CALL,
    CALL,
]


def line(**message: Any) -> bytes:
    """A message, as a line."""
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def main() -> None:
    """Answer until the input ends."""
    updates = [line(method="session/update", params={"sessionId": SESSION, "update": each}) for each in TURN]
    turn = b"".join(updates) * (int(sys.argv[1]) // len(updates))
    results: dict[str, Any] = {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []},
        "session/new": {"sessionId": SESSION},
        "session/prompt": {"stopReason": "end_turn"},
    }
    out = sys.stdout.buffer
    for request in map(json.loads, sys.stdin.buffer):
        if request["method"] == "session/prompt":
            out.write(turn)
        out.write(line(id=request["id"], result=results[request["method"]]))
        out.flush()


main()
