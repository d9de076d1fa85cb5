"""The running turn, stored so that the cost of a delta does not depend on the size of the turn.

Parts are found by id, growing text is a list of pieces, and calls that wait for a person are indexed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from serai.ahp.reducers import toolcalls
from serai.ahp.reducers.live import GrowingText
from serai.ahp.types import (
    ActiveTurn,
    MarkdownResponsePart,
    ReasoningResponsePart,
    ResponsePart,
    StringOrMarkdown,
    ToolCallResponsePart,
    ToolCallState,
    ToolCallStreamingState,
    UsageInfo,
    UserMessage,
)
from serai.ahp.wire import Unknown

TextPart = MarkdownResponsePart | ReasoningResponsePart


class LiveTurn:
    """An `ActiveTurn` that is changed in place. It never changes the one that it was made from."""

    __slots__ = ("_calls", "_parts", "_positions", "_texts", "_turn", "_waiting")

    def __init__(self, turn: ActiveTurn) -> None:
        self._turn = replace(turn, response_parts=[])
        self._parts: list[ResponsePart] = []
        # Part id -> the first part that has it. A part is never removed, so a position stays true.
        self._positions: dict[str, int] = {}
        # Tool call id -> all parts that have it.
        self._calls: dict[str, list[int]] = {}
        # Position -> text of a part that has grown.
        self._texts: dict[int, GrowingText] = {}
        # Positions of tool calls that wait for a confirmation.
        self._waiting: set[int] = set()
        for part in turn.response_parts:
            self.append(part)

    @property
    def id(self) -> str:
        """Id of the turn."""
        return self._turn.id

    @property
    def user_message(self) -> UserMessage:
        """The message that the turn answers."""
        return self._turn.user_message

    @property
    def usage(self) -> UsageInfo | None:
        """The usage so far."""
        return self._turn.usage

    @usage.setter
    def usage(self, usage: UsageInfo) -> None:
        self._turn.usage = usage

    @property
    def waits_for_someone(self) -> bool:
        """True while a tool call waits for a confirmation."""
        return bool(self._waiting)

    def call(self, call_id: str) -> ToolCallState | None:
        """Return the tool call with an id; if there are several, the first."""
        return next(iter(self.calls(call_id)), None)

    def calls(self, call_id: str | None = None) -> list[ToolCallState]:
        """Return all tool calls in order, or those with one id. The end of streaming input may be missing."""
        positions = range(len(self._parts)) if call_id is None else self._calls.get(call_id, ())
        parts = (self._parts[position] for position in positions)
        return [part.tool_call for part in parts if isinstance(part, ToolCallResponsePart)]

    def append(self, part: ResponsePart) -> None:
        """Add a part at the end."""
        position = len(self._parts)
        self._parts.append(part)
        part_id = _part_id(part)
        if part_id is not None:
            self._positions.setdefault(part_id, position)
        if isinstance(part, ToolCallResponsePart) and not isinstance(part.tool_call, Unknown):
            self._calls.setdefault(part.tool_call.tool_call_id, []).append(position)
            if toolcalls.is_waiting(part.tool_call):
                self._waiting.add(position)

    def grow(self, part_id: str, kind: type[TextPart], content: str) -> None:
        """Add text to the first part with that id, if it is of that kind."""
        position = self._positions.get(part_id)
        if position is None:
            return
        part = self._parts[position]
        if not isinstance(part, kind):
            return
        text = self._texts.get(position)
        if text is None:
            text = self._texts[position] = GrowingText(part.content)
        text.append(content)

    def grow_input(self, call_id: str, content: str, message: StringOrMarkdown | None) -> None:
        """Add to the input of a call that is still streaming, and perhaps replace its message."""
        for position in self._calls.get(call_id, ()):
            part = self._parts[position]
            if not isinstance(part, ToolCallResponsePart):
                continue
            call = part.tool_call
            if not isinstance(call, ToolCallStreamingState):
                continue
            if message is not None:
                self._parts[position] = replace(part, tool_call=replace(call, invocation_message=message))
            text = self._texts.get(position)
            if text is None:
                text = self._texts[position] = GrowingText(call.partial_input or "")
            text.append(content)

    def change_call(self, call_id: str, step: Callable[[ToolCallState], ToolCallState]) -> None:
        """Apply a step to every part of that call."""
        for position in self._calls.get(call_id, ()):
            part = self._parts[position]
            if not isinstance(part, ToolCallResponsePart):
                continue
            after = step(part.tool_call)
            if after is part.tool_call:
                continue
            self._parts[position] = replace(part, tool_call=after)
            self._texts.pop(position, None)  # only streaming input grows, and it is over
            if toolcalls.is_waiting(after):
                self._waiting.add(position)
            else:
                self._waiting.discard(position)

    def parts(self) -> list[ResponsePart]:
        """Return all parts, with their text joined."""
        parts = self._parts.copy()
        for position, text in self._texts.items():
            parts[position] = _with_text(parts[position], str(text))
        return parts

    def finished_parts(self) -> list[ResponsePart]:
        """Return all parts as they are after the turn: calls that have not finished are cancelled."""
        return [
            replace(part, tool_call=toolcalls.skip(part.tool_call))
            if isinstance(part, ToolCallResponsePart)
            else part
            for part in self.parts()
        ]

    def snapshot(self) -> ActiveTurn:
        """Return the turn as a separate value."""
        return replace(self._turn, response_parts=self.parts())


def _part_id(part: ResponsePart) -> str | None:
    """Return the id by which a delta names this part, if it has one. Unknown kinds may have one, too."""
    part_id: Any = None
    if type(part) is MarkdownResponsePart or type(part) is ReasoningResponsePart:
        return part.id
    if isinstance(part, ToolCallResponsePart):
        call = part.tool_call
        part_id = call.raw.get("toolCallId") if isinstance(call, Unknown) else call.tool_call_id
    elif isinstance(part.extra, dict):
        part_id = part.extra.get("id")
    return part_id if isinstance(part_id, str) else None


def _with_text(part: ResponsePart, text: str) -> ResponsePart:
    match part:
        case MarkdownResponsePart() | ReasoningResponsePart():
            return replace(part, content=text)
        case ToolCallResponsePart(tool_call=ToolCallStreamingState() as call):
            return replace(part, tool_call=replace(call, partial_input=text))
        case _:
            return part
