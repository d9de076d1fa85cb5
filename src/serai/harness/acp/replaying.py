"""Old turns that an agent tells again, because it opens a session of before, and is late with its history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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

__all__ = ["Replay", "not_told"]

_OF_A_TURN = (AgentMessageChunk, AgentThoughtChunk, UserMessageChunk, ToolCall, ToolCallUpdate, PlanUpdate)
"""What an agent tells because it was prompted: before that, it can only be history."""


class Replay:
    """Knows the old from the new after a session of before was opened. Nothing new is ever lost.

    Until the agent is prompted, all that belongs to turns is old. From then on what follows on a message of
    an earlier turn is held back, while it is what that turn has. Only letters and digits are compared: what
    stands between them, agents do not always keep. It was history when another old message follows, or the
    prompt. It was also when all is told that was said in the turn, unless the message may have been the
    prompt, which some agents repeat. In all other cases it is new, also when nothing follows for a while.

    The price: a last old turn that began as the present one does is shown again, when an agent tells it late
    and does not repeat the prompt after it.

    Args:
        turns: The earlier turns that may be told; see `not_told`.
        prompt: What the person has said now; `None` when that is yet to come.
        mask: Takes secrets out of text, as was done with the turns.
    """

    def __init__(
        self, turns: Sequence[Turn], prompt: str | None = None, *, mask: Callable[[str], str] = str
    ) -> None:
        self._begun: dict[str, list[Turn]] = {}
        """The turns, by the messages that they began with."""
        for turn in turns:
            if message := _message(turn.user_message.text):
                self._begun.setdefault(message, []).append(turn)
        self._prompt = prompt
        self._mask = mask
        self._telling: list[_Old] = []
        """The turns of which one is being told again: several may have begun with the same message."""
        self._may_be_new = False
        """Whether their message may be the prompt, and what follows on it the answer."""
        self._held: list[Item] = []
        """What is held back."""
        self._asked: str | None = None
        """What was told so far of a message of the person, while nothing else is told."""
        self._is_answered = False

    def prompted(self, prompt: str) -> bool:
        """The agent was prompted. Returns whether it may still be telling its history: after the first."""
        is_first, self._prompt = self._prompt is None, prompt
        return is_first

    def answered(self) -> None:
        """The turn is over: nobody repeats its prompt any more."""
        self._prompt = ""
        self._is_answered = True

    def steered(self) -> None:
        """The person has said more in the turn, and the agent may repeat that: no message is old any more."""
        self._begun.clear()

    @property
    def is_holding(self) -> bool:
        """Whether something is held back that may be new."""
        return bool(self._held)

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
            return [*self.rest(), item]
        is_message = isinstance(item, UserMessageChunk)
        is_told = is_message or self._is_answered or any(turn.is_told for turn in self._telling)
        if self._may_be_new or not is_told:
            self._held.append(item)
        else:
            self._held = []
        return []

    def asks(self) -> list[Item]:
        """The agent asks something, which is never history. Returns what is new: all that is held back."""
        self._asked = None
        self._telling = []
        return self.rest()

    def rest(self) -> list[Item]:
        """What is held back, and is new when nothing follows: for a while, or at the end of the turn."""
        held, self._held = self._held, []
        if held:
            self._telling = []
        return held

    # -- where it is in the history ------------------------------------------------------------------------

    def _begin(self, prompt: str, text: str) -> None:
        """A message of the person is told, or more of it."""
        prompt, said = self._compared(prompt), self._compared(text)
        whole = self._compared((self._asked or "") + text)
        if said and prompt.startswith(said) and not prompt.startswith(whole):
            self._asked, whole = None, said  # what came before was another message
        goes_on = self._asked is not None
        self._asked = (self._asked or "") + text
        is_prompt = bool(said) and (whole == prompt or (goes_on and prompt.startswith(whole)))
        found = self._begun.get(said) or self._begun.get(whole) or []
        if not goes_on and (found or is_prompt):
            self._held = []
        if not goes_on or found or is_prompt:  # else it is what was attached to the message, for instance
            # Whatever comes with the prompt may be attached to it, also when it is an old message.
            self._may_be_new = is_prompt or (goes_on and self._may_be_new)
            self._telling = [_Old(turn, self._mask, is_sure=not self._may_be_new) for turn in found]

    def _go_on(self, item: Item) -> None:
        """Something else is told."""
        self._asked = None
        self._telling = [turn for turn in self._telling if turn.has(item)]

    def _compared(self, text: str) -> str:
        return _message(self._mask(text))


def not_told(turns: Sequence[Turn], told: Iterable[Item], *, mask: Callable[[str], str] = str) -> list[Turn]:
    """The turns that may yet be told, after an agent has told this of its history: it does so in their order.

    Args:
        turns: All earlier turns.
        told: What the agent has told.
        mask: Takes secrets out of text, as was done with the turns.
    """
    messages = [_message(turn.user_message.text) for turn in turns]
    at, asked = 0, ""
    for item in told:
        if isinstance(item, UserMessageChunk):
            text, asked = item.text or "", asked + (item.text or "")
            for message in (_message(mask(text)), _message(mask(asked))) if text else ():
                if message in messages[at:]:
                    at = messages.index(message, at) + 1
                    break
        elif isinstance(item, _OF_A_TURN):
            asked = ""
    return list(turns[at:])


class _Old:
    """What an agent has yet to tell of a turn that it tells again."""

    def __init__(self, turn: Turn, mask: Callable[[str], str], *, is_sure: bool) -> None:
        parts = turn.response_parts
        self._is_sure = is_sure
        """Whether it is an old turn that is told for sure, as long as what comes is in it."""
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
        """Whether all that was said in it is told. Thoughts, calls and plans are not told by every agent."""
        return self._said.is_told

    def has(self, item: Item) -> bool:
        """Whether the turn has this, where the agent is in it."""
        match item:
            case AgentMessageChunk():
                return bool(item.text) and self._said.goes_on(self._mask(item.text))
            case AgentThoughtChunk():
                return bool(item.text) and not self._is_over and self._thought.goes_on(self._mask(item.text))
            case ToolCall() | ToolCallUpdate():
                return self._has_call(item)
            case PlanUpdate():
                told = [_bare(self._mask(str(entry.get("content")))) for entry in item.entries]
                return not self._is_over and all(content in self._noticed for content in told)
            case _:
                return False

    @property
    def _is_over(self) -> bool:
        """Whether what was thought or done in it is thought or done once more, if it is told now."""
        return self._is_sure and self.is_told

    def _has_call(self, update: ToolCall | ToolCallUpdate) -> bool:
        """By its id. Some agents give other ids to the calls of before: then by what it did."""
        told = update.tool_call_id
        has_ended = self._told_calls.get(told)
        if has_ended is None or (has_ended and isinstance(update, ToolCall)):  # which begins another one
            title = _bare(self._mask(update.title or ""))
            by_title = title and self._is_sure and not self._is_over
            alike = (each for each in self._calls if by_title and self._calls[each] == title)
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
