"""Vendors of models through pydantic-ai: their providers, and messages and answers converted both ways.

Only this module imports pydantic-ai. That takes a second, so it happens on a thread, when a model is first
asked. Reasoning is not sent back: vendors want it with their signature or not at all, and signatures are not
kept.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import AsyncGenerator, Iterable, Mapping
from itertools import groupby
from typing import Any, cast

import msgspec
from pydantic_ai import exceptions as theirs, messages as pm
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from serai.config.models import ModelKind, ModelRef
from serai.config.toml import briefly
from serai.contract.record import checked
from serai.errors import FailureKind, ModelFailure, ParseError
from serai.session.messages import (
    FinishReason,
    LlmReply,
    LlmRequest,
    LlmUsage,
    MediaPart,
    ReasoningPart,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_NO_KEY = "none"
"""The key that is sent where none is needed. Without any, a vendor's library would look for one."""

_LETTERS = string.ascii_letters + string.digits
_ID_LENGTH = 9
"""The only length of call ids that all vendors accept."""
_MAX_DEPTH = 100
"""Deepest nesting of arguments: they stand inside records that are nested themselves."""

AnyModel = Model[Any]

_FINISH = {
    "stop": FinishReason.STOP,
    "tool_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}

# The first that fits counts, so special errors stand before general ones.
_FAILURES: tuple[tuple[type[Exception], FailureKind], ...] = (
    (theirs.ModelRateLimitError, FailureKind.RATE_LIMIT),
    (theirs.ModelQuotaExceededError, FailureKind.RATE_LIMIT),  # another model may have quota left
    (theirs.ModelUnavailableError, FailureKind.OVERLOADED),
    (theirs.ModelServerError, FailureKind.OVERLOADED),
    (theirs.ModelTimeoutError, FailureKind.TIMEOUT),
    (theirs.ModelRequestTimeout, FailureKind.TIMEOUT),
    (theirs.ModelConnectionError, FailureKind.TRANSPORT),
    (theirs.ModelAuthenticationError, FailureKind.AUTHENTICATION),
    (theirs.ModelRequestRejectedError, FailureKind.REFUSED),
    (theirs.ContentFilterError, FailureKind.REFUSED),
    (theirs.UserError, FailureKind.REFUSED),
)


def open_model(model: ModelRef, key: str | None) -> tuple[Provider[Any], AnyModel]:
    """Return a model to ask, and the provider behind it, which is a context manager.

    Raises:
        ImportError: The vendor's library is not installed.
    """
    server, key = model.server, key or _NO_KEY
    match server.kind:
        case ModelKind.OPENAI:
            from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - one vendor's library is enough
            from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415
            from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

            if server.base_url is None:
                provider = OpenAIProvider(base_url="https://api.openai.com/v1", api_key=key)
                return provider, OpenAIChatModel(model.id, provider=provider)
            other = OpenAICompatibleProvider(model.server_name, base_url=server.base_url, api_key=key)
            # Most servers other than OpenAI know only the older name, and would not limit the answer.
            older = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
            return other, OpenAIChatModel(model.id, provider=other, profile=older)
        case ModelKind.ANTHROPIC:
            from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
            from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

            url = server.base_url or "https://api.anthropic.com"
            anthropic = AnthropicProvider(api_key=key, base_url=url)
            cast("Any", anthropic.client).auth_token = None  # it has taken one from the environment
            return anthropic, AnthropicModel(model.id, provider=anthropic)
        case ModelKind.GOOGLE:
            from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
            from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

            url = server.base_url or "https://generativelanguage.googleapis.com"
            google = GoogleProvider(api_key=key, base_url=url)
            return google, GoogleModel(model.id, provider=google)


async def answer_of(
    model: AnyModel, request: LlmRequest, read_timeout: float
) -> AsyncGenerator[TextPart | ReasoningPart | LlmReply | None]:
    """Yield the answer of a model as it comes, `None` for other events, and last the whole answer.

    Args:
        model: The model.
        request: The request.
        read_timeout: Longest wait for a connection that is silent. The caller has finer ones.

    Raises:
        ModelFailure: The stream ended before its end.
        Exception: Any error of pydantic-ai, or of a library below it: see `failure_of`.
    """
    settings = ModelSettings(max_tokens=request.max_tokens, max_retries=0, timeout=read_timeout)
    asked = model_request_stream(
        model,
        _messages_for(request),
        model_settings=settings,
        model_request_parameters=_parameters_for(request),
    )
    async with asked as stream:
        async for event in stream:
            yield _piece(event)
        answer = stream.get()
    yield _reply(answer, request.model)


def _piece(event: Any) -> TextPart | ReasoningPart | None:
    match event:
        case (
            pm.PartDeltaEvent(delta=pm.TextPartDelta(content_delta=text))
            | pm.PartStartEvent(part=pm.TextPart(content=text))
        ) if text:
            return TextPart(text=_readable(text))
        case (
            pm.PartDeltaEvent(delta=pm.ThinkingPartDelta(content_delta=text))
            | pm.PartStartEvent(part=pm.ThinkingPart(content=text))
        ) if text:
            return ReasoningPart(text=_readable(text))
        case _:
            return None


def _reply(answer: pm.ModelResponse, model: str) -> LlmReply:
    finish = _FINISH.get(answer.finish_reason or "")
    # Without the vendor's own reason, pydantic-ai takes a stream that was cut off for a complete one.
    said = (answer.provider_details or {}).get("finish_reason") or finish is FinishReason.CONTENT_FILTER
    if answer.state != "complete" or finish is None or not said:
        raise ModelFailure(
            f"the answer of {model} was cut off: it did not say that it has ended",
            failure=FailureKind.TRANSPORT,
        )
    return LlmReply(
        parts=tuple(_parts_of(answer)),
        finish=finish,
        usage=LlmUsage(
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            cache_read_tokens=answer.usage.cache_read_tokens,
        ),
    )


def failure_of(error: Exception, model: str) -> ModelFailure:
    """Return an error of a vendor as one of ours. Unknown errors count as failures of the transport."""
    kind = next((kind for cause, kind in _FAILURES if isinstance(error, cause)), FailureKind.TRANSPORT)
    said = briefly(_server_message(error))
    return ModelFailure(
        f"{model} gave no answer ({kind}): {said}",
        failure=kind,
        retry_after=getattr(error, "retry_after", None),
    )


def _server_message(error: Exception) -> str:
    """Return the server's own words, if there are any, with its status."""
    if not isinstance(error, theirs.ModelAPIError):
        return f"{type(error).__name__}: {error}"
    status = f"HTTP {error.status_code}: " if isinstance(error, theirs.ModelHTTPError) else ""
    body: Any = error.body
    for name in ("error", "message"):
        if isinstance(body, dict):
            body = cast("dict[str, Any]", body).get(name, cast("object", body))
    return status + (body if isinstance(body, str) and body else error.message)


# -- conversion of messages and answers ----------------------------------------------------------------------


def _messages_for(request: LlmRequest) -> list[pm.ModelMessage]:
    """Return the conversation for a model. Neighbouring messages of one side become one message."""
    asked: list[pm.ModelRequestPart] = [pm.SystemPromptPart(request.system)] if request.system else []
    messages: list[pm.ModelMessage] = []
    for is_answer, side in groupby(request.messages, lambda one: one.role is SessionMessageRole.ASSISTANT):
        if is_answer:
            if asked:
                messages.append(pm.ModelRequest(parts=asked))
            answered = [part for message in side for part in _answer_parts(message)]
            if answered:
                messages.append(pm.ModelResponse(parts=answered))
            asked = []
        else:
            asked += [part for message in side for part in _request_parts(message, request.media)]
    return [*messages, pm.ModelRequest(parts=asked)] if asked else messages


def _parameters_for(request: LlmRequest) -> ModelRequestParameters:
    """Return the tools that a model may call."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=tool.input_schema,
                strict=False,  # each tool checks its own input
            )
            for tool in request.tools
        ]
    )


def _answer_parts(message: SessionMessage) -> Iterable[pm.ModelResponsePart]:
    for part in message.content:
        match part:
            case TextPart(text=text) if text:
                yield pm.TextPart(text)
            case ToolCallPart():
                yield pm.ToolCallPart(part.name, part.input, part.id)
            case _:
                pass


def _request_parts(message: SessionMessage, media: Mapping[str, bytes]) -> Iterable[pm.ModelRequestPart]:
    said: list[str | pm.BinaryContent] = []
    for part in message.content:
        match part:
            case TextPart(text=text) if message.role is SessionMessageRole.SYSTEM:
                yield pm.SystemPromptPart(text)
            case TextPart(text=text):
                said.append(text)
            case MediaPart(handle=handle, media_type=kind):
                data = media.get(handle)
                gone = "[An image that is gone]"
                said.append(gone if data is None else pm.BinaryContent(data=data, media_type=kind))
            case ToolResultPart():
                outcome = "failed" if part.is_error else "success"
                yield pm.ToolReturnPart(part.name, part.output, part.id, outcome=outcome)
            case _:
                pass
    if said:
        yield pm.UserPromptPart(said[0] if len(said) == 1 and isinstance(said[0], str) else said)


def _parts_of(answer: pm.ModelResponse) -> Iterable[TextPart | ReasoningPart | ToolCallPart]:
    """Yield the parts of an answer. Calls get new ids: a vendor's may repeat, or be unfit for others."""
    for part in answer.parts:
        match part:
            case pm.TextPart(content=text) if text:
                yield TextPart(text=_readable(text))
            case pm.ThinkingPart(content=text) if text:
                yield ReasoningPart(text=_readable(text))
            case pm.ToolCallPart():
                call_id = "".join(secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))
                yield ToolCallPart(id=call_id, name=_readable(part.tool_name), input=_input(part.args))
            case _:
                pass  # such as files, which nobody asked for


def _input(given: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the input of a call. What is no JSON object becomes `{"_broken": text}`."""
    text = given if isinstance(given, str) else msgspec.json.encode(given or {}).decode()
    if not text.strip():
        return {}  # a tool without input
    try:
        return msgspec.json.decode(checked(text, _MAX_DEPTH), type=dict[str, Any])
    except (msgspec.DecodeError, ParseError):
        return {"_broken": _readable(text)}


def _readable(text: str) -> str:
    """Return the text without unpaired surrogates, which JSON can have and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
