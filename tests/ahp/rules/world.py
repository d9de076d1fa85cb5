"""A small world to judge actions in, and words for what the rules say.

The client that dispatches is `me` unless a test says otherwise; `you` is another one.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ahp.strategies import action as read_action
from serai.ahp.reducers import LiveSession, LiveState, LiveTerminal, live
from serai.ahp.rules import Judgement, Verdict, judge
from serai.ahp.types import RootState, SessionState, TerminalState
from serai.ahp.wire import convert, to_json

Json: TypeAlias = dict[str, Any]

ME: Final = "me"
YOU: Final = "you"
HELLO: Final[Json] = {"text": "hello"}


# --- states


def session(**fields: Any) -> LiveSession:
    """A session that is ready and idle, but for these fields of its state."""
    summary = {
        "resource": "ahp-session:/1",
        "provider": "demo",
        "title": "A session",
        "status": 1,
        "createdAt": 1,
        "modifiedAt": 1,
    }
    made = live(convert({"summary": summary, "lifecycle": "ready", "turns": [], **fields}, SessionState))
    assert isinstance(made, LiveSession)
    return made


def busy(*calls: Json, **fields: Any) -> LiveSession:
    """A session in whose running turn `t2` these calls were made. The turn `t1` has ended."""
    parts = [{"kind": "toolCall", "toolCall": call} for call in calls]
    ended = {"id": "t1", "userMessage": HELLO, "responseParts": [], "state": "complete"}
    return session(
        turns=[ended], activeTurn={"id": "t2", "userMessage": HELLO, "responseParts": parts}, **fields
    )


def call(status: str, call_id: str = "c1", **fields: Any) -> Json:
    """A tool call in that state, with all that the state needs."""
    needed: dict[str, Json] = {
        "streaming": {},
        "pending-confirmation": {"invocationMessage": "Run"},
        "running": {"invocationMessage": "Run", "confirmed": "not-needed"},
        "pending-result-confirmation": {
            "invocationMessage": "Run",
            "confirmed": "not-needed",
            "success": True,
            "pastTenseMessage": "Ran",
        },
        "completed": {
            "invocationMessage": "Run",
            "confirmed": "not-needed",
            "success": True,
            "pastTenseMessage": "Ran",
        },
        "cancelled": {"invocationMessage": "Run", "reason": "denied"},
    }
    own = needed.get(status, {})
    return {
        "status": status,
        "toolCallId": call_id,
        "toolName": "sh",
        "displayName": "Shell",
        **own,
        **fields,
    }


CALL_STATES: Final = (
    "streaming",
    "pending-confirmation",
    "running",
    "pending-result-confirmation",
    "completed",
    "cancelled",
    "later",
)


def terminal(**fields: Any) -> LiveTerminal:
    """A terminal that `me` holds, but for these fields of its state."""
    state = {"title": "sh", "content": [], "claim": {"kind": "client", "clientId": ME}, **fields}
    made = live(convert(state, TerminalState))
    assert isinstance(made, LiveTerminal)
    return made


def root(**fields: Any) -> LiveState[Any]:
    """The root channel."""
    return live(convert({"agents": [], **fields}, RootState))


# --- verdicts


def judged(state: LiveState[Any], action: Json, sender: str = ME) -> Judgement:
    """What the rules say. Whatever that is, they leave the state as it was."""
    before = to_json(state.snapshot())
    judgement = judge(state, read_action(action), sender)
    assert to_json(state.snapshot()) == before
    assert judgement.accepted is (judgement.verdict is Verdict.ACCEPT)
    assert (judgement.reason is None) is judgement.accepted
    return judgement


def accepts(state: LiveState[Any], action: Json, sender: str = ME) -> bool:
    """Whether the action may be applied."""
    return judged(state, action, sender).accepted


def rejection(state: LiveState[Any], action: Json, sender: str = ME) -> str:
    """The code of the rejection. It is followed by words for people."""
    verdict, reason = judged(state, action, sender)
    assert verdict is Verdict.REJECT
    assert reason is not None
    code, _, words = reason.partition(": ")
    assert words
    return code
