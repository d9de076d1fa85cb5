"""An agent that does as it is told, with the standard library only: it starts quickly.

What it is told stands in its argument, as JSON: `capabilities`, `meta` and `methods` for its handshake,
`new_error` to refuse sessions, `signed_in` a file that has to be there, `modes` and `options` for its
sessions, `keep` a folder in which it keeps them, `late` how long after `session/load` and its like it tells
the history (or `never`), `dies_in` what it does not survive.
What it does in a turn is the first line of the prompt: the name of a function in `quick_calls`, `quick_words`
or `quick_requests`, and words for it.
Whatever it is asked, it keeps in `heard`, and the turn `recall` tells it.
"""

# ruff: noqa: ARG001 - a turn has its session, and a method its parameters, whether it needs them or not

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import quick_calls
import quick_requests
import quick_words
from quick_settings import CHOICES, options
from quick_wire import KEEP, PARAMS, PROMPT, REMEMBERED, STATE, TOLD, receive, say, send, update

TELLING: list[threading.Timer] = []
TURNS: dict[str, Callable[..., Any]] = {
    **vars(quick_calls),
    **vars(quick_requests),
    **vars(quick_words),
}


def initialize(params: dict[str, Any]) -> Any:
    return {
        "protocolVersion": 1,
        "agentCapabilities": TOLD.get("capabilities", {}),
        "agentInfo": {"name": "quick", "title": "Quick", "version": TOLD.get("version", "1.2")},
        "authMethods": TOLD.get("methods", []),
        "_meta": TOLD.get("meta", {}),
    }


def reply(session: str) -> dict[str, Any]:
    answer: dict[str, Any] = {"configOptions": options()} if options() else {}
    if "modes" in TOLD:
        modes = [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}]
        answer["modes"] = {"currentModeId": STATE["mode"], "availableModes": modes}
    if "models" in TOLD:
        models = [{"modelId": name, "name": name.title()} for name in ("small", "large")]
        answer["models"] = {"currentModelId": STATE["model"], "availableModels": models}
    return answer


def new(params: dict[str, Any]) -> Any:
    if "signed_in" in TOLD and not Path(TOLD["signed_in"]).exists():
        return {"error": {"code": -32000, "message": "Authentication required"}}
    if "new_error" in TOLD:
        return {"error": TOLD["new_error"]}
    session = f"own-{os.getpid()}-{len(PARAMS)}"
    PARAMS[session] = params
    for _ in range(TOLD.get("chatty", 0)):
        say(session, "welcome")
    if "options" in TOLD:
        commands = [{"name": "early", "description": ""}]
        update(session, "available_commands_update", availableCommands=commands)
    return {"sessionId": session, **reply(session)}


def load(params: dict[str, Any]) -> Any:
    session = params["sessionId"]
    if KEEP is None or not (KEEP / session).exists():
        return {"error": {"code": -32002, "message": "Resource not found"}}
    PARAMS[session] = params
    REMEMBERED[session] = json.loads((KEEP / session).read_text())
    if "late" in TOLD:
        tell_later(session)
    else:
        retell(session, REMEMBERED[session])
    return reply(session)


def tell_later(session: str) -> None:
    if TOLD.get("late", "never") != "never":
        TELLING.append(threading.Timer(TOLD["late"], retell, [session, list(REMEMBERED[session])]))
        TELLING[-1].start()


def retell(session: str, texts: list[str]) -> None:
    for text in texts:
        update(session, "user_message_chunk", content={"type": "text", "text": text})
        say(session, "an old answer")
        update(session, "tool_call", toolCallId="old", title="old", status="completed")


def fork(params: dict[str, Any]) -> Any:
    source = params["sessionId"]
    session = f"{source}-fork"
    remembered = json.loads((KEEP / source).read_text()) if KEEP else REMEMBERED[source]
    PARAMS[session], REMEMBERED[session] = params, remembered
    tell_later(session)
    return {"sessionId": session, **reply(session)}


def prompt(params: dict[str, Any]) -> Any:
    session = params["sessionId"]
    PROMPT.clear()
    PROMPT.update(params)
    while TELLING:  # nothing is done before all is told
        TELLING.pop().join()
    text = next(block["text"] for block in params["prompt"] if block["type"] == "text")
    name, *words = text.splitlines()[0].split(" ")
    result = TURNS[name](session, *words) or {"stopReason": "end_turn"}
    REMEMBERED.setdefault(session, []).append(text)
    if KEEP is not None:
        (KEEP / session).write_text(json.dumps(REMEMBERED[session]))
    return result


METHODS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "initialize": initialize,
    "session/new": new,
    "session/load": load,
    "session/resume": load,
    "session/fork": fork,
    **CHOICES,
    "session/prompt": prompt,
}

while True:
    MESSAGE = receive()
    if "method" not in MESSAGE or "id" not in MESSAGE:
        continue
    if MESSAGE["method"] in TOLD.get("dies_in", ()):
        os.kill(os.getpid(), signal.SIGKILL)
    handler = METHODS.get(MESSAGE["method"])
    if handler is None:
        send(id=MESSAGE["id"], error={"code": -32601, "message": "no such method"})
        continue
    outcome = handler(MESSAGE["params"])
    if "error" in outcome:
        send(id=MESSAGE["id"], error=outcome["error"])
    else:
        send(id=MESSAGE["id"], result=outcome)
