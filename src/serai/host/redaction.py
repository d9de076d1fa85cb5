"""The masking of secrets on the way into a session's journal: whole actions, and text as it grows."""

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
    """Masks one session's actions. The end of a part's text may be held back: it may begin a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._streams: dict[_Part, StreamRedactor] = {}

    def masked(self, action: a.StateAction, *, is_masked: bool = False) -> list[a.StateAction]:
        """Return the actions to happen instead: text that was held back, and then the masked action."""
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
        """Return the output of a running tool, without an end that may be the first half of a secret."""
        if not isinstance(content, ToolResultTextContent):
            return content
        return replace(content, text=self._redactor.stream(observed=True).feed(content.text))

    def masked_delta(self, delta: Delta) -> Delta | None:
        """Return the delta to happen instead, as far as its text is sure; `None` for nothing yet."""
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
        """Return the rest of the parts that end with an action, masked where it has to be.

        Other parts go on: text that was released now might be the first half of a secret.
        """
        ended = [part for part in self._streams if _ends(action, part)]
        held = ((part, stream.flush()) for part in ended if (stream := self._streams.pop(part)).held)
        return [_delta(part, text) for part, text in held if text]


def written(action: A) -> tuple[A, bytes]:
    """Return an action and its JSON, before it is applied: what cannot be written must not happen.

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
"""Actions that end a text or a thought. The input of a call goes on meanwhile."""
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
    """Tell whether an action ends a part."""
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
