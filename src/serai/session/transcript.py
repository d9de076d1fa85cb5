"""The turns of a transcript: what belongs together, what was completed, and what a model sees of them.

The model's view of a session and its export both go by this, so that they never disagree.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from serai.session.messages import (
    DurableContentPart,
    ReasoningPart,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_MOST_OF_RESULT = 24 * 1024
"""Most characters of a tool's result that a model sees."""


class LogicalTurn(NamedTuple):
    """One turn: a person's messages, and the answers to them."""

    messages: tuple[SessionMessage, ...]

    @property
    def is_completed(self) -> bool:
        """True if the turn ended with whole text of the agent, and every call has its result."""
        answers = [message for message in self.messages if message.role in _ANSWERING]
        if not answers or answers[-1].role is not SessionMessageRole.ASSISTANT:
            return False
        last = answers[-1].content
        if any(isinstance(part, ToolCallPart) for part in last):
            return False
        texts = [part for part in last if isinstance(part, TextPart) and part.text.strip()]
        if not texts or texts[-1].is_partial:
            return False
        parts = [part for message in answers for part in message.content]
        called = {part.id for part in parts if isinstance(part, ToolCallPart)}
        return called <= {part.id for part in parts if isinstance(part, ToolResultPart)}

    @property
    def prompt(self) -> str:
        """The person's text: their messages with an empty line between them."""
        return "\n\n".join(text for message in self.messages if (text := _text_of_person(message)))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that were called, each once, in the order of their first calls."""
        parts = (
            part
            for message in self.messages
            if message.role is SessionMessageRole.ASSISTANT
            for part in message.content
        )
        return tuple(dict.fromkeys(part.name for part in parts if isinstance(part, ToolCallPart)))


_ANSWERING = frozenset({SessionMessageRole.ASSISTANT, SessionMessageRole.TOOL})


def logical_turns(
    messages: Iterable[SessionMessage], *, truncated: Container[int] = frozenset[int]()
) -> list[LogicalTurn]:
    """Return the turns of a session, in the order of its messages, completed or not.

    A person's message begins a turn when there was an answer before it, unless it came while the turn ran.
    Messages before the first message of a person belong to no turn.

    Args:
        messages: All messages, by ascending `sequence_number`.
        truncated: The `sequence_number`s of truncated messages: they are in no turn.
    """
    groups: list[list[SessionMessage]] = []
    is_answered = True
    for message in messages:
        if message.sequence_number in truncated:
            continue
        if message.role is SessionMessageRole.USER and not (groups and _is_steering(message)):
            if is_answered:
                groups.append([])
            is_answered = False
        elif message.role in _ANSWERING:
            is_answered = True
        if groups:
            groups[-1].append(message)
    return [LogicalTurn(tuple(group)) for group in groups]


def _is_steering(message: SessionMessage) -> bool:
    return any(isinstance(part, TextPart) and part.is_steering for part in message.content)


def _text_of_person(message: SessionMessage) -> str:
    if message.role is not SessionMessageRole.USER:
        return ""
    return "".join(part.text for part in message.content if isinstance(part, TextPart))


# -- the model's view --------------------------------------------------------------------------------------


def projected(
    turns: Mapping[str, Sequence[SessionMessage]], running: str, max_messages: int = 0
) -> list[SessionMessage]:
    """Return the messages that a model sees: completed turns and the running one, each call with its result.

    This is computed for each request. Nothing here changes what is stored.

    Args:
        turns: All turns that count, in order, with their messages.
        running: The running turn: it is seen as it is.
        max_messages: Most messages; the oldest turns are left out. 0 for no limit. The running turn stays.
    """
    seen: list[list[SessionMessage]] = []
    for turn, messages in turns.items():
        whole = turn == running or LogicalTurn(tuple(messages)).is_completed
        seen.append([_trimmed_message(message) for message in (messages if whole else _shortened(messages))])
    count = sum(map(len, seen))
    while max_messages and count > max_messages and len(seen) > 1:
        count -= len(seen.pop(0))
    return [message for messages in seen for message in messages]


def _shortened(messages: Sequence[SessionMessage]) -> list[SessionMessage]:
    """Return an uncompleted turn in short: the question, and a line that says which tools ran."""
    asked = [message for message in messages if message.role is SessionMessageRole.USER]
    parts = [part for message in messages for part in message.content]
    ended = {part.id for part in parts if isinstance(part, ToolResultPart)}
    ran = dict.fromkeys(part.name for part in parts if isinstance(part, ToolResultPart))
    cut = dict.fromkeys(p.name for p in parts if isinstance(p, ToolCallPart) and p.id not in ended)
    what = f"Tools that ran: {', '.join(ran)}." if ran else "" if cut else "No tool ran."
    if cut:
        what = f"{what} Broken off, and perhaps done in part: {', '.join(cut)}.".strip()
    if not asked:
        return []
    line = TextPart(text=f"[This turn was not completed. {what}]")
    return [*asked, replace(asked[-1], role=SessionMessageRole.ASSISTANT, content=(line,))]


def _trimmed_message(message: SessionMessage) -> SessionMessage:
    content = tuple(_trimmed_parts(message.content))
    return message if content == message.content else replace(message, content=content)


def _trimmed_parts(parts: Iterable[DurableContentPart]) -> Iterable[DurableContentPart]:
    for part in parts:
        match part:
            case ReasoningPart():  # models take no reasoning of others, and their own only with its signature
                continue
            case ToolResultPart(output=output) if len(output) > _MOST_OF_RESULT:
                half = _MOST_OF_RESULT // 2
                left_out = len(output) - 2 * half
                cut = f"{output[:half]}\n[… {left_out} characters are left out here …]\n{output[-half:]}"
                yield replace(part, output=cut)
            case ToolCallPart() | _:
                yield part
