"""The prompt for an agent, from a message history: only what it does not know yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from pydantic_ai import messages as m
from pydantic_ai.exceptions import UserError

from serai.acp.prompt import file_block
from serai.agents.ask.prompt import Aside, Part, link

_TOOLS = m.ToolCallPart | m.ToolReturnPart | m.NativeToolCallPart | m.NativeToolReturnPart


def parts_of(content: str | Sequence[m.UserContent]) -> list[Part]:
    """Return the parts of a prompt. Cache points are left out.

    Raises:
        UserError: A file is stored by another provider, where no agent can read it.
    """
    if isinstance(content, str):
        return [content]
    parts: list[Part] = []
    for item in content:
        match item:
            case str():
                parts.append(item)
            case m.TextContent():
                parts.append(item.content)
            case m.BinaryContent():
                parts.append(_file(item))
            case m.FileUrl():
                is_data = item.url.startswith("data:")
                parts.append(_file(m.BinaryContent.from_data_uri(item.url)) if is_data else link(item.url))
            case m.UploadedFile():
                raise UserError(f"no agent can read the file {item.file_id}: {item.provider_name} stores it")
            case m.CachePoint():
                pass
    return parts


def _file(file: m.BinaryContent) -> Part:
    return file_block(file.base64, file.media_type, f"attachment:///{file.identifier}")


SYSTEM = "serai"
"""The provider's name, in pydantic-ai's words."""

_BEGAN = "This is how the conversation went until now."
_GO_ON = "Go on with it. This is said now:"


@dataclass(slots=True)
class AgentPrompt:
    """The prompt that is made of a request."""

    standing: str = ""
    """The instructions for the whole conversation, and the system prompts at its beginning."""
    parts: list[Part] = field(default_factory=list[Part])
    """The parts of the prompt. Texts that follow one another are joined."""
    has_answers: bool = False
    """True if the parts hold earlier answers that the agent does not know."""
    has_tool_turns: bool = False
    """True if tool calls or results were left out."""

    def add(self, *parts: Part) -> None:
        """Add parts."""
        for part in parts:
            last = self.parts[-1] if self.parts else None
            if isinstance(part, str) and isinstance(last, str):
                self.parts[-1] = f"{last}\n\n{part}"
            elif part:
                self.parts.append(part)


def prompt_for(
    messages: Sequence[m.ModelMessage], *, instructions: Iterable[str] = (), session_id: str | None = None
) -> AgentPrompt:
    """Return the prompt with what is new in a history for a session.

    A session knows everything up to its own last answer. Later answers of others are quoted in the prompt;
    tool calls, results and reasoning are left out.
    """
    known = [
        number
        for number, message in enumerate(messages, 1)
        if isinstance(message, m.ModelResponse)
        and (message.provider_name, message.provider_response_id) == (SYSTEM, session_id)
    ]
    begin = known[-1] if known and session_id is not None else 0
    unknown = list(messages[begin:])
    prompt = AgentPrompt()
    standing: list[str] = []
    if begin == 0 and unknown and isinstance(first := unknown[0], m.ModelRequest):
        leading = list(takewhile(lambda part: isinstance(part, m.SystemPromptPart), first.parts))
        standing = [part.content for part in leading if isinstance(part, m.SystemPromptPart)]
        unknown[0] = m.ModelRequest(first.parts[len(leading) :])
    prompt.standing = "\n\n".join(text.strip() for text in [*standing, *instructions] if text.strip())
    prompt.has_tool_turns = any(isinstance(part, _TOOLS) for message in unknown for part in message.parts)
    prompt.has_answers = any(isinstance(message, m.ModelResponse) and message.text for message in unknown)
    last_answer = max((n for n, each in enumerate(unknown) if isinstance(each, m.ModelResponse)), default=-1)
    if prompt.has_answers:
        prompt.add(_BEGAN)
    for number, message in enumerate(unknown):
        if isinstance(message, m.ModelResponse):
            if message.text:
                prompt.add(f"Assistant:\n{message.text}")
            if number == last_answer and prompt.has_answers:
                prompt.add(_GO_ON)
            continue
        parts = [part for each in message.parts for part in _parts(each)]
        if parts and number < last_answer and prompt.has_answers:
            first_part, *parts = parts if isinstance(parts[0], str) else ["", *parts]
            prompt.add(f"User:\n{first_part}".rstrip())
        prompt.add(*parts)
    return prompt


def with_instructions(prompt: AgentPrompt, sent_before: str | None) -> list[Part]:
    """Return the parts, with the instructions if they differ from those that were sent before."""
    if prompt.standing == (sent_before or ""):
        return list(prompt.parts)
    if not prompt.standing:
        text = "The earlier instructions do not hold any more."
    elif sent_before:
        text = f"These instructions hold from now on, instead of the earlier ones:\n\n{prompt.standing}"
    else:
        text = prompt.standing
    match prompt.parts:
        case []:
            return [text]
        case [str() as first, *rest] if not first.startswith("/"):
            return [f"{text}\n\n{first}", *rest]
        case _:  # a command must stay at the beginning
            return [*prompt.parts, Aside(text)]


def _parts(part: m.ModelRequestPart) -> list[Part]:
    match part:
        case m.UserPromptPart():
            return parts_of(part.content)
        case m.SystemPromptPart():
            return [part.content]
        case m.RetryFeedbackPart():  # only in histories that pydantic-ai has not prepared
            return [part.model_response()]
        case _:
            return []
