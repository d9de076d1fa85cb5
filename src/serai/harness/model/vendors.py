"""Vendors of models through pydantic-ai: their providers, the stream of an answer, and what goes wrong in it.

This module and `messages.py` are the only ones of the room that import pydantic-ai. That takes a second, so
it happens on a thread, when a model is first asked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast

from pydantic_ai import exceptions as theirs
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models import Model
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers import Provider
from pydantic_ai.settings import ModelSettings

from serai.config.models import ModelKind, ModelRef
from serai.config.toml import briefly
from serai.errors import FailureKind, ModelFailure
from serai.harness.model.messages import messages_for, parameters_for, parts_of, readable
from serai.session.llm import FinishReason, LlmReply, LlmRequest, LlmUsage, ReasoningDelta, TextDelta

_NO_KEY = "none"
"""Sent where no key is wanted. Without any, a vendor's library would look for one, and send that."""

AnyModel = Model[Any]

_FINISH = {
    "stop": FinishReason.STOP,
    "tool_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}

# The first that fits counts, so what is special stands before what is general.
_FAILURES: tuple[tuple[type[Exception], FailureKind], ...] = (
    (theirs.ModelRateLimitError, FailureKind.RATE_LIMIT),
    (theirs.ModelQuotaExceededError, FailureKind.RATE_LIMIT),  # another model may have something left
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
    """A model to ask, and the provider behind it, which is entered and left as a context.

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
            # Most servers but OpenAI's own know the older name alone, and would not bound the answer.
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
) -> AsyncGenerator[TextDelta | ReasoningDelta | LlmReply | None]:
    """The answer of a model as it comes, `None` for what is not text, and last the whole of it.

    Args:
        model: Whom to ask.
        request: What to ask.
        read_timeout: Longest wait for a connection that is silent. The caller has finer ones.

    Raises:
        ModelFailure: The stream ended before its end.
        Exception: Whatever pydantic-ai, or a library below it, raises: see `failure_of`.
    """
    settings = ModelSettings(max_tokens=request.max_tokens, max_retries=0, timeout=read_timeout)
    asked = model_request_stream(
        model,
        messages_for(request),
        model_settings=settings,
        model_request_parameters=parameters_for(request),
    )
    async with asked as stream:
        async for event in stream:
            yield _piece(event)
        answer = stream.get()
    yield _reply(answer, request.model)


def _piece(event: Any) -> TextDelta | ReasoningDelta | None:
    match event:
        case (
            PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            | PartStartEvent(part=TextPart(content=text))
        ) if text:
            return TextDelta(readable(text))
        case (
            PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text))
            | PartStartEvent(part=ThinkingPart(content=text))
        ) if text:
            return ReasoningDelta(readable(text))
        case _:
            return None


def _reply(answer: ModelResponse, model: str) -> LlmReply:
    finish = _FINISH.get(answer.finish_reason or "")
    # Without the vendor's own word pydantic-ai takes a stream that was cut off for one that has ended.
    said = (answer.provider_details or {}).get("finish_reason") or finish is FinishReason.CONTENT_FILTER
    if answer.state != "complete" or finish is None or not said:
        raise ModelFailure(
            FailureKind.TRANSPORT, f"the answer of {model} was cut off: it did not say that it has ended"
        )
    return LlmReply(
        parts=parts_of(answer),
        finish=finish,
        model_id=model,
        usage=LlmUsage(
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            cache_read_tokens=answer.usage.cache_read_tokens,
        ),
    )


def failure_of(error: Exception, model: str) -> ModelFailure:
    """What went wrong, in our words. What nobody has foreseen is a failure of the transport."""
    kind = next((kind for cause, kind in _FAILURES if isinstance(error, cause)), FailureKind.TRANSPORT)
    said = briefly(_said(error))
    return ModelFailure(
        kind, f"{model} gave no answer ({kind}): {said}", retry_after=getattr(error, "retry_after", None)
    )


def _said(error: Exception) -> str:
    """The server's own words where there are any, with its status."""
    if not isinstance(error, theirs.ModelAPIError):
        return f"{type(error).__name__}: {error}"
    status = f"HTTP {error.status_code}: " if isinstance(error, theirs.ModelHTTPError) else ""
    body: Any = error.body
    for name in ("error", "message"):
        if isinstance(body, dict):
            body = cast("dict[str, Any]", body).get(name, cast("object", body))
    return status + (body if isinstance(body, str) and body else error.message)
