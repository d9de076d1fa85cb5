"""Our messages in pydantic-ai's words, and its answers in ours.

Reasoning is not sent back: vendors want it with their signature or not at all, and signatures are not kept.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    ThinkingPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import TextPart as TheirText
from pydantic_ai.messages import ToolCallPart as TheirCall
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from serai.depth import checked
from serai.errors import ParseError
from serai.session.llm import ContentPart, LlmMessage, LlmRequest, MediaContent
from serai.session.messages import ReasoningPart, SessionMessageRole, TextPart, ToolCallPart, ToolResultPart

_LETTERS = string.ascii_letters + string.digits
_ID_LENGTH = 9
"""The one length of call ids that all vendors take."""
_MAX_DEPTH = 100
"""Arguments that are nested deeper are broken: they stand inside records that are nested themselves."""


def messages_for(request: LlmRequest) -> list[ModelMessage]:
    """The conversation as a model gets it. Neighbours of one side become one message."""
    messages: list[ModelMessage] = []
    asked: list[ModelRequestPart] = []
    if request.system:
        asked.append(SystemPromptPart(request.system))
    answered: list[ModelResponsePart] = []

    def end_side() -> None:
        if asked:
            messages.append(ModelRequest(parts=[*asked]))
        if answered:
            messages.append(ModelResponse(parts=[*answered]))
        asked.clear()
        answered.clear()

    for message in request.messages:
        if message.role is SessionMessageRole.ASSISTANT:
            if asked:
                end_side()
            answered += _answer(message.content)
        else:
            if answered:
                end_side()
            asked += _question(message)
    end_side()
    return messages


def parameters_for(request: LlmRequest) -> ModelRequestParameters:
    """The tools that a model may call."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.input_schema,
                strict=False,  # as the tools have it: each checks its own input
            )
            for tool in request.tools
        ]
    )


def _answer(content: Iterable[ContentPart]) -> Iterable[ModelResponsePart]:
    for part in content:
        match part:
            case TextPart(text=text) if text:
                yield TheirText(text)
            case ToolCallPart():
                yield TheirCall(part.name, part.input, part.id)
            case _:
                pass


def _question(message: LlmMessage) -> Iterable[ModelRequestPart]:
    said: list[str | BinaryContent] = []
    for part in message.content:
        match part:
            case TextPart(text=text) if message.role is SessionMessageRole.SYSTEM:
                yield SystemPromptPart(text)
            case TextPart(text=text):
                said.append(text)
            case MediaContent(data=data, media_type=media_type):
                said.append(BinaryContent(data=data, media_type=media_type))
            case ToolResultPart():
                outcome = "failed" if part.is_error else "success"
                yield ToolReturnPart(part.name, part.output, part.id, outcome=outcome)
            case _:
                pass
    if said:
        yield UserPromptPart(said[0] if len(said) == 1 and isinstance(said[0], str) else said)


def parts_of(answer: ModelResponse) -> tuple[TextPart | ReasoningPart | ToolCallPart, ...]:
    """What a model has said. Calls get new ids: theirs may come again, and not every vendor takes them."""
    return tuple(_parts(answer.parts))


def _parts(parts: Sequence[ModelResponsePart]) -> Iterable[TextPart | ReasoningPart | ToolCallPart]:
    for part in parts:
        match part:
            case TheirText(content=text) if text:
                yield TextPart(text=readable(text))
            case ThinkingPart(content=text) if text:
                yield ReasoningPart(text=readable(text))
            case TheirCall():
                call_id = "".join(secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))
                yield ToolCallPart(id=call_id, name=readable(part.tool_name), input=_input(part.args))
            case _:
                pass  # such as files: nothing that was asked for


def _input(given: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The input of a call. What is no JSON object becomes `{"_broken": text}`: the model is told later."""
    text = given if isinstance(given, str) else msgspec.json.encode(given or {}).decode()
    if not text.strip():
        return {}  # a tool without input
    try:
        return msgspec.json.decode(checked(text, _MAX_DEPTH), type=dict[str, Any])
    except (msgspec.DecodeError, ParseError):
        return {"_broken": readable(text)}


def readable(text: str) -> str:
    """The text without halves of characters, which JSON can have and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
