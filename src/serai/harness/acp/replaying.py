"""Old turns that an agent tells again, because it opens a session of before, and is late with its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from serai.acp import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Item,
    PlanUpdate,
    ToolCall,
    ToolCallUpdate,
    UserMessageChunk,
)
from serai.ahp.types import (
    MarkdownResponsePart,
    ReasoningResponsePart,
    StringOrMarkdown,
    SystemNotificationResponsePart,
    ToolCallResponsePart,
    Turn,
)
from serai.ahp.wire import Unknown

__all__ = ["Replay"]

_OF_A_TURN = (AgentMessageChunk, AgentThoughtChunk, UserMessageChunk, ToolCall, ToolCallUpdate, PlanUpdate)
"""What an agent tells because it was prompted: before that, it can only be history."""


class Replay:
    """Knows the old from the new after a session of before was opened.

    Until the agent is prompted, all that belongs to turns is old. From then on only what is known for sure to
    be old counts as old: it begins with a message of an earlier turn, and goes on as long as the rest is what
    that turn has. The first thing that differs is new, and so is all after it until another old message
    comes. Only letters and digits are compared: what stands between them, agents do not always keep.

    An agent may also repeat the prompt. So where an old message is the same, it is old only when it comes
    after the turn before it.

    Args:
        turns: The earlier turns.
        prompt: What the person has said now; `None` when that is yet to come.
        mask: Takes secrets out of text, as was done with the turns.
    """

    def __init__(
        self, turns: Sequence[Turn], prompt: str | None = None, *, mask: Callable[[str], str] = str
    ) -> None:
        self._turns = turns
        self._begun: dict[str, list[int]] = {}
        """Which turns began with a message."""
        for number, turn in enumerate(turns):
            if message := _message(turn.user_message.text):
                self._begun.setdefault(message, []).append(number)
        self._prompt = prompt
        self._mask = mask
        self._telling: list[_Old] = []
        """The turns of which one is being told again: several may have begun with the same message."""
        self._told: list[_Old] = []
        """The same, or of what was told last when none is being told any more."""
        self._asked: str | None = None
        """What was told so far of a message of the person, while nothing else is told."""

    def prompted(self, prompt: str) -> bool:
        """The agent was prompted. Returns whether it may still be telling its history: after the first."""
        is_first, self._prompt = self._prompt is None, prompt
        return is_first

    def answered(self) -> None:
        """The turn is over: nobody repeats its prompt any more."""
        self._prompt = ""

    def is_old(self, item: Item) -> bool:
        """Whether it is history. To be asked once about each item, in their order."""
        if not isinstance(item, _OF_A_TURN):
            return False
        if self._prompt is None:
            return True
        if isinstance(item, UserMessageChunk):
            return self._begins(self._prompt, item.text or "")
        self._asked = None
        self._tell([turn for turn in self._telling if turn.has(item)])
        return bool(self._telling)

    def _tell(self, telling: list[_Old]) -> None:
        self._telling = telling
        self._told = telling or self._told

    def _begins(self, prompt: str, text: str) -> bool:
        goes_on = self._asked is not None
        asked = (self._asked or "") + text
        if goes_on and not _is_begun(prompt, asked) and _is_begun(prompt, text):
            goes_on, asked = False, text  # what came before was another message
        self._asked = asked
        found = self._begun_with(text) or self._begun_with(asked)
        is_more = goes_on and bool(text.strip())
        if _is_begun(prompt, asked) and (is_more or asked.strip() == prompt.strip()):  # it is the prompt
            after = {turn.number + 1 for turn in self._told}
            found = [number for number in found if number in after]
        elif not found and goes_on:
            return bool(self._telling)  # it is what was attached to the message, for instance
        self._tell([_Old(number, self._turns[number], self._mask) for number in found])
        return bool(found)

    def _begun_with(self, text: str) -> list[int]:
        return self._begun.get(_message(self._mask(text)), [])


class _Old:
    """What an agent has yet to tell of a turn that it tells again."""

    def __init__(self, number: int, turn: Turn, mask: Callable[[str], str]) -> None:
        parts = turn.response_parts
        self.number = number
        """Which turn it is."""
        self._mask = mask
        self._said = _Text("".join(part.content for part in parts if isinstance(part, MarkdownResponsePart)))
        self._thought = _Text(
            "".join(part.content for part in parts if isinstance(part, ReasoningResponsePart))
        )
        calls = [
            part.tool_call
            for part in parts
            if isinstance(part, ToolCallResponsePart) and not isinstance(part.tool_call, Unknown)
        ]
        self._calls = {call.tool_call_id for call in calls}
        self._titles = Counter(_bare(_plain(call.invocation_message or "")) for call in calls)
        self._noticed = _bare(
            "\n".join(
                _plain(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart)
            )
        )

    def has(self, item: Item) -> bool:
        """Whether the turn has this, where the agent is in it."""
        match item:
            case AgentMessageChunk():
                return bool(item.text) and self._said.goes_on(self._mask(item.text))
            case AgentThoughtChunk():
                return bool(item.text) and self._thought.goes_on(self._mask(item.text))
            case ToolCall() | ToolCallUpdate():
                return self._has_call(item)
            case PlanUpdate():
                told = [_bare(self._mask(str(entry.get("content")))) for entry in item.entries]
                return all(content in self._noticed for content in told)
            case _:
                return False

    def _has_call(self, update: ToolCall | ToolCallUpdate) -> bool:
        """By its id, or by what it did: some agents give other ids to the calls of before."""
        if update.tool_call_id in self._calls:
            return True
        title = _bare(self._mask(update.title or ""))
        if not title or not self._titles[title]:
            return False
        self._titles[title] -= 1
        self._calls.add(update.tool_call_id)
        return True


class _Text:
    """A text, and how far it was told."""

    def __init__(self, text: str) -> None:
        self._text = _bare(text)
        self._at = 0

    def goes_on(self, more: str) -> bool:
        """Whether it goes on with this."""
        told = _bare(more)
        if not told:
            return not more.strip() or self._at < len(self._text)
        if not self._text.startswith(told, self._at):
            return False
        self._at += len(told)
        return True


def _is_begun(prompt: str, text: str) -> bool:
    """Whether a text is the beginning of the prompt, or all of it."""
    return bool(text.strip()) and prompt.strip().startswith(text.strip())


def _message(text: str) -> str:
    """By this the messages of people are told apart."""
    return _bare(text) or text.strip()


def _plain(text: StringOrMarkdown) -> str:
    return text if isinstance(text, str) else text.markdown


def _bare(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, text.casefold()))
