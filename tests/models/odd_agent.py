"""An agent with a few habits that others do not have. Only the standard library."""

from __future__ import annotations

import json
import sys
from typing import Any


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(kind: str, /, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": "s", "update": {"sessionUpdate": kind, **fields}})


def say(text: str, message: str | None = None) -> None:
    more = {} if message is None else {"messageId": message}
    update("agent_message_chunk", content={"type": "text", "text": text}, **more)


def answer(prompt: str) -> None:
    if prompt == "two messages":
        for text, message in (("One ", "a"), ("message.", "a"), ("Another.", "b")):
            say(text, message)
    elif prompt == "tool between":
        say("One.", "a")
        update("tool_call", toolCallId="t", title="Look", kind="read", status="completed")
        say("Another.", "b")
    elif prompt == "late":
        # Arguments come after the beginning, and what came of it after the end.
        content = [{"type": "content", "content": {"type": "text", "text": "found"}}]
        update("tool_call", toolCallId="t", title="Search", kind="search")
        update("tool_call_update", toolCallId="t", rawInput={"for": "it"}, title="Search for it")
        update("tool_call_update", toolCallId="t", status="completed")
        update("tool_call_update", toolCallId="t", content=content)
        update("tool_call", toolCallId="u", title="Odd", kind="other", rawInput="words", status="in_progress")
        say("Done.")
    else:  # JSON only when it is told that there was none
        say('{"name": "Rome", "people": 3}' if "validation" in prompt else "It is Rome.")


for line in sys.stdin:
    received = json.loads(line)
    if "id" not in received:
        continue
    result: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {}}
    if received["method"] == "session/new":
        result = {"sessionId": "s"}
    elif received["method"] == "session/prompt":
        answer(received["params"]["prompt"][0]["text"])
        result = {"stopReason": "end_turn"}
    send(id=received["id"], result=result)
