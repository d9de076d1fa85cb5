"""The twin of `guarded_sdk.py` with the standard library only: it starts quickly.

guarded.py login          asks for a code, and signs in who knows it: a file in their home says so
guarded.py [WORD ...]     the agent. `late`: it makes sessions for anyone, and refuses prompts; `forgetful`:
                          a sign-in by `authenticate` holds for its process only; `broken`: that fails;
                          `plain`, `terminal`, `variables`: the ways that it offers
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

WORDS = [word for argument in sys.argv[1:] for word in argument.split()]
STATE = Path.home() / ".guarded"
WAYS: dict[str, dict[str, Any]] = {
    "variables": {
        "id": "key",
        "name": "A key",
        "type": "env_var",
        "vars": [{"name": "GUARDED_KEY"}, {"name": "GUARDED_ORG"}],
    },
    "plain": {"id": "browser", "name": "Browser", "description": "opens a window"},
    "terminal": {
        "id": "tty",
        "name": "Terminal",
        "type": "terminal",
        "args": ["login"],
        "env": {"GUARDED_ROLE": "guest"},
    },
}


def login() -> int:
    """What signing in is like."""
    role = os.environ.get("GUARDED_ROLE", "nobody")
    sys.stdout.write(f"in {Path.cwd()} as {role}, TERM={os.environ['TERM']}\n")
    if input("Your code: ") != "sesame":
        sys.stdout.write("That is wrong.\n")
        return 3
    STATE.write_text("someone")
    sys.stdout.write("Welcome.\n")
    return 0


class Refusal(Exception):
    """Nobody is signed in, or something else is wrong."""


class Guarded:
    """As many agents do, it looks once, when it is started, whether someone is signed in."""

    def __init__(self) -> None:
        self._is_in = STATE.exists()

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                return self._introduce(params["clientCapabilities"])
            case "authenticate":
                return self._authenticate(params["methodId"])
            case "session/new" | "session/load":
                if "late" not in WORDS:
                    self._check()
                return {"sessionId": f"session-{os.getpid()}"} if method == "session/new" else {}
            case "session/prompt":
                self._check()
                text = {"type": "text", "text": f"you said {params['prompt'][0]['text']}"}
                update = {"sessionUpdate": "agent_message_chunk", "content": text}
                told = {"sessionId": params["sessionId"], "update": update}
                send(method="session/update", params=told)
                return {"stopReason": "end_turn"}
            case _:
                raise Refusal(-32601, f"there is no {method}")

    def _introduce(self, client: dict[str, Any]) -> Any:
        ways = [way for word, way in WAYS.items() if word in WORDS]
        if not client.get("auth", {}).get("terminal"):
            ways = [way for way in ways if way.get("type") != "terminal"]
        return {
            "protocolVersion": 1,
            "agentCapabilities": {"loadSession": True, "promptCapabilities": {"image": True}},
            "agentInfo": {"name": "guarded", "version": "7"},
            "authMethods": ways,
        }

    def _authenticate(self, method: str) -> Any:
        if method != "browser" or "broken" in WORDS:
            raise Refusal(-32602, "the window was closed")
        if "forgetful" not in WORDS:
            STATE.write_text("someone")
        self._is_in = True
        return {}

    def _check(self) -> None:
        if not self._is_in:
            raise Refusal(-32000, "Authentication required")


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def serve() -> None:
    agent = Guarded()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        try:
            send(id=request["id"], result=agent.answer(request["method"], request["params"]))
        except Refusal as refusal:
            code, words = refusal.args
            send(id=request["id"], error={"code": code, "message": words})


if "login" in WORDS:
    sys.exit(login())
serve()
