"""An agent that does as it is told, with the standard library only: it starts quickly.

What it is told stands in its argument, as JSON: `capabilities`, `meta` and `methods` for its handshake,
`new_error` to refuse sessions, `signed_in` a file that has to be there, `modes` and `options` for its
sessions, `keep` a folder in which it keeps them, `late` how long after `session/load` and its like it tells
the history (`prompt`: only in the next turn; `never`), `repeats` to repeat each prompt, `dies_in` and
`silent_in` what it does not survive or answer.
What it does in a turn is the first line of the prompt: the name of a function below, and words for it.
Whatever it is asked, it keeps in `heard`, and the turn `recall` tells it.
"""

# ruff: noqa: ARG001 - a turn has its session, and a method its parameters, whether it needs them or not

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOLD: dict[str, Any] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
KEEP = Path(TOLD["keep"]) if "keep" in TOLD else None
HEARD: list[dict[str, Any]] = []
PENDING: list[dict[str, Any]] = []
REMEMBERED: dict[str, list[str]] = {}
STATE: dict[str, Any] = {"mode": "ask", "model": "small", "effort": "low", "loud": False}
NUMBER = [0]
SECRET = "sk-" + "ant-api03-q7Zt1Lw9RkX4vB2nM8sD5fG0hJ3pA6yC"


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    if PENDING:
        return PENDING.pop(0)
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message = json.loads(line)
    HEARD.append(message)
    return message


def update(session: str, kind: str, /, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **fields}})


def say(session: str, text: str, **more: Any) -> None:
    update(session, "agent_message_chunk", content={"type": "text", "text": text}, **more)


def ask(method: str, **params: Any) -> dict[str, Any]:
    """Ask the client and wait for its answer. What else comes meanwhile is looked at later."""
    NUMBER[0] += 1
    request = f"q{NUMBER[0]}"
    send(id=request, method=method, params=params)
    kept: list[dict[str, Any]] = []
    while True:
        message = receive()
        if message.get("id") == request and "method" not in message:
            PENDING[:0] = kept
            return message
        kept.append(message)


def told(answer: dict[str, Any]) -> str:
    return json.dumps(answer.get("result", answer.get("error")), sort_keys=True)


# -- turns -------------------------------------------------------------------------------------------------


def echo(session: str, *words: str) -> Any:
    for word in words:
        say(session, word)


def careful(session: str) -> Any:
    """Says what it is about to do, and asks."""
    say(session, "I will ask.")
    permission(session)


def paused(session: str) -> Any:
    """Begins a call, and goes on when its mode is changed."""
    update(session, "tool_call", toolCallId="p", title="make", status="in_progress")
    while (message := receive()).get("method") != "session/set_mode":
        pass
    send(id=message["id"], result=set_mode(message["params"]))
    update(session, "tool_call_update", toolCallId="p", status="completed")
    say(session, "made")


def fixit(session: str, how: str = "") -> Any:
    """Reads a file. The first process goes down over it; those after it say that all is done."""
    call = f"k{os.getpid()}"
    update(session, "tool_call", toolCallId=call, title="Read foo.py", kind="read", status="in_progress")
    began = Path(PARAMS[session]["cwd"], "began")
    if not began.exists():
        began.touch()
        if KEEP is not None and how == "keeps":
            (KEEP / session).write_text(json.dumps([PROMPT["prompt"][0]["text"]]))
        os._exit(1)
    update(session, "tool_call_update", toolCallId=call, status="completed")
    say(session, "It is fixed.")


def further(session: str) -> Any:
    """Gets further the second time."""
    update(session, "tool_call", toolCallId="k0", title="Read foo.py", status="completed")
    say(session, "Done.")
    if REMEMBERED.get(session):
        say(session, " All tests pass.")
        update(session, "tool_call", toolCallId="k1", title="Run tests", status="completed")


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
    told = [[p["configId"], p["value"]] if "configId" in p else ["mode", p["modeId"]] for p in sets]
    say(session, json.dumps(told))


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


def renamed(session: str) -> Any:
    """A call that has no more than a promise of a title at first."""
    update(session, "tool_call", toolCallId="c", title="Preparing file…", kind="edit", status="pending")
    update(session, "tool_call_update", toolCallId="c", title="Write a.txt", status="completed")


def stray(session: str) -> Any:
    """The first that is heard of a call is its end."""
    update(
        session, "tool_call_update", toolCallId="c", title="ls", status="completed", rawOutput={"output": "a"}
    )


OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


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


def untold(session: str, then: str) -> Any:
    """Asks about a call, begins another, and tells the end of neither."""
    call = {"toolCallId": "c", "title": "rm -rf /"}
    ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
    half = {"type": "content", "content": {"type": "text", "text": "half"}}
    update(session, "tool_call", toolCallId="d", title="make", status="in_progress", content=[half])
    update(session, "tool_call", toolCallId="e", title="never", status="pending")
    if then == "crash":
        os._exit(1)


def settled(session: str, status: str) -> Any:
    """Asks about a call, and ends it without the answer."""
    call = {"toolCallId": "c", "title": "ls"}
    params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
    send(id="s", method="session/request_permission", params=params)
    update(session, "tool_call_update", toolCallId="c", status=status)
    while (message := receive()).get("id") != "s":
        pass
    say(session, told(message))


def hasty(session: str, then: str) -> Any:
    """Asks about a call, begins it without the answer when its mode is changed, and tells no end of it."""
    call = {"toolCallId": "c", "title": "make"}
    params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
    send(id="h", method="session/request_permission", params=params)
    while (message := receive()).get("method") != "session/set_mode":
        pass
    send(id=message["id"], result={})
    update(session, "tool_call_update", toolCallId="c", status="in_progress")
    if then == "crash":
        os._exit(1)


def reasked(session: str, then: str) -> Any:
    """Begins a call, asks whether it may run, and goes on when its mode is changed, whatever the answer."""
    half = {"type": "content", "content": {"type": "text", "text": "half"}}
    update(session, "tool_call", toolCallId="c", title="make", status="in_progress", content=[half])
    params = {"sessionId": session, "toolCall": {"toolCallId": "c"}, "options": OPTIONS}
    send(id="r", method="session/request_permission", params=params)
    while (message := receive()).get("method") != "session/set_mode":
        pass
    send(id=message["id"], result={})
    if then == "crash":
        os._exit(1)
    if then == "completed":
        update(session, "tool_call_update", toolCallId="c", status="completed")


def again_hasty(session: str, then: str) -> Any:
    """Asks about a call, and when it may not run is as hasty with it as can be."""
    call = {"toolCallId": "c", "title": "make"}
    ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
    hasty(session, then)


def defiant(session: str, *statuses: str) -> Any:
    """Asks about a call, and tells that it goes on, whatever the answer."""
    call = {"toolCallId": "c", "title": "make"}
    ask("session/request_permission", sessionId=session, toolCall=call, options=OPTIONS)
    for status in statuses:
        name, _, text = status.partition(":")
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        if text == "diff":
            content = [{"type": "diff", "path": "a.txt", "newText": "a"}]
        more = {"content": content} if text else {}
        update(session, "tool_call_update", toolCallId="c", status=name, **more)


def thrice(session: str) -> Any:
    """Asks three times about one call, all at once, and then runs it."""
    params = {"sessionId": session, "toolCall": {"toolCallId": "c", "title": "make"}, "options": OPTIONS}
    for number in range(3):
        send(id=f"t{number}", method="session/request_permission", params=params)
    outcomes: list[str] = []
    while len(outcomes) < 3:
        message = receive()
        if "result" in message:
            outcomes.append(message["result"]["outcome"].get("optionId", "cancelled"))
    update(session, "tool_call_update", toolCallId="c", status="in_progress")
    update(session, "tool_call_update", toolCallId="c", status="completed")
    say(session, ",".join(outcomes))


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


def growing(session: str, count: str) -> Any:
    """A call whose output grows, to half a megabyte."""
    update(session, "tool_call", toolCallId="g", title="make", status="in_progress")
    text = ""
    for number in range(int(count)):
        text += str(number % 10) * (500_000 // int(count))
        entry = {"type": "content", "content": {"type": "text", "text": text}}
        update(session, "tool_call_update", toolCallId="g", content=[entry])
    wait(session)


def burst(session: str, count: str) -> Any:
    """A call that tells what it has so often, all in one breath."""
    update(session, "tool_call", toolCallId="b", title="make", status="in_progress")
    entries = [
        {"type": "content", "content": {"type": "text", "text": f"line {n}"}} for n in range(int(count))
    ]
    told = [{"sessionUpdate": "tool_call_update", "toolCallId": "b", "content": [entry]} for entry in entries]
    lines = [
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": each}}
        for each in (*told, {"sessionUpdate": "tool_call_update", "toolCallId": "b", "status": "completed"})
    ]
    sys.stdout.write("".join(json.dumps(line) + "\n" for line in lines))
    sys.stdout.flush()


def again(session: str) -> Any:
    """Two calls that have one id."""
    for title in ("first", "second"):
        update(session, "tool_call", toolCallId="c", title=title, status="in_progress")
        update(session, "tool_call_update", toolCallId="c", status="completed")


def unkind(session: str, *names: str) -> Any:
    """Asks with options of no kind."""
    options = [{"optionId": name, "name": name.title()} for name in names]
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


def plan(session: str) -> Any:
    for status in ("pending", "in_progress", "completed"):
        entries = [{"content": "look", "priority": "high", "status": status}]
        update(session, "plan", entries=entries)
    say(session, "planned")


def usage(session: str) -> Any:
    update(session, "usage_update", used=10, size=100, cost={"amount": 0.25, "currency": "USD"})
    update(session, "usage_update", used=20, size=100, cost={"amount": 0.5, "currency": "USD"})
    return {"stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 2, "cachedReadTokens": 1}}


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
            send(id=message["id"], result=METHODS[message["method"]](message["params"]))
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
            if TOLD.get("repeats"):
                update(session, "user_message_chunk", content={"type": "text", "text": text})
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


MADE: dict[str, str] = {}


def lasting(session: str, *words: str) -> Any:
    """Runs a command, and leaves it running."""
    made = ask("terminal/create", sessionId=session, command=" ".join(words))
    MADE["terminalId"] = made["result"]["terminalId"]


def ending(session: str) -> Any:
    """Looks at the command of an earlier turn, ends it and looks again."""
    where = {"sessionId": session, **MADE}
    while not (output := ask("terminal/output", **where)).get("result", {"output": "none"})["output"]:
        pass
    say(session, told(output))
    ask("terminal/kill", **where)
    say(session, told(ask("terminal/wait_for_exit", **where)))


def awaited(session: str, *words: str) -> Any:
    lasting(session, *words)
    where = {"sessionId": session, **MADE}
    ask("terminal/wait_for_exit", **where)
    output = ask("terminal/output", **where)["result"]
    shown = output["output"]
    say(session, json.dumps({**output, "output": [shown[:20], shown[-20:]]}))


def lines(session: str, path: str, *ranges: str) -> Any:
    for each in ranges:
        line, limit = json.loads(each)
        say(session, told(ask("fs/read_text_file", sessionId=session, path=path, line=line, limit=limit)))


def put(session: str, path: str) -> Any:
    say(session, told(ask("fs/write_text_file", sessionId=session, path=path, content="made")))


def ask_between(session: str) -> None:
    """Asks while no turn runs, and writes down what it was told."""
    folder = PARAMS[session]["cwd"]
    where = {"sessionId": session, "path": f"{folder}/a"}
    answers = [ask("fs/read_text_file", **where), ask("fs/write_text_file", **where, content="")]
    answers.append(ask("terminal/create", sessionId=session, command="ls"))
    Path(folder, "answers").write_text(json.dumps(answers))


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


def namesakes(session: str) -> Any:
    """Two questions that have one name."""
    params = {"sessionId": session, "mode": "form", "elicitationId": "e", "requestedSchema": FORM}
    for number in ("1", "2"):
        send(id=number, method="elicitation/create", params={**params, "message": number})
    answers: dict[str, str] = {}
    while len(answers) < 2:
        message = receive()
        if "result" in message:
            answers[message["id"]] = message["result"]["action"]
    say(session, json.dumps(answers, sort_keys=True))


# -- the protocol ------------------------------------------------------------------------------------------

PARAMS: dict[str, dict[str, Any]] = {}
PROMPT: dict[str, Any] = {}


def initialize(params: dict[str, Any]) -> Any:
    return {
        "protocolVersion": 1,
        "agentCapabilities": TOLD.get("capabilities", {}),
        "agentInfo": {"name": "quick", "title": "Quick", "version": "1.2"},
        "authMethods": TOLD.get("methods", []),
        "_meta": TOLD.get("meta", {}),
    }


def select(name: str, category: str | None, values: list[str]) -> dict[str, Any]:
    return {
        "id": name,
        "name": name.title(),
        "category": category,
        "type": "select",
        "currentValue": STATE[name],
        "options": [{"value": value, "name": value.title()} for value in values],
    }


def options() -> list[dict[str, Any]]:
    if "options" not in TOLD:
        return []
    loud = {"id": "loud", "name": "Loud", "type": "boolean", "currentValue": STATE["loud"]}
    return [
        select("model", "model", ["small", "large"]),
        select("effort", "thought_level", ["low", "high"]),
        loud,
    ]


def reply(session: str) -> dict[str, Any]:
    answer: dict[str, Any] = {"configOptions": options()} if options() else {}
    if "modes" in TOLD:
        modes = [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}]
        answer["modes"] = {"currentModeId": STATE["mode"], "availableModes": modes}
    return answer


def new(params: dict[str, Any]) -> Any:
    if "signed_in" in TOLD and not Path(TOLD["signed_in"]).exists():
        return {"error": {"code": -32000, "message": "Authentication required"}}
    if "new_error" in TOLD:
        return {"error": TOLD["new_error"]}
    session = f"own-{os.getpid()}-{len(PARAMS)}"
    PARAMS[session] = params
    if KEEP is not None and TOLD.get("keeps_at_once"):
        (KEEP / session).write_text("[]")
    for _ in range(TOLD.get("chatty", 0)):
        say(session, "welcome")
    if "options" in TOLD:
        commands = [{"name": "early", "description": ""}]
        update(session, "available_commands_update", availableCommands=commands)
    return {"sessionId": session, **reply(session)}


def load(params: dict[str, Any]) -> Any:
    session = params["sessionId"]
    if KEEP is None or not (KEEP / session).exists() or TOLD.get("forgets"):
        return {"error": {"code": -32002, "message": "Resource not found"}}
    PARAMS[session] = params
    REMEMBERED[session] = json.loads((KEEP / session).read_text())
    if "late" in TOLD:
        tell_later(session)
    else:
        retell(session, REMEMBERED[session])
    return reply(session)


def tell_later(session: str) -> None:
    if TOLD.get("late") == "prompt":
        LATE.extend(REMEMBERED[session])
    elif TOLD.get("late", "never") != "never":
        TELLING.append(threading.Timer(TOLD["late"], retell, [session, list(REMEMBERED[session])]))
        TELLING[-1].start()


LATE: list[str] = []
AROUND = TOLD.get("around", "{}")
"""What stands around the words of late history."""
TELLING: list[threading.Timer] = []


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


def set_mode(params: dict[str, Any]) -> Any:
    if params["modeId"] == "do" and TOLD.get("stubborn"):
        return {"error": {"code": -32603, "message": "not today"}}
    STATE["mode"] = params["modeId"]
    if TOLD.get("asks_between"):
        ask_between(params["sessionId"])
    return {}


def set_option(params: dict[str, Any]) -> Any:
    STATE[params["configId"]] = params["value"]
    return {"configOptions": options()}


def prompt(params: dict[str, Any]) -> Any:
    session = params["sessionId"]
    PROMPT.clear()
    PROMPT.update(params)
    while TELLING:  # nothing is done before all is told
        TELLING.pop().join()
    while LATE:  # the history, as it was, or nearly
        update(session, "user_message_chunk", content={"type": "text", "text": AROUND.format(LATE[0])})
        name, *words = LATE.pop(0).split(" ")
        globals()[name](session, *(AROUND.format(word) for word in words))
    text = next(block["text"] for block in params["prompt"] if block["type"] == "text")
    if TOLD.get("repeats"):
        update(session, "user_message_chunk", content={"type": "text", "text": text})
    name, *words = text.splitlines()[0].split(" ")
    turn: Callable[..., Any] = globals()[name]
    result = turn(session, *words) or {"stopReason": "end_turn"}
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
    "session/set_mode": set_mode,
    "session/set_config_option": set_option,
    "session/prompt": prompt,
}

while True:
    MESSAGE = receive()
    if "method" not in MESSAGE or "id" not in MESSAGE:
        continue
    if MESSAGE["method"] in TOLD.get("dies_in", ()):
        os.kill(os.getpid(), signal.SIGKILL)
    if MESSAGE["method"] in TOLD.get("silent_in", ()):
        continue
    handler = METHODS.get(MESSAGE["method"])
    if handler is None:
        send(id=MESSAGE["id"], error={"code": -32601, "message": "no such method"})
        continue
    outcome = handler(MESSAGE["params"])
    if "error" in outcome:
        send(id=MESSAGE["id"], error=outcome["error"])
    else:
        send(id=MESSAGE["id"], result=outcome)
    if TOLD.get("reads_at_once") and "cwd" in MESSAGE["params"] and "error" not in outcome:
        session = outcome.get("sessionId") or MESSAGE["params"]["sessionId"]
        found = ask("fs/read_text_file", sessionId=session, path="a")
        Path(PARAMS[session]["cwd"], "answers").write_text(json.dumps(found))
