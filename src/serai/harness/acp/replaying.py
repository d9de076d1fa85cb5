"""Old turns that an agent tells again, because it opens a session of before, and is late with its history."""

from __future__ import annotations

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
_CHUNKS = (AgentMessageChunk, AgentThoughtChunk)
_CALLS = (ToolCall, ToolCallUpdate)


class Replay:
    """Knows the old from the new after a session of before was opened.

    Until the agent is prompted, all that belongs to turns is old. From then on only what is known for sure to
    be old counts as old: it begins with a message of an earlier turn, and goes on as long as the rest is what
    that turn has. The first thing that differs is new, and so is all after it until another old message
    comes. Only letters and digits are compared: what stands between them, agents do not always keep.

    An agent may also repeat the prompt, and that may have been said before. It is an old message for sure
    only where it comes after the turn before it. Elsewhere the next things tell: while they are what an
    earlier turn has, they are held back. When all of that turn is told and something else follows, it was
    history. When something else comes before that, or the present turn ends with it, all of it is new.

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
        self._told: set[int] = set()
        """The numbers of those of which one was told before."""
        self._held: list[Item] = []
        """What was told of them: it is old, if it is one of them that is being told."""
        self._asked: str | None = None
        """What was told so far of a message of the person, while nothing else is told."""

    def prompted(self, prompt: str) -> bool:
        """The agent was prompted. Returns whether it may still be telling its history: after the first."""
        is_first, self._prompt = self._prompt is None, prompt
        return is_first

    def answered(self) -> None:
        """The turn is over: nobody repeats its prompt any more."""
        self._prompt = ""

    @property
    def is_holding(self) -> bool:
        """Whether something is held back that may be new."""
        return bool(self._held) and not any(turn.is_sure for turn in self._telling)

    # -- what the agent does -------------------------------------------------------------------------------

    def news(self, item: Item) -> list[Item]:
        """What is new, now that the agent has told this: also what was held back, and is no history.

        To be asked once about each item, in their order.
        """
        if not isinstance(item, _OF_A_TURN):
            return [item]
        if self._prompt is None:
            return []
        if isinstance(item, UserMessageChunk):
            self._begin(self._prompt, item.text or "")
        else:
            self._go_on(item)
        if not self._telling:
            return [*self._let_out(), item]
        self._held.append(item)
        return []

    def asks(self, call: ToolCallUpdate | None) -> list[Item]:
        """The agent asks something, about a call or not, which is never history. Returns what is new."""
        self._asked = None
        was_call = bool(self._held) and isinstance(self._held[-1], _CALLS)
        is_more = was_call and call is not None and any(turn.has(call) for turn in self._telling)
        self._leave(self._telling, is_more=is_more)
        self._telling = []
        return self._let_out()

    def pauses(self) -> list[Item]:
        """The agent tells nothing for a while: it is at work, unless it has just told all of a turn.

        Returns what is new.
        """
        return [] if any(turn.is_told for turn in self._telling) else self.rest()

    def rest(self) -> list[Item]:
        """What is held back, and is new when nothing follows, as at the end of the turn."""
        return self._let_out() if self.is_holding else []

    # -- where it is in the history ------------------------------------------------------------------------

    def _begin(self, prompt: str, text: str) -> None:
        """A message of the person is told, or more of it."""
        goes_on = self._asked is not None
        asked = (self._asked or "") + text
        if goes_on and not _is_begun(prompt, asked) and _is_begun(prompt, text):
            goes_on, asked = False, text  # what came before was another message
        self._asked = asked
        is_more = goes_on and bool(text.strip())
        is_prompt = _is_begun(prompt, asked) and (is_more or asked.strip() == prompt.strip())
        found = self._begun_with(text)
        if not goes_on or (found and not is_prompt):
            self._pass(self._telling)
        found = found or self._begun_with(asked)
        if is_prompt:
            first = min(self._told, default=-1)
            self._telling = [self._old(n, is_sure=n - 1 in self._told) for n in found if n > first]
        elif found or not goes_on:  # else it is what was attached to the message, for instance
            self._telling = [self._old(n, is_sure=True) for n in found]

    def _go_on(self, item: Item) -> None:
        """Something else is told."""
        self._asked = None
        before, self._telling = self._telling, [turn for turn in self._telling if turn.has(item)]
        if not self._telling:
            self._leave(before, is_more=self._is_more(item))

    def _is_more(self, item: Item) -> bool:
        """Whether it is more of a message that is held back."""
        last = self._held[-1] if self._held else None
        if not isinstance(item, _CHUNKS) or not isinstance(last, _CHUNKS) or item.message_id is None:
            return False
        return (type(item), item.message_id) == (type(last), last.message_id)

    def _leave(self, turns: list[_Old], *, is_more: bool) -> None:
        """Something new follows. One of these turns was told, if it was told as a whole.

        Not so when what is new is more of what was told.
        """
        self._pass([turn for turn in turns if turn.is_sure or (turn.is_told and not is_more)])

    def _pass(self, turns: list[_Old]) -> None:
        """One of these turns was told, if there are any: what is held back is old."""
        if turns:
            self._told = {turn.number for turn in turns}
            self._held = []

    def _let_out(self) -> list[Item]:
        """What is held back is new."""
        held, self._held = self._held, []
        if held:
            self._telling = []
        return held

    def _begun_with(self, text: str) -> list[int]:
        return self._begun.get(_message(self._mask(text)), [])

    def _old(self, number: int, *, is_sure: bool) -> _Old:
        return _Old(number, self._turns[number], self._mask, is_sure=is_sure)


class _Old:
    """What an agent has yet to tell of a turn that it tells again."""

    def __init__(self, number: int, turn: Turn, mask: Callable[[str], str], *, is_sure: bool) -> None:
        parts = turn.response_parts
        self.number = number
        """Which turn it is."""
        self.is_sure = is_sure
        """Whether it is this turn that is told for sure, as long as what comes is in it."""
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
        self._calls = {call.tool_call_id: _bare(_plain(call.invocation_message or "")) for call in calls}
        """The titles of those that are not told yet, by their ids."""
        self._told_calls: dict[str, bool] = {}
        """The ids of those that are, and whether they have ended."""
        self._noticed = _bare(
            "\n".join(
                _plain(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart)
            )
        )

    @property
    def is_told(self) -> bool:
        """Whether all that was said in it is told. Thoughts and calls are not told by every agent."""
        return self._said.is_told

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
        told = update.tool_call_id
        has_ended = self._told_calls.get(told)
        if has_ended is None or (has_ended and isinstance(update, ToolCall)):  # which begins another one
            title = _bare(self._mask(update.title or ""))
            alike = (each for each in self._calls if title and self._calls[each] == title)
            found = told if told in self._calls else next(alike, None)
            if found is None:
                return False
            del self._calls[found]
            has_ended = False
        self._told_calls[told] = has_ended or update.status in ("completed", "failed")
        return True


class _Text:
    """A text, and how far it was told."""

    def __init__(self, text: str) -> None:
        self._text = _bare(text)
        self._marks = _last_marks(text)
        """What comes after its last word, and was not told."""
        self._at = 0

    @property
    def is_told(self) -> bool:
        """Whether all of its words were told."""
        return self._at == len(self._text)

    def goes_on(self, more: str) -> bool:
        """Whether it goes on with this."""
        told, marks = _bare(more), _last_marks(more)
        if told:
            if not self._text.startswith(told, self._at):
                return False
            self._at += len(told)
        elif not self.is_told:
            return True
        elif not self._marks.startswith(marks):
            return False
        if self.is_told:
            self._marks = self._marks.removeprefix(marks)
        return True


def _is_begun(prompt: str, text: str) -> bool:
    """Whether a text is the beginning of the prompt, or all of it."""
    return bool(text.strip()) and prompt.strip().startswith(text.strip())


def _message(text: str) -> str:
    """By this the messages of people are told apart."""
    return _bare(text) or text.strip()


def _plain(text: StringOrMarkdown) -> str:
    return text if isinstance(text, str) else text.markdown


def _last_marks(text: str) -> str:
    """What is neither letter nor digit nor space at the end of a text."""
    end = len(text)
    while end and not text[end - 1].isalnum():
        end -= 1
    return "".join(text[end:].split())


def _bare(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(filter(str.isalnum, text.casefold()))
