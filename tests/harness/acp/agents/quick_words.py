"""Turns of the quick agent that say something, wait, or end in some way."""

# ruff: noqa: ARG001 - a turn has its session, and a method its parameters, whether it needs them or not

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from quick_settings import CHOICES, options
from quick_wire import HEARD, PARAMS, PROMPT, REMEMBERED, STATE, TOLD, ask, receive, say, send, update

SECRET = "sk-" + "ant-api03-q7Zt1Lw9RkX4vB2nM8sD5fG0hJ3pA6yC"


def echo(session: str, *words: str) -> Any:
    for word in words:
        say(session, word)


def think(session: str) -> Any:
    update(session, "agent_thought_chunk", content={"type": "text", "text": "hm, "})
    update(session, "agent_thought_chunk", content={"type": "text", "text": "well"})
    say(session, "done", messageId="m1")
    say(session, " and more", messageId="m2")


def recall(session: str) -> Any:
    say(session, json.dumps(REMEMBERED.get(session, [])))


def blocks(session: str) -> Any:
    say(session, json.dumps(PROMPT["prompt"][1:]))


def opened(session: str) -> Any:
    calls = [m for m in HEARD if str(m.get("method")).startswith("session/") and "cwd" in m["params"]]
    say(session, json.dumps([[call["method"], call["params"]] for call in calls]))


def settings(session: str) -> Any:
    sets = [message["params"] for message in HEARD if str(message.get("method")).startswith("session/set_")]
    told = [
        ["model", p["modelId"]]
        if "modelId" in p
        else [p["configId"], p["value"]]
        if "configId" in p
        else ["mode", p["modeId"]]
        for p in sets
    ]
    say(session, json.dumps(told))


def entitle(session: str) -> Any:
    update(session, "session_info_update", title=TOLD["version"])


def plan(session: str) -> Any:
    for status in ("pending", "in_progress", "completed"):
        entries = [{"content": "look", "priority": "high", "status": status}]
        update(session, "plan", entries=entries)
    say(session, "planned")


def usage(session: str, times: str = "1") -> Any:
    update(session, "usage_update", used=10, size=100, cost={"amount": 0.25, "currency": "USD"})
    update(session, "usage_update", used=20, size=100, cost={"amount": 0.5, "currency": "USD"})
    once = {"inputTokens": 3, "outputTokens": 2, "cachedReadTokens": 1}
    return {"stopReason": "end_turn", "usage": {name: int(times) * count for name, count in once.items()}}


def news(session: str) -> Any:
    """What holds for the session: a title, commands, another mode, another model."""
    update(session, "session_info_update", title="A title of the agent's own")
    commands = [{"name": "review", "description": "Look at changes"}]
    update(session, "available_commands_update", availableCommands=commands)
    STATE["mode"], STATE["model"] = "do", "large"
    update(session, "current_mode_update", currentModeId="do")
    update(session, "config_option_update", configOptions=options())
    say(session, "told")


def stops(session: str, reason: str) -> Any:
    return {"stopReason": reason}


def wait(session: str) -> Any:
    say(session, "waiting")
    while (message := receive()).get("method") != "session/cancel":
        if "id" in message and "method" in message:
            send(id=message["id"], result=CHOICES[message["method"]](message["params"]))
            say(session, f"mode {STATE['mode']} now")
    return {"stopReason": "cancelled"}


def unstoppable(session: str) -> Any:
    """Goes on when it is told to stop, as far as it is let."""
    say(session, "waiting")
    while receive().get("method") != "session/cancel":
        pass
    folder = Path(PARAMS[session]["cwd"])
    answers = [ask("fs/write_text_file", sessionId=session, path=str(folder / "made"), content="x")]
    command = {"command": "sh", "args": ["-c", "echo $$ > pid; exec sleep 100"]}
    answers.append(ask("terminal/create", sessionId=session, **command))
    (folder / "answers").write_text(json.dumps(answers))
    return {"stopReason": "cancelled"}


def mute(session: str) -> Any:
    """Says nothing before it is told to stop."""
    while receive().get("method") != "session/cancel":
        pass
    return {"stopReason": "cancelled"}


def until_steered(session: str) -> Any:
    say(session, "working")
    while True:
        message = receive()
        if message.get("method") == "_session/steering":
            send(id=message["id"], result={"outcome": TOLD.get("steering_outcome", "injected")})
            text = message["params"]["prompt"][0]["text"]
            say(session, text.removeprefix("echo "))
            return None


def steered(session: str, *outcomes: str) -> Any:
    """Hears as many steering messages, and answers them when it has them all, or is told to stop."""
    say(session, "working")
    asked: list[Any] = []
    while len(asked) < len(outcomes) and (message := receive()).get("method") != "session/cancel":
        if message.get("method") == "_session/steering":
            asked.append(message["id"])
            say(session, f" {len(asked)}")
    for request, outcome in zip(asked, outcomes, strict=False):
        if outcome == "error":
            send(id=request, error={"code": -32603, "message": "not now"})
        else:
            send(id=request, result={"outcome": outcome})
    return {"stopReason": "cancelled"} if len(asked) < len(outcomes) else None


def crash(session: str, code: str) -> Any:
    say(session, "going down")
    sys.stderr.write(f"the key is {SECRET}\nfatal: out of luck\n")
    sys.stderr.flush()
    os._exit(int(code))


def vanish(session: str) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def error(session: str, code: str, *words: str) -> Any:
    return {"error": {"code": int(code), "message": " ".join(words)}}
