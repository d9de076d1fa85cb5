"""The turns of a transcript: what belongs together, and what was completed.

The model's view of a session and its export both go by this, so that they never disagree.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from serai.session.messages import SessionMessage, SessionMessageRole, TextPart, ToolCallPart, ToolResultPart


class LogicalTurn(NamedTuple):
    """What a person said, and what was done and said about it."""

    messages: tuple[SessionMessage, ...]

    @property
    def is_completed(self) -> bool:
        """Whether it ended with text of the agent, all of it, and no call is without its result."""
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
        """What the person said: the texts of their messages, with an empty line between."""
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
    """The turns of a session, in the order of its messages, completed or not.

    A person's message begins a turn when something was answered before it, unless it came while the turn ran.
    What was said before the first message of a person belongs to no turn.

    Args:
        messages: All messages, by ascending `sequence_number`.
        truncated: The `sequence_number`s of what was taken back: it is in no turn.
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
