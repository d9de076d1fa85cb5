"""An agent whose options hang together, with the standard library only: `effort` is there for some models.

What it is told stands in its argument, as JSON: `capabilities` for its handshake; `gate`, a named pipe of
which it reads a byte before it does as it is asked to choose, when it has told its options as they still are,
and in its title what it is asked; `deadly`, a value at which it dies; `deaf`, one that it does not answer;
`refused`, those that it does not take;
`resets`, to change the effort when it changes the model; `fewer`, a file: once it is there, only the last
model and mode can be chosen, also in a session that it resumes, where else nothing can be.
In a turn it says what it was asked to choose; at `leave` it goes after the turn, and what stands behind
`updates` it tells as it is.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOLD: dict[str, Any] = json.loads(sys.argv[1])
GATE = os.open(TOLD["gate"], os.O_RDONLY) if "gate" in TOLD else None
HAS_FEWER = "fewer" in TOLD and os.access(TOLD["fewer"], os.F_OK)
MODELS, MODES = (["m3"], "c") if HAS_FEWER else (["m1", "m2", "m3"], "abc")
NOW: dict[str, Any] = {"model": MODELS[0], "effort": "low", "mode": MODES[0]}
CHOSEN: list[list[Any]] = []


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session: str, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": fields})


def select(name: str, category: str, *values: str) -> dict[str, Any]:
    choices = [{"value": value, "name": value.upper()} for value in values]
    told = {"id": name, "name": name.title(), "category": category, "type": "select", "options": choices}
    return {**told, "currentValue": NOW[name]}


LOUD = {"id": "loud", "type": "boolean", "currentValue": False}


def options(more: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    told = [select("model", "model", *MODELS), *(more or [])]
    if NOW["model"] != "m2":
        told.append(select("effort", "thought_level", "low", "high"))
    return {"configOptions": told}


def opened() -> dict[str, Any]:
    modes = [{"id": name, "name": name.upper()} for name in MODES]
    return {**options(), "modes": {"currentModeId": NOW["mode"], "availableModes": modes}}


def choose(session: str, name: str, value: Any) -> dict[str, Any] | None:
    CHOSEN.append([name, value])
    if value in TOLD.get("refused", ()):
        return {"error": {"code": -32603, "message": "not today"}}
    if GATE is not None:
        update(session, sessionUpdate="config_option_update", **options(more=[{**LOUD, "name": f"{value}!"}]))
        update(session, sessionUpdate="session_info_update", title=f"asked for {value}")
        os.read(GATE, 1)
    if value == TOLD.get("deadly"):
        os._exit(3)
    NOW[name] = value
    if name == "model" and TOLD.get("resets"):
        NOW["effort"] = "low"
        update(session, sessionUpdate="config_option_update", **options())
    if name == "mode":
        update(session, sessionUpdate="current_mode_update", currentModeId=value)
    if value == TOLD.get("deaf"):
        return None
    return {} if name == "mode" else options()


def prompt(session: str, text: str) -> dict[str, Any]:
    word, _, rest = text.partition(" ")
    for each in json.loads(rest) if word == "updates" else []:
        update(session, **each)
    said = {"type": "text", "text": json.dumps(CHOSEN)}
    update(session, sessionUpdate="agent_message_chunk", content=said)
    return {"stopReason": "end_turn"}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    session = params.get("sessionId", f"own-{os.getpid()}")
    match method:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": TOLD.get("capabilities", {})}
        case "session/new" | "session/fork":
            return {"sessionId": session, **opened()}
        case "session/resume":
            return opened() if HAS_FEWER else {}
        case "session/set_mode":
            return choose(session, "mode", params["modeId"])
        case "session/set_config_option":
            return choose(session, params["configId"], params["value"])
        case _:
            return prompt(session, params["prompt"][0]["text"])


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message["params"])
        if result is not None:
            send(id=message["id"], **(result if "error" in result else {"result": result}))
        if message["method"] == "session/prompt" and message["params"]["prompt"][0]["text"] == "leave":
            os._exit(0)
