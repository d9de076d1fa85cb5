"""A tool call in each of its states, and an action for each of its steps."""

from __future__ import annotations

from typing import Any

from ahp.reducers.cases import IN_PROGRESS, INPUT_NEEDED, IS_READ, NEWER, Json, call, markdown, running

YES: Json = {"id": "yes", "label": "Yes, always", "kind": "approve", "group": 1}
NO: Json = {"id": "no", "label": "No", "kind": "deny"}
TEXT: Json = {"type": "text", "text": "a.txt"}
TERMINAL: Json = {"type": "terminal", "resource": "ahp-terminal:/1", "title": "sh"}
EDITS: Json = {"items": [{"after": {"uri": "file:///a", "content": {"uri": "file:///new"}}}]}
SUGGESTION: Json = {"text": "use a dry run"}
RESULT: Json = {
    "success": False,
    "pastTenseMessage": {"markdown": "Ran `ls`"},
    "content": [TEXT],
    "structuredContent": {"files": None},
    "error": {"message": "no such folder", "code": "ENOENT"},
}
BASE: Json = {"toolClientId": "client-1", "_meta": {"kept": None}}
INPUT: Json = {"invocationMessage": "Run ls", "toolInput": '{"cmd":"ls"}'}
ALLOWED: Json = {"confirmed": "user-action", "selectedOption": YES}

CALLS: dict[str, Json] = {
    "streaming": {"partialInput": '{"cm', "invocationMessage": "Thinking"},
    "pending-confirmation": {
        **INPUT,
        "confirmationTitle": "Run in terminal",
        "edits": EDITS,
        "editable": True,
        "options": [YES, NO],
    },
    "running": {**INPUT, **ALLOWED, "content": [TERMINAL]},
    "pending-result-confirmation": {**INPUT, **ALLOWED, **RESULT},
    "completed": {**INPUT, **ALLOWED, **RESULT},
    "cancelled": {
        **INPUT,
        "reason": "denied",
        "reasonMessage": "no",
        "userSuggestion": SUGGESTION,
        "selectedOption": NO,
    },
    "paused": {"whatever": [None]},  # newer than this version
}
WAITING = {"pending-confirmation", "pending-result-confirmation"}


def at(status: str, *, flags: int = IS_READ | NEWER, **fields: Any) -> Json:
    """A session whose running turn has one call, in that state."""
    bits = INPUT_NEEDED if status in WAITING else IN_PROGRESS
    tool_call = call(status, **{**BASE, **CALLS[status], **fields})
    return running(markdown("p1", "text"), tool_call, status=bits | flags)


def reached(status: str, **fields: Any) -> Json:
    """The same session with the call in another state that has these fields, and of the old ones the base."""
    bits = INPUT_NEEDED if status in WAITING else IN_PROGRESS
    return running(markdown("p1", "text"), call(status, **BASE, **fields), status=bits | IS_READ | NEWER)


def act(name: str, *, turn_id: str = "t1", call_id: str = "c1", **fields: Any) -> Json:
    """An action on the call. Its own `_meta` is not stored."""
    target = {"turnId": turn_id, "toolCallId": call_id, "_meta": {"ignored": 1}}
    return {"type": f"session/toolCall{name}", **target, **fields}


START = {
    "type": "session/toolCallStart",
    "turnId": "t1",
    "toolCallId": "c1",
    "toolName": "shell",
    "displayName": "Shell",
}
DELTA = act("Delta", content='d":', invocationMessage={"markdown": "*Typing*"})
ASK: Json = {"invocationMessage": "May I?", "toolInput": "{}"}
OFFER: Json = {"confirmationTitle": "Write", "edits": EDITS, "editable": False, "options": [NO]}
READY = act("Ready", **ASK, **OFFER)
READY_CONFIRMED = act("Ready", **ASK, **OFFER, confirmed="setting")
APPROVE = act(
    "Confirmed", approved=True, confirmed="user-action", editedToolInput="{1}", selectedOptionId="yes"
)
DENY = act(
    *("Confirmed",),
    approved=False,
    reason="denied",
    reasonMessage={"markdown": "*no*"},
    userSuggestion=SUGGESTION,
    selectedOptionId="no",
)
COMPLETE = act("Complete", result=RESULT)
COMPLETE_ASKING = act("Complete", result=RESULT, requiresResultConfirmation=True)
RESULT_YES = act("ResultConfirmed", approved=True)
RESULT_NO = act("ResultConfirmed", approved=False)
CONTENT = act("ContentChanged", content=[TEXT, TEXT])

EVERY_ACTION: dict[str, Json] = {
    "delta": DELTA,
    "ready": READY,
    "ready, confirmed": READY_CONFIRMED,
    "approve": APPROVE,
    "deny": DENY,
    "complete": COMPLETE,
    "complete, asking": COMPLETE_ASKING,
    "result yes": RESULT_YES,
    "result no": RESULT_NO,
    "content": CONTENT,
}
