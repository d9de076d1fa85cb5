"""An agent whose options hang together, with the standard library only: `effort` is there for some models.

What it is told stands in its argument, as JSON: `capabilities` for its handshake; `gate`, a named pipe of
which it reads a byte before it does as it is asked to choose, when it has told its options as they still are,
and in its title what it is asked; `deaf`, a value that it does not answer.
In a turn it says what it was asked to choose; at `leave` it goes after the turn.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOLD: dict[str, Any] = json.loads(sys.argv[1])
GATE = os.open(TOLD["gate"], os.O_RDONLY) if "gate" in TOLD else None
MODELS, MODES = ["m1", "m2", "m3"], "abc"
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
    if GATE is not None:
        update(session, sessionUpdate="config_option_update", **options(more=[{**LOUD, "name": f"{value}!"}]))
        update(session, sessionUpdate="session_info_update", title=f"asked for {value}")
        os.read(GATE, 1)
    NOW[name] = value
    if name == "mode":
        update(session, sessionUpdate="current_mode_update", currentModeId=value)
    if value == TOLD.get("deaf"):
        return None
    return {} if name == "mode" else options()


def prompt(session: str) -> dict[str, Any]:
    said = {"type": "text", "text": json.dumps(CHOSEN)}
    update(session, sessionUpdate="agent_message_chunk", content=said)
    return {"stopReason": "end_turn"}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    session = params.get("sessionId", f"own-{os.getpid()}")
    match method:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": TOLD.get("capabilities", {})}
        case "session/new":
            return {"sessionId": session, **opened()}
        case "session/set_mode":
            return choose(session, "mode", params["modeId"])
        case "session/set_config_option":
            return choose(session, params["configId"], params["value"])
        case _:
            return prompt(session)


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message["params"])
        if result is not None:
            send(id=message["id"], result=result)
        if message["method"] == "session/prompt" and message["params"]["prompt"][0]["text"] == "leave":
            os._exit(0)
