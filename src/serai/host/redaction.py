"""Secrets are masked on the way into a session's journal: whole actions at once, growing text as it grows."""

from __future__ import annotations

import re
from typing import TypeVar

from msgspec.structs import replace

from serai.ahp import actions as a, wire
from serai.ahp.types import ToolResultContent, ToolResultTextContent
from serai.errors import ParseError
from serai.journal.batches import Delta, is_delta, target_of
from serai.redact import Redactor, StreamRedactor
from serai.redact.walk import Walker

A = TypeVar("A", bound=a.StateAction)

_Part = tuple[type[Delta], str, str]


class Redaction:
    """What one session's actions pass through. A part's text may hold the beginning of a secret back."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._streams: dict[_Part, StreamRedactor] = {}

    def masked(self, action: a.StateAction, *, is_masked: bool = False) -> list[a.StateAction]:
        """What may happen instead: the action with its secrets masked, after what was held back before it."""
        if is_delta(action):
            delta = self.masked_delta(action)
            return [] if delta is None else [delta]
        released = self._released(action) if action.__class__ in _ENDS else []
        # An empty part is going to say something as deltas.
        is_empty = type(action) is a.SessionResponsePartAction and getattr(action.part, "content", None) == ""
        if isinstance(action, a.SessionToolCallContentChangedAction):
            action = replace(action, content=[*map(self._so_far, action.content)])
        masked = action if is_masked or is_empty else self._redactor.redact_value(action, observed=True)
        return [*released, masked]

    def _so_far(self, content: ToolResultContent) -> ToolResultContent:
        """What a running tool shows: without an end of its text that may be the first half of a secret."""
        if not isinstance(content, ToolResultTextContent):
            return content
        return replace(content, text=self._redactor.stream(observed=True).feed(content.text))

    def masked_delta(self, delta: Delta) -> Delta | None:
        """What may happen instead of a delta, with its text as far as it is sure; `None` for nothing yet."""
        part = target_of(delta)
        stream = self._streams.get(part)
        if stream is None:
            stream = self._streams[part] = self._redactor.stream(observed=True)
        content = stream.feed(delta.content)
        if type(delta) is a.SessionToolCallDeltaAction and delta.invocation_message is not None:
            message = self._redactor.redact_value(delta.invocation_message, observed=True)
            return replace(delta, content=content, invocation_message=message)
        if content == delta.content:
            return delta
        return replace(delta, content=content) if content else None

    def _released(self, action: a.StateAction) -> list[a.StateAction]:
        """What is still held back of the parts that end with this, masked where it has to be.

        Of all others the text goes on: what would be let go here might be the first half of a secret.
        """
        ended = [part for part in self._streams if _ends(action, part)]
        held = ((part, stream.flush()) for part in ended if (stream := self._streams.pop(part)).held)
        return [_delta(part, text) for part, text in held if text]


def written(action: A) -> tuple[A, bytes]:
    """An action and its JSON, to be made before it is applied: what cannot be written must not happen.

    Text that is not Unicode, such as the name of a file that is not UTF-8, is mended with U+FFFD.

    Raises:
        TypeError: It holds something that is no JSON.
    """
    try:
        return action, wire.encode(action)
    except ParseError:
        mended = _MEND.walk(action)
        return mended, wire.encode(mended)


_HALF = re.compile("[\ud800-\udfff]")


def _mend(text: str) -> str:
    return _HALF.sub("\N{REPLACEMENT CHARACTER}", text)


_MEND = Walker(_mend, _mend, _mend)


_ENDS_TEXT = frozenset({a.SessionResponsePartAction, a.SessionToolCallStartAction})
"""What begins where a text or a thought ends. The input of a call goes on meanwhile."""
_ENDS_ALL = frozenset(
    {
        a.SessionTurnCompleteAction,
        a.SessionTurnCancelledAction,
        a.SessionErrorAction,
        a.SessionTruncatedAction,
    }
)
_ENDS = _ENDS_TEXT | _ENDS_ALL | {a.SessionToolCallReadyAction}


def _ends(action: a.StateAction, part: _Part) -> bool:
    """Whether nothing is added to a part after this."""
    kind, _, part_id = part
    if kind is a.SessionToolCallDeltaAction and type(action) is a.SessionToolCallReadyAction:
        return part_id == action.tool_call_id
    if kind is not a.SessionToolCallDeltaAction and action.__class__ in _ENDS_TEXT:
        return True
    return action.__class__ in _ENDS_ALL


def _delta(part: _Part, content: str) -> a.StateAction:
    kind, turn_id, part_id = part
    if kind is a.SessionToolCallDeltaAction:
        return a.SessionToolCallDeltaAction(turn_id=turn_id, tool_call_id=part_id, content=content)
    text = a.SessionReasoningAction if kind is a.SessionReasoningAction else a.SessionDeltaAction
    return text(turn_id=turn_id, part_id=part_id, content=content)
