"""Turns of the quick agent that want something of the host: files, terminals, answers."""

from __future__ import annotations

from typing import Any

from quick_wire import NUMBER, ask, receive, say, send, told, update

FORM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2},
        "size": {"type": "integer", "minimum": 1, "default": 3},
        "colour": {"type": "string", "enum": ["red", "green"], "enumNames": ["Red", "Green"]},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
    },
}


def fs(session: str, path: str) -> Any:
    say(session, told(ask("fs/read_text_file", sessionId=session, path=path)))
    say(session, told(ask("fs/read_text_file", sessionId=session, path=path, line=2, limit=1)))
    say(session, told(ask("fs/write_text_file", sessionId=session, path=f"{path}.new", content="made\n")))
    say(session, told(ask("fs/read_text_file", sessionId=session, path="/etc/hostname")))
    say(session, told(ask("fs/read_text_file", sessionId=session, path=f"{path}.none")))


def terminal(session: str) -> Any:
    env = [{"name": "GREETING", "value": "hello"}]
    made = ask("terminal/create", sessionId=session, command="printf", args=["%s", "words"], env=env)
    if "result" not in made:
        say(session, told(made))
        return
    where = {"sessionId": session, "terminalId": made["result"]["terminalId"]}
    content = [{"type": "terminal", "terminalId": where["terminalId"]}]
    update(
        session,
        "tool_call",
        toolCallId="t",
        title="printf",
        kind="execute",
        status="in_progress",
        content=content,
    )
    say(session, told(ask("terminal/wait_for_exit", **where)))
    say(session, told(ask("terminal/output", **where)))
    update(session, "tool_call_update", toolCallId="t", status="completed")
    ask("terminal/release", **where)
    say(session, str(ask("terminal/output", **where)["error"]["code"]))
    made = ask(
        "terminal/create", sessionId=session, command="echo $GREETING; pwd", env=env, outputByteLimit=6
    )
    where["terminalId"] = made["result"]["terminalId"]
    ask("terminal/wait_for_exit", **where)
    say(session, told(ask("terminal/output", **where)))


def lasting(session: str, *words: str) -> Any:
    """Runs a command, and leaves it running."""
    ask("terminal/create", sessionId=session, command=" ".join(words))


def form(session: str) -> Any:
    answer = ask("elicitation/create", sessionId=session, mode="form", message="Who?", requestedSchema=FORM)
    say(session, told(answer))


def address(session: str) -> Any:
    where = {"mode": "url", "url": "https://example.org/x", "elicitationId": "e1"}
    NUMBER[0] += 1
    send(id="url", method="elicitation/create", params={"sessionId": session, "message": "Go", **where})
    send(method="elicitation/complete", params={"elicitationId": "e1"})
    while (message := receive()).get("id") != "url":
        pass
    say(session, told(message))


def elsewhere(session: str, url: str) -> Any:
    where = {"mode": "url", "url": url, "elicitationId": "e1"}
    say(session, told(ask("elicitation/create", sessionId=session, message="Go", **where)))
