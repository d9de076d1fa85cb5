"""Old turns that an agent tells again, because it opens a session of before, and is late with its history."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from serai.acp import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Block,
    Item,
    PlanUpdate,
    ToolCall,
    ToolCallUpdate,
    UserMessageChunk,
)
from serai.acp.shapes import text_of
from serai.ahp.types import (
    MarkdownResponsePart,
    ReasoningResponsePart,
    ResourceResponsePart,
    ResponsePart,
    StringOrMarkdown,
    SystemNotificationResponsePart,
    ToolCallResponsePart,
    Turn,
)
from serai.ahp.wire import Unknown
from serai.harness.acp.contents import bytes_of, link_to

__all__ = ["Replay", "in_words", "not_told"]

_OF_A_TURN = (AgentMessageChunk, AgentThoughtChunk, UserMessageChunk, ToolCall, ToolCallUpdate, PlanUpdate)
"""What an agent tells because it was prompted: before that, it can only be history."""


class Replay:
    """Knows the old from the new after a session of before was opened.

    Until the agent is prompted, all that belongs to turns is old. From then on:

    - What follows on a message of an earlier turn is held back, while it is what that turn has. Only letters
      and digits are compared: what stands between them, agents do not always keep.
    - It is old when another old message follows, or the prompt, which some agents repeat.
    - It is old also as soon as all is told that was said in the turn: words are what every agent tells. That
      does not hold where the message may be the prompt, nor where another turn that began with it has no more
      to tell, nor for what was thought or done after the last words.
    - All else is new, also what is held back when nothing follows for a while. With its words and deeds the
      answer has begun, and no history is told in this turn any more.
    - If nothing is new until the agent has answered, what was told last is the answer, as long as that is
      words alone.

    So what can be either is new, where nothing parts it from the answer. The price: when an agent tells its
    last old turn late, and does not repeat the prompt after it, that turn is shown again if it began as the
    present one does or is told right after its prompt, and so is in any case what was thought or done in it
    after its last words. So is all that is told late after something that is not known here, or after the
    answer has begun.

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
        """Whether what follows on their message may be the answer."""
        self._held: list[Item] = []
        """What is held back."""
        self._taken: list[Item] = []
        """What was taken for old since their message."""
        self._asked: str | None = None
        """What was told so far of a message of the person, while nothing else is told."""
        self._is_over = False
        """Whether no history comes any more in this turn."""
        self._has_news = False
        """Whether something was new that can be seen."""
        self._is_answered = False

    def prompted(self, prompt: str) -> bool:
        """The agent was prompted. Returns whether it may still be telling its history: after the first."""
        is_first, self._prompt = self._prompt is None, prompt
        return is_first

    def answered(self) -> None:
        """The turn is over: nobody repeats its prompt any more, and what comes now belongs to no answer."""
        self._prompt = ""
        self._is_answered = True

    def steered(self) -> None:
        """The person has said more in the turn, and the agent may repeat that: nothing is old any more."""
        self._is_over = True

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
        if self._is_over and not self._is_answered:
            self._telling = []
        elif isinstance(item, UserMessageChunk):
            self._begin(self._prompt, item.text or "")
        else:
            self._go_on(item)
        self._held.append(item)
        if not self._telling:
            return self.rest()
        is_told = isinstance(item, UserMessageChunk) or any(turn.is_told for turn in self._telling)
        if self._is_answered or (is_told and not self._may_be_new):
            self._taken += self._held
            self._held = []
        return []

    def asks(self) -> list[Item]:
        """The agent asks something, which is never history. Returns what is new: all that is held back."""
        self._is_over = True
        return self.rest()

    def rest(self) -> list[Item]:
        """What is held back, and is new when nothing follows: for a while, or when the turn fails."""
        held, self._held = self._held, []
        if held:
            self._telling = []
            self._is_over = self._is_over or any(_is_of_an_answer(item) for item in held)
            self._has_news = self._has_news or any(_can_be_seen(item) for item in held)
        return held

    def end(self) -> list[Item]:
        """What is new when the agent has answered, and nothing follows."""
        has_news = self._is_over or self._has_news or any(map(_can_be_seen, self._held))
        is_words = all(isinstance(item, UserMessageChunk | AgentMessageChunk) for item in self._taken)
        if is_words and not has_news:
            self._held = [*self._taken, *self._held]
        return self.rest()

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
            self._taken = []

    def _go_on(self, item: Item) -> None:
        """Something else is told."""
        self._asked = None
        others = [turn for turn in self._telling if not turn.has(item)]
        if any(turn.is_said for turn in others):  # if it was that one, this is new
            self._may_be_new = True
        self._telling = [turn for turn in self._telling if turn not in others]

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


def in_words(block: Block) -> str | None:
    """Content that is no text, as it is shown in an answer; `None` for what is not shown in words."""
    match block:
        case {"type": "resource_link", "uri": str(uri)}:
            return link_to(uri, text_of(block.get("name")))
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case _:
            return None


class _Old:
    """What an agent has yet to tell of a turn that it tells again."""

    def __init__(self, turn: Turn, mask: Callable[[str], str], *, is_sure: bool) -> None:
        self._is_sure = is_sure
        """Whether it is an old turn that is told for sure, as long as what comes is in it."""
        self._mask = mask
        parts = turn.response_parts
        said = [part.content if isinstance(part, MarkdownResponsePart) else "" for part in parts]
        end = max((at for at, text in enumerate(said, 1) if _bare(text)), default=0)
        self._said = _Text("".join(said))
        self._before, self._after = _Done(parts[:end]), _Done(parts[end:])
        """What was done up to the last words, and what after them."""
        self._told_calls: dict[str, bool] = {}
        """The ids of calls that are told, and whether they have ended."""
        self._is_in_doubt = False

    @property
    def is_said(self) -> bool:
        """Whether all that was said in it is told. Thoughts, calls and plans are not told by every agent."""
        return self._said.is_told

    @property
    def is_told(self) -> bool:
        """Whether that is so, and nothing else was told after it."""
        return self.is_said and not self._is_in_doubt

    def has(self, item: Item) -> bool:
        """Whether the turn has this, where the agent is in it."""
        done = self._after if self.is_said else self._before
        match item:
            case AgentMessageChunk(text=str(text)):
                return self._said.goes_on(self._mask(text))
            case AgentThoughtChunk(text=str(text)):
                found = done.thought.goes_on(self._mask(text))
            case AgentMessageChunk() | AgentThoughtChunk():
                if (text := in_words(item.content)) is not None:
                    return self._said.goes_on(self._mask(text))
                found = done.has_shown(item.content)
            case ToolCall() | ToolCallUpdate():
                found = self._has_call(item, done)
            case PlanUpdate():
                told = [_bare(self._mask(str(entry.get("content")))) for entry in item.entries]
                found = all(content in done.noticed for content in told)
            case _:
                found = False
        self._is_in_doubt = self._is_in_doubt or (found and self.is_said)
        return found

    def _has_call(self, update: ToolCall | ToolCallUpdate, done: _Done) -> bool:
        """By its id. Some agents give other ids to the calls of before: then by what it did."""
        told = update.tool_call_id
        has_ended = self._told_calls.get(told)
        if has_ended is None or (has_ended and (self.is_said or isinstance(update, ToolCall))):  # another one
            title = _bare(self._mask(update.title or "")) if self._is_sure else ""
            alike = (each for each in done.calls if title and done.calls[each] == title)
            found = told if told in done.calls else next(alike, None)
            if found is None:
                return False
            del done.calls[found]
            has_ended = False
        self._told_calls[told] = has_ended or update.status in ("completed", "failed")
        return True


class _Done:
    """What was thought and done in a part of a turn, beside what was said, as far as it is not told yet."""

    def __init__(self, parts: Sequence[ResponsePart]) -> None:
        self.thought = _Text(
            "".join(part.content for part in parts if isinstance(part, ReasoningResponsePart))
        )
        self.calls = {
            part.tool_call.tool_call_id: _bare(_plain(part.tool_call.invocation_message or ""))
            for part in parts
            if isinstance(part, ToolCallResponsePart) and not isinstance(part.tool_call, Unknown)
        }
        """The titles of calls, by their ids."""
        self.noticed = _bare(
            "\n".join(
                _plain(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart)
            )
        )
        self._shown = [part.uri for part in parts if isinstance(part, ResourceResponsePart)]

    def has_shown(self, block: Block) -> bool:
        """Whether a picture or the like was shown: it is kept under a name that is made of its bytes."""
        data = bytes_of(block)
        return data is not None and any(uri.endswith(hashlib.sha256(data).hexdigest()) for uri in self._shown)


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


def _is_of_an_answer(item: Item) -> bool:
    """Whether with this, when it is new, the answer has begun. Marks and spaces may come before it."""
    if isinstance(item, AgentMessageChunk | AgentThoughtChunk) and item.text is not None:
        return bool(_bare(item.text))
    return not isinstance(item, UserMessageChunk)


def _can_be_seen(item: Item) -> bool:
    """Whether an answer that has this is not empty."""
    if isinstance(item, AgentMessageChunk | AgentThoughtChunk) and item.text is not None:
        return bool(item.text.strip())
    return not isinstance(item, UserMessageChunk)


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
