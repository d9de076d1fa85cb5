"""An agent that does as it is told, also what no agent should do. It starts quickly.

What it is told stands in its arguments, as JSON: `capabilities` for its handshake, `initialize` for what it
does instead of answering. What it does in a turn is the prompt's text: the name of a function below, and what
that needs, separated by spaces.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

TYPE_CHECKING = False  # not from `typing`, which takes a third of the time of a start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TOLD: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
OUT = sys.stdout.buffer


def raw(data: bytes) -> None:
    OUT.write(data)
    OUT.flush()


def send(message: dict[str, Any]) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def receive() -> dict[str, Any]:
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def update(session: str, kind: str, **fields: Any) -> None:
    send(
        {
            "method": "session/update",
            "params": {"sessionId": session, "update": {"sessionUpdate": kind, **fields}},
        }
    )


def say(session: str, text: str) -> None:
    update(session, "agent_message_chunk", content={"type": "text", "text": text})


def answer_to(request: Any) -> dict[str, Any]:
    """Wait for the answer to a request of ours; what else comes is heard and repeated as text."""
    while True:
        message = receive()
        if message.get("id") == request and "method" not in message:
            return message
        HEARD.append(message)


HEARD: list[dict[str, Any]] = []


def ask(session: str, request: Any, **more: Any) -> None:
    send(
        {
            "id": request,
            "method": "session/request_permission",
            "params": {
                "sessionId": session,
                "toolCall": {"toolCallId": f"call-{request}", "title": "rm -rf /", "kind": "execute"},
                "options": [
                    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                    {"optionId": "no", "name": "No", "kind": "reject_once"},
                ],
                **more,
            },
        }
    )


# -- what a turn can be ------------------------------------------------------------------------------------


def echo(session: str, *words: str) -> Any:
    say(session, " ".join(words))


def noise(session: str) -> Any:
    raw(b"Loading the model...\n")
    raw(b"42\n")
    raw(b'"a string"\n')
    raw(b"[1, 2]\n")
    raw(b"\n")
    raw(b"null\n")
    raw(b'{"level": "info"}\n')
    raw(b"\xff\xfe broken\n")
    raw(b'{"jsonrpc": "2.0", "id": 999, "result": {}}\n')
    raw(b'{"jsonrpc": "2.0", "id": "no", "result": {}}\n')
    say(session, "through the noise")


def silence(_session: str) -> Any:
    while receive().get("method") != "session/cancel":
        pass
    return {"stopReason": "cancelled"}


def deaf(session: str) -> Any:
    """Ignores all, also to be cancelled."""
    say(session, "never")
    while True:
        receive()


def crash(session: str, code: str) -> Any:
    say(session, "going down")
    sys.stderr.write("the key is hunter2\nfatal: out of luck\n")
    sys.stderr.flush()
    os._exit(int(code))


def mute(_session: str) -> Any:
    """Closes its output and lives on."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    OUT.close()
    os.close(1)
    while True:
        time.sleep(60)


def endless(_session: str, size: str) -> Any:
    """A line that does not end."""
    piece = b"x" * (1 << 20)
    for _ in range(int(size)):
        raw(piece)
    while True:
        receive()


def log(session: str, size: str) -> Any:
    piece = "a line of the log, which nobody reads\n"
    sys.stderr.write(piece * (int(size) // len(piece)))
    sys.stderr.flush()
    say(session, "logged")


def permission(session: str, *requests: str) -> Any:
    """Asks with these ids, one after the other; says what was answered."""
    for each in requests:
        request: Any = json.loads(each)
        ask(session, request)
        say(session, json.dumps(answer_to(request).get("result")))


def subagent(session: str, child: str) -> Any:
    """Asks under the id of a session that it has made by itself. Then it is silent until it is cancelled."""
    ask(child, "child")
    answer = answer_to("child").get("result")
    if not any(message.get("method") == "session/cancel" for message in HEARD):
        silence(session)
    say(session, json.dumps(answer))
    return {"stopReason": "cancelled"}


def busy_subagent(session: str, child: str, seconds: str) -> Any:
    """Tells of nothing but such a session, for some time."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        say(child, "at work")
        time.sleep(0.02)
    say(session, "done")


def storm(session: str, count: str) -> Any:
    """Asks all at once, and waits for all the answers. Stops early when it is cancelled."""
    for number in range(int(count)):
        ask(session, f"p{number}")
    outcomes: list[str] = []
    cancelled = 0
    while len(outcomes) < int(count):
        message = receive()
        if message.get("method") == "session/cancel":
            cancelled += 1
        elif "result" in message:
            outcomes.append(message["result"]["outcome"]["outcome"])
    if not cancelled:
        return None
    ask(session, "late")
    late = answer_to("late")["result"]["outcome"]["outcome"]
    say(session, f"{outcomes.count('cancelled')} cancelled, then {late}; told to stop {cancelled} time(s)")
    return {"stopReason": "cancelled"}


def asks(session: str, method: str, params: str = "{}") -> Any:
    """Asks something else; says what was answered."""
    send({"id": "q", "method": method, "params": {"sessionId": session, **json.loads(params)}})
    answer = answer_to("q")
    say(session, json.dumps(answer.get("result", answer.get("error"))))


def malformed(session: str) -> Any:
    """Requests that are none, each with its answer told."""
    send({"id": "m1", "method": 5})
    say(session, json.dumps(answer_to("m1")["error"]["code"]))
    send({"id": "m2", "method": "session/request_permission", "params": [1]})
    say(session, json.dumps(answer_to("m2")["error"]["code"]))
    send({"id": {"a": 1}, "method": "x"})
    say(session, json.dumps(answer_to(None)["error"]["code"]))


def kinds(session: str) -> Any:
    """Updates that nobody knows, with what nobody expects."""
    update(session, "hologram", depth=3)
    update(session, "plan", entries="not a list")
    update(session, "agent_message_chunk", content={"type": "text", "text": "hi", "novel": 1}, novel=2)
    update(session, "usage_update", used=10, size=100, cost={"amount": 0.0017, "currency": "USD"})
    update(session, "usage_update", used=20, size=100, cost={"amount": 0.0091, "currency": "USD"})
    update(session, "session_info_update", title="A title")
    update(session, "tool_call_update", toolCallId="t1", status="in_progress")
    say(session, "half \ud83d")  # it is written as an escape that stands for no character
    send({"method": "_vendor/thing", "params": {"a": 1}})
    return {"stopReason": "bored", "usage": {"inputTokens": 3}}


def error(_session: str, code: str, *words: str) -> Any:
    return {"error": {"code": int(code), "message": " ".join(words), "data": {"type": "x"}}}


def flood(session: str, count: str, size: str) -> Any:
    for _ in range(int(count)):
        say(session, "x" * int(size))


def stubborn(_session: str) -> Any:
    """Tells that it was stopped as an error."""
    while receive().get("method") != "session/cancel":
        pass
    return {"error": {"code": -32603, "message": "aborted"}}


# -- the rest of the protocol ------------------------------------------------------------------------------

CALLS: list[str] = []


def initialize(params: dict[str, Any]) -> Any:
    match TOLD.get("initialize"):
        case "silence":
            while True:
                receive()
        case "exit":
            raw(TOLD.get("printed", "").encode())
            sys.stderr.write(TOLD.get("log", "cannot start"))
            sys.exit(3)
        case {"error": error}:
            return {"error": error}
        case _:
            pass
    if "noise" in TOLD:
        raw(TOLD["noise"].encode())
    return {
        "protocolVersion": TOLD.get("version", 1),
        "agentCapabilities": TOLD.get("capabilities", {}),
        "agentInfo": {"name": "scripted", "version": "1"},
        "authMethods": TOLD.get("methods", []),
        "_meta": {"client": params},
    }


def consult() -> None:
    """Ask the person before anything is answered, when that was told."""
    if "consults" in TOLD:
        send({"id": "c", "method": "elicitation/create", "params": {"message": "m", **TOLD["consults"]}})
        answer_to("c")


def new(params: dict[str, Any]) -> Any:
    consult()
    if error := TOLD.get("new_error"):
        return {"error": error}
    CALLS.append("new")
    session = f"s{len(CALLS)}"
    update(session, "available_commands_update", availableCommands=[{"name": "early", "description": ""}])
    say(session, "before the answer")
    return {
        "sessionId": TOLD.get("session_id", session),
        "modes": {
            "currentModeId": "ask",
            "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}],
        },
        **({"models": TOLD["models"]} if "models" in TOLD else {"configOptions": [option("small")]}),
        "_meta": {"params": params},
    }


def option(value: str) -> dict[str, Any]:
    return {
        "id": "model",
        "name": "Model",
        "type": "select",
        "category": "model",
        "currentValue": value,
        "options": [
            {"group": "g", "name": "Group", "options": [{"value": "small", "name": "Small"}]},
            {"value": "large", "name": "Large"},
        ],
    }


def replay(params: dict[str, Any]) -> Any:
    session = params["sessionId"]
    if session == "lost":
        return {"error": {"code": -32002, "message": "Resource not found"}}
    update(session, "user_message_chunk", content={"type": "text", "text": "what I asked"})
    say(session, "what I said")
    send({"id": MESSAGE["id"], "result": {"modes": {"currentModeId": "ask", "availableModes": []}}})
    say(session, "at once after the answer")
    return ...


def listing(params: dict[str, Any]) -> Any:
    pages: dict[str | None, Any] = {
        None: {"sessions": [{"sessionId": "a", "cwd": "/", "title": "A"}], "nextCursor": "2"},
        "2": {
            "sessions": [{"sessionId": "b", "cwd": "/"}, "junk"],
            "nextCursor": "2" if TOLD.get("circle") else None,
        },
    }
    return pages[params.get("cursor")]


def set_mode(_params: dict[str, Any]) -> Any:
    consult()
    return {}


def set_model(params: dict[str, Any]) -> Any:
    CALLS.append(params["modelId"])
    return {}


def set_option(params: dict[str, Any]) -> Any:
    if params["configId"] != "model":
        return {"error": {"code": -32601, "message": "no"}}
    if "set_option" in TOLD:
        return {}
    return {"configOptions": [option(params["value"])], "_meta": params}


def prompt(params: dict[str, Any]) -> Any:
    name, *words = next(b["text"] for b in params["prompt"] if b["type"] == "text").split(" ")
    turn: Callable[..., Any] = globals()[name]
    return turn(params["sessionId"], *words) or {"stopReason": "end_turn"}


METHODS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "initialize": initialize,
    "session/new": new,
    "session/load": replay,
    "session/resume": replay,
    "session/list": listing,
    "session/close": set_mode,
    "session/delete": set_mode,
    "session/set_mode": set_mode,
    "session/set_config_option": set_option,
    "session/set_model": set_model,
    "session/prompt": prompt,
    "authenticate": set_mode,
    "logout": set_mode,
}

while True:
    MESSAGE = receive()
    if "method" not in MESSAGE or "id" not in MESSAGE:
        continue
    handler = METHODS.get(MESSAGE["method"])
    if handler is None:
        send({"id": MESSAGE["id"], "error": {"code": -32601, "message": "no such method"}})
        continue
    result = handler(MESSAGE["params"])
    if result is ...:
        continue
    if isinstance(result, dict) and "error" in result:
        send({"id": MESSAGE["id"], **result})
    else:
        send({"id": MESSAGE["id"], "result": result})
