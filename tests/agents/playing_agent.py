"""An agent that plays what a test needs. Only the standard library, so that it starts quickly.

Its first argument is JSON: `capabilities` for the handshake, `answers` (texts, one for each prompt). Without
answers, what it does in a turn is the prompt's text: the name of a function below and its words.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOLD: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
CALLS: list[dict[str, Any]] = []
REQUESTS = itertools.count(1)


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message = json.loads(line)
    if "method" in message:
        CALLS.append(message)
        if "record" in TOLD:
            with Path(TOLD["record"]).open("a") as file:
                file.write(line)
    return message


def update(session: str, kind: str, /, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **fields}})


def say(session: str, text: str, **more: Any) -> None:
    update(session, "agent_message_chunk", content={"type": "text", "text": text}, **more)


def request(session: str, call: dict[str, Any], kinds: list[str]) -> str:
    """Ask for permission; the id of the option that was chosen, which is its kind, or `cancelled`."""
    mine = f"ask-{next(REQUESTS)}"
    options = [{"optionId": kind, "name": kind.replace("_", " "), "kind": kind} for kind in kinds]
    params = {"sessionId": session, "toolCall": call, "options": options}
    send(id=mine, method="session/request_permission", params=params)
    while (message := receive()).get("id") != mine or "method" in message:
        pass
    outcome = message["result"]["outcome"]
    return outcome.get("optionId", outcome["outcome"])


# -- what a turn can be ------------------------------------------------------------------------------------


def echo(session: str, *words: str) -> None:
    for word in words:
        say(session, word)


def told(session: str) -> None:
    """What the client sent: the last prompt, the session's parameters, all methods."""
    opened = next(call for call in reversed(CALLS) if call["method"] in OPENING)
    say(
        session,
        json.dumps(
            {
                "prompt": CALLS[-1]["params"]["prompt"],
                "meta": CALLS[-1]["params"].get("_meta"),
                "opened": opened["params"],
                "methods": [call["method"] for call in CALLS],
                "client": CALLS[0]["params"]["clientCapabilities"],
            }
        ),
    )


def work(session: str) -> None:
    """A turn with everything in it."""
    update(session, "agent_thought_chunk", content={"type": "text", "text": "hm"})
    update(session, "plan", entries=[{"content": "look", "priority": "high", "status": "pending"}])
    say(session, "Let me look.")
    update(
        session, "tool_call", toolCallId="t1", title="ls -l", kind="execute", rawInput={"command": "ls -l"}
    )
    chosen = request(session, {"toolCallId": "t1"}, ["allow_once", "reject_once"])
    update(
        session,
        "tool_call_update",
        toolCallId="t1",
        status="completed" if chosen == "allow_once" else "failed",
        content=[
            {"type": "content", "content": {"type": "text", "text": "README.md"}},
            {"type": "diff", "path": "/a", "oldText": "old", "newText": "new"},
            {"type": "terminal", "terminalId": "term"},
        ],
    )
    say(session, "It is ")
    say(session, "fine.")
    update(session, "current_mode_update", currentModeId="do")
    update(session, "available_commands_update", availableCommands=[{"name": "review", "description": ""}])
    update(session, "config_option_update", configOptions=[model("large")])
    update(session, "session_info_update", title="Looking")
    update(session, "usage_update", used=10, size=100, cost={"amount": 0.25, "currency": "USD"})
    update(session, "hologram", depth=3)


def permit(session: str, *kinds: str) -> None:
    say(session, request(session, {"toolCallId": "p", "title": "rm x", "kind": "execute"}, list(kinds)))


def tool(session: str, kind: str, *title: str) -> None:
    """Tells of a call, and asks without repeating what it is."""
    update(session, "tool_call", toolCallId="x", title=" ".join(title), kind=kind)
    say(session, request(session, {"toolCallId": "x"}, ["allow_once", "reject_once"]))


def wait(session: str) -> str:
    say(session, "waiting")
    while receive().get("method") != "session/cancel":
        pass
    say(session, "stopped")
    return "cancelled"


def cost(session: str, *amounts: str) -> str | None:
    """Tells costs, and goes on until it is stopped when it would go on to tell more."""
    for amount in amounts:
        if amount == "wait":
            return wait(session)
        currency = "EUR" if amount.endswith("EUR") else "USD"
        value = float(amount.removesuffix("EUR"))
        update(session, "usage_update", used=1, size=10, cost={"amount": value, "currency": currency})
    return None


def pid(session: str) -> None:
    say(session, str(os.getpid()))


def crash(session: str) -> None:
    say(session, "going down")
    sys.stderr.write(f"the key is {os.environ.get('PLAYER_API_KEY')}\n")
    sys.stderr.flush()
    os._exit(3)


def fail(session: str, code: str, *words: str) -> dict[str, Any]:  # noqa: ARG001 - all have it
    return {"code": int(code), "message": " ".join(words)}


def refuse(session: str) -> str:
    say(session, "no")
    return "refusal"


# -- the protocol ------------------------------------------------------------------------------------------

OPENING = ("session/new", "session/load", "session/resume", "session/fork")


def model(value: str) -> dict[str, Any]:
    names = ["small", "large"]
    return {
        "id": "model",
        "name": "Model",
        "type": "select",
        "category": "model",
        "currentValue": value,
        "options": [{"value": name, "name": name} for name in names],
    }


def initialize(_: dict[str, Any]) -> Any:
    if TOLD.get("silent"):
        while True:
            receive()
    return {
        "protocolVersion": 1,
        "agentCapabilities": TOLD.get("capabilities", {}),
        "agentInfo": {"name": "player", "version": "1"},
        "authMethods": [{"id": "key", "name": "A key"}],
    }


def opened(session: str) -> dict[str, Any]:
    modes = {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "A"}, {"id": "do", "name": "D"}],
    }
    options = [] if TOLD.get("plain") else [model("small")]
    return {"sessionId": session, "modes": modes, "configOptions": options}


def new(_: dict[str, Any]) -> Any:
    if "new_error" in TOLD:
        return {"error": TOLD["new_error"]}
    session = f"s{sum(call['method'] == 'session/new' for call in CALLS)}"
    say(session, "Welcome!")
    return opened(session)


def load(params: dict[str, Any]) -> Any:
    session = params["sessionId"]
    update(session, "user_message_chunk", content={"type": "text", "text": "earlier"})
    update(session, "usage_update", used=1, size=10, cost={"amount": 2.0, "currency": "USD"})
    return opened(session)


def set_option(params: dict[str, Any]) -> Any:
    if params["configId"] != "model" or params["value"] not in ("small", "large"):
        return {"error": {"code": -32602, "message": "no such value"}}
    return {"configOptions": [model(params["value"])]}


def prompt(params: dict[str, Any]) -> Any:
    usage = {"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100}
    number = sum(call["method"] == "session/prompt" for call in CALLS)
    if "answers" in TOLD:
        say(params["sessionId"], TOLD["answers"][number - 1])
        return {"stopReason": "end_turn", "usage": usage}
    text = next(block["text"] for block in params["prompt"] if block["type"] == "text")
    name, *words = text.split("\n")[-1].removeprefix("/").split(" ")
    result = globals()[name](params["sessionId"], *words)
    if isinstance(result, dict):
        return {"error": result}
    return {"stopReason": result or "end_turn", "usage": usage}


METHODS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "initialize": initialize,
    "session/new": new,
    "session/load": load,
    "session/resume": lambda params: opened(params["sessionId"]),
    "session/fork": lambda params: opened(params["sessionId"] + "-fork"),
    "session/list": lambda _: {"sessions": [{"sessionId": "old", "cwd": "/"}]},
    "session/close": lambda _: {},
    "session/delete": lambda _: {},
    "session/set_mode": lambda _: {},
    "session/set_config_option": set_option,
    "session/prompt": prompt,
    "authenticate": lambda _: {},
}

while True:
    MESSAGE = receive()
    if "method" not in MESSAGE or "id" not in MESSAGE:
        continue
    handler = METHODS.get(MESSAGE["method"])
    if handler is None:
        send(id=MESSAGE["id"], error={"code": -32601, "message": "no such method"})
        continue
    RESULT = handler(MESSAGE["params"])
    if isinstance(RESULT, dict) and "error" in RESULT:
        send(id=MESSAGE["id"], error=RESULT["error"])
    else:
        send(id=MESSAGE["id"], result=RESULT)
