"""Old turns that an agent tells in the middle of a new one, because it was late with its history."""

from __future__ import annotations

from collections.abc import Sequence

from serai.acp import AgentMessageChunk, AgentThoughtChunk, ToolCall, ToolCallUpdate, Update, UserMessageChunk
from serai.ahp.types import MarkdownResponsePart, ReasoningResponsePart, ToolCallResponsePart, Turn
from serai.ahp.wire import Unknown

__all__ = ["Replay"]


class Replay:
    """Knows the old from the new in the first turn after a session was loaded.

    Only what is known for sure to be old counts as old: it begins with a message of an earlier turn, and goes
    on as long as the rest is what that turn has. The first thing that differs is new, and so is all after it
    until another old message comes.

    Args:
        turns: The earlier turns.
        prompt: What the person has said now.
    """

    def __init__(self, turns: Sequence[Turn], prompt: str) -> None:
        self._turns = {
            turn.user_message.text.strip(): turn for turn in turns if turn.user_message.text.strip()
        }
        self._prompt = prompt
        self._is_telling = False
        self._said = self._thought = ""
        """What the agent has yet to tell of the turn that it is telling again."""
        self._calls: set[str] = set()

    def is_old(self, update: Update) -> bool:
        """Whether it is history. To be asked once about each update, in their order."""
        match update:
            case UserMessageChunk():
                return self._begins(update.text or "")
            case AgentMessageChunk() if self._is_telling:
                self._said = self._after(self._said, update.text)
            case AgentThoughtChunk() if self._is_telling:
                self._thought = self._after(self._thought, update.text)
            case ToolCall() | ToolCallUpdate() if self._is_telling:
                self._is_telling = update.tool_call_id in self._calls
            case _:
                return False
        return self._is_telling

    def _begins(self, text: str) -> bool:
        turn = self._turns.get(text.strip())
        self._is_telling = turn is not None and text.strip() not in self._prompt
        if turn is not None and self._is_telling:
            parts = turn.response_parts
            self._said = "".join(part.content for part in parts if isinstance(part, MarkdownResponsePart))
            self._thought = "".join(part.content for part in parts if isinstance(part, ReasoningResponsePart))
            self._calls = {
                part.tool_call.tool_call_id
                for part in parts
                if isinstance(part, ToolCallResponsePart) and not isinstance(part.tool_call, Unknown)
            }
        return self._is_telling

    def _after(self, left: str, text: str | None) -> str:
        """What is left when this was told, too; if it is something else, it is new."""
        left, told = left.lstrip(), (text or "").lstrip()
        self._is_telling = bool(text) and left.startswith(told)
        return left[len(told) :]
