"""Turns of the quick agent that make calls, and ask whether they may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quick_requests import FORM
from quick_wire import PARAMS, ask, receive, say, send, told, update
from quick_words import wait

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def tool(session: str, outcome: str = "completed") -> Any:
    """A call without a question, in all of its steps."""
    update(session, "tool_call", toolCallId="c", title="Read notes", kind="read", status="pending")
    update(
        session,
        "tool_call_update",
        toolCallId="c",
        rawInput={"path": "notes.md"},
        locations=[{"path": "/notes.md", "line": 3}],
    )
    update(session, "tool_call_update", toolCallId="c", status="in_progress")
    text = {"type": "content", "content": {"type": "text", "text": "half"}}
    update(session, "tool_call_update", toolCallId="c", content=[text])
    whole = {"type": "content", "content": {"type": "text", "text": "the whole"}}
    update(session, "tool_call_update", toolCallId="c", status=outcome, content=[whole])


def permission(session: str, kinds: str = "yes,ever,no") -> Any:
    options = [option for option in OPTIONS if option["optionId"] in kinds.split(",")]
    call = {"toolCallId": "c", "title": "rm -rf /", "kind": "execute", "rawInput": {"command": "rm"}}
    answer = ask("session/request_permission", sessionId=session, toolCall=call, options=options)
    outcome = answer["result"]["outcome"]
    if outcome["outcome"] == "cancelled":
        say(session, "cancelled")
        return {"stopReason": "cancelled"}
    allowed = outcome["optionId"] in ("yes", "ever")
    update(session, "tool_call_update", toolCallId="c", status="completed" if allowed else "failed")
    say(session, outcome["optionId"])
    return None


def scripted(session: str, *words: str) -> Any:
    """Tells of a call what stands in its argument, as JSON, asks about it, or waits until it is cancelled."""
    for step in json.loads(" ".join(words)):
        match step.pop("do"):
            case "wait":
                return wait(session)
            case "begin asking":
                params = {"sessionId": session, "toolCall": {"toolCallId": "c", **step}, "options": OPTIONS}
                send(id="b", method="session/request_permission", params=params)
            case kind:
                update(session, kind, toolCallId="c", **step)
    return None


def untold(session: str) -> Any:
    """Asks about a call, begins another, and tells the end of neither."""
    call = {"toolCallId": "c", "title": "rm -rf /"}
    ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
    half = {"type": "content", "content": {"type": "text", "text": "half"}}
    update(session, "tool_call", toolCallId="d", title="make", status="in_progress", content=[half])
    update(session, "tool_call", toolCallId="e", title="never", status="pending")


def defiant(session: str) -> Any:
    """Asks about a call, and tells that it goes on, whatever the answer."""
    call = {"toolCallId": "c", "title": "make", "kind": "execute", "rawInput": {"command": "make"}}
    ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
    update(session, "tool_call_update", toolCallId="c", status="in_progress")
    content = [{"type": "content", "content": {"type": "text", "text": "made"}}]
    update(session, "tool_call_update", toolCallId="c", status="completed", content=content)


def withdrawn(session: str, method: str) -> Any:
    """Asks, and takes that back when its mode is changed; then the call runs all the same."""
    params: dict[str, Any] = {"sessionId": session, "message": "Who?", "requestedSchema": FORM}
    if method == "session/request_permission":
        params = {"sessionId": session, "toolCall": {"toolCallId": "c", "title": "ls"}, "options": OPTIONS}
    send(id="w", method=method, params=params)
    while (message := receive()).get("method") != "session/set_mode":
        pass
    send(id=message["id"], result={})
    send(method="$/cancel_request", params={"requestId": "w"})
    while (message := receive()).get("id") != "w":
        pass
    if method == "session/request_permission":
        update(session, "tool_call_update", toolCallId="c", title="ls", status="completed")
    say(session, told(message))


def unkind(session: str) -> Any:
    """Asks with options of no kind."""
    options = [{"optionId": name, "name": name.title()} for name in ("sure", "nope")]
    call = {"toolCallId": "c", "title": "ls", "rawInput": {"name": "é"}}
    say(session, told(ask("session/request_permission", sessionId=session, toolCall=call, options=options)))


def storm(session: str, count: str) -> Any:
    """Asks many times about two calls, all at once."""
    for number in range(int(count)):
        call = {"toolCallId": f"c{number % 2}", "title": f"call {number}"}
        send(
            id=f"s{number}",
            method="session/request_permission",
            params={"sessionId": session, "toolCall": call, "options": OPTIONS},
        )
    outcomes: list[str] = []
    stop = False
    while len(outcomes) < int(count):
        message = receive()
        stop = stop or message.get("method") == "session/cancel"
        if "result" in message:
            outcome = message["result"]["outcome"]
            outcomes.append(outcome.get("optionId", "cancelled"))
    say(session, ",".join(sorted(outcomes)))
    return {"stopReason": "cancelled"} if stop else None


def edit(session: str, path: str) -> Any:
    """Asks, then writes a file by itself."""
    target = Path(PARAMS[session]["cwd"]) / path
    diff = {"type": "diff", "path": str(target), "oldText": None, "newText": "new\n"}
    call = {"toolCallId": "e", "title": f"Write {path}", "kind": "edit", "content": [diff]}
    answer = ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
    if answer["result"]["outcome"].get("optionId") == "yes":
        target.write_text("new\n")
        update(session, "tool_call_update", toolCallId="e", status="completed", content=[diff])
    else:
        update(session, "tool_call_update", toolCallId="e", status="failed")


def mixed(session: str) -> Any:
    """A result of all kinds of content."""
    entries = [
        {"type": "content", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}},
        {"type": "content", "content": {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3}},
        {"type": "content", "content": {"type": "resource", "resource": {"uri": "x:", "text": "inside"}}},
        {"type": "diff", "path": "/w/a.py", "oldText": "1\n2\n", "newText": "1\n3\n4\n"},
        {"type": "terminal", "terminalId": "unknown"},
        {"type": "hologram", "depth": 3},
    ]
    update(session, "tool_call", toolCallId="m", title="Everything", status="completed", content=entries)
    update(session, "agent_message_chunk", content={"type": "image", "data": "aGk=", "mimeType": "image/png"})
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}
    update(session, "agent_message_chunk", content=link)


def twice(session: str, call_id: str = "c") -> Any:
    """Asks twice under one id, about two commands, and tells the second one's end."""
    for name in ("one", "two"):
        call = {"toolCallId": call_id, "title": f"touch {name}", "rawInput": {"command": f"touch {name}"}}
        ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
        update(session, "tool_call_update", toolCallId=call_id, status="in_progress")
    update(session, "tool_call_update", toolCallId=call_id, status="completed")
