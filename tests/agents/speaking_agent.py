"""A small agent that speaks ACP over its pipes. Its first argument says how it behaves."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

MODELS = [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]
OPTIONS = [
    {
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "large",
        "options": MODELS,
    },
    {"id": "effort", "name": "Effort", "type": "select", "currentValue": "low", "options": MODELS[:1]},
]


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request: dict[str, Any], behaviour: str) -> None:
    match request["method"]:
        case "initialize":
            say(
                id=request["id"],
                result={
                    "protocolVersion": 1,
                    "agentCapabilities": {
                        "loadSession": True,
                        "sessionCapabilities": {"fork": {}, "delete": {}},
                    },
                    "agentInfo": {"name": "speaker", "title": "The \x1b[2JSpeaker", "version": "9.9.9"},
                    "authMethods": [{"id": "key", "name": "A key"}],
                },
            )
        case "session/new" if behaviour == "signed-out":
            say(id=request["id"], error={"code": -32000, "message": "Authentication required"})
        case "session/new" if behaviour == "no-session":
            error = {"code": -32603, "message": "Internal error", "data": {"details": "out of paper"}}
            say(id=request["id"], error=error)
        case "session/new":
            modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}
            result = {"sessionId": "s1", "configOptions": OPTIONS, "modes": modes}
            if any(Path(request["params"]["cwd"]).iterdir()):
                sys.exit("a curious client gives an empty folder")
            say(id=request["id"], result=result)
            update = {
                "sessionUpdate": "available_commands_update",
                "availableCommands": [{"name": "review", "description": "Look at changes"}],
            }
            say(method="session/update", params={"sessionId": "s1", "update": update})
        case _:
            say(id=request["id"], error={"code": -32601, "message": "no such method"})


def main() -> None:
    behaviour = sys.argv[1] if len(sys.argv) > 1 else ""
    if behaviour == "--version":
        sys.exit("speaker 9.9.9")
    if behaviour == "broken":
        sys.exit(f"it is broken: {os.environ.get('SPEAKER_API_KEY')}")
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            answer(request, behaviour)


if __name__ == "__main__":
    main()
