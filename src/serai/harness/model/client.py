"""Asks models, and computes the cost. A request yields text as it grows, and last the whole answer.

Prices are those of the person's file, else those of the list `genai-prices`.

For example:

    client = ModelClient(configuration.models, redactor)
    async with aclosing(client.ask(request)) as answer:
        async for piece in answer:
            ...  # TextPart, ReasoningPart; last the LlmReply
    await client.aclose()
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from decimal import ROUND_CEILING, Decimal
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from serai.config.keys import resolve_secret
from serai.config.models import ModelKind, ModelRef, ModelServer, find_model
from serai.errors import ConfigInvalid, FailureKind, ModelFailure
from serai.redact import Redactor
from serai.session.messages import LlmReply, LlmRequest, LlmUsage, MediaPart, ReasoningPart, TextPart

if TYPE_CHECKING:
    from serai.harness.model.vendors import AnyModel

Piece: TypeAlias = TextPart | ReasoningPart | LlmReply
"""A piece of an answer: text, and last the whole answer."""

_SILENCE = 300.0
"""Longest silence of a model, in seconds: some think for minutes before they speak."""
_EXTRAS = {ModelKind.OPENAI: "models", ModelKind.ANTHROPIC: "anthropic", ModelKind.GOOGLE: "google"}


class ModelClient:
    """Asks the models of `serai.toml`. Several requests may be under way at once.

    Args:
        servers: The servers, by name.
        redactor: Learns each key before it is used, and masks the error messages of servers.
        silence: Longest silence of a model, in seconds.
    """

    def __init__(
        self,
        servers: Mapping[str, ModelServer],
        redactor: Redactor,
        *,
        silence: float = _SILENCE,
    ) -> None:
        self._servers = servers
        self._redactor = redactor
        self._silence = silence
        self._models: dict[str, AnyModel] = {}
        self._connections = AsyncExitStack()
        self._opening = asyncio.Lock()

    async def aclose(self) -> None:
        """Close all connections."""
        self._models.clear()
        await self._connections.aclose()

    async def ask(self, request: LlmRequest) -> AsyncGenerator[Piece]:
        """Ask a model.

        Cancelling ends the request at once, and so does closing the generator. The time of a slow reader does
        not count as silence of the model.

        Raises:
            ModelFailure: There is no answer, or no whole one.
        """
        model = self._models.get(request.model) or await self._open(request.model)
        from serai.harness.model.vendors import answer_of, failure_of  # noqa: PLC0415 - imported by now

        has_begun = False
        try:
            async with aclosing(answer_of(model, request, self._silence)) as answer:
                while True:
                    async with asyncio.timeout(self._silence):
                        piece = await anext(answer)
                    has_begun = True
                    if piece is not None:
                        yield piece
                        if isinstance(piece, LlmReply):
                            return
        except TimeoutError:
            why = f"it was silent for {self._silence:g} seconds"
            problem = f"{request.model} gave no whole answer: {why}"
            failure = ModelFailure(problem, failure=FailureKind.TIMEOUT)
        except ModelFailure as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - vendors' libraries raise anything
            failure = failure_of(error, request.model)
        if failure.failure is FailureKind.AUTHENTICATION:
            self._models.pop(request.model, None)  # the next request reads the key again
        raise ModelFailure(
            self._redactor.redact(failure.message),
            failure=failure.failure,
            has_begun=has_begun,
            retry_after=failure.retry_after,
            remedy=failure.remedy,
        )

    def reservation(self, request: LlmRequest) -> int | None:
        """Return the microcents that a request may cost at most; `None` when nobody knows its price."""
        worst = LlmUsage(input_tokens=most_input_tokens(request), output_tokens=request.max_tokens)
        return cost_of(find_model(self._servers, request.model), worst)

    def cost(self, model: str, usage: LlmUsage, reserved: int | None) -> int | None:
        """Return the microcents that an answer cost, of those reserved for it; `None` when nobody knows.

        Where a server does not say what it took, all that was reserved is spent.
        """
        is_known = usage.input_tokens or usage.output_tokens
        if reserved is None or not is_known:
            return reserved
        return cost_of(find_model(self._servers, model), usage)

    async def _open(self, name: str) -> AnyModel:
        async with self._opening:
            if name in self._models:
                return self._models[name]
            try:
                model = find_model(self._servers, name)
            except ConfigInvalid as error:
                refused = FailureKind.REFUSED
                raise ModelFailure(error.message, failure=refused, remedy=error.remedy) from None
            try:
                # On threads: the keyring may wait for a person, and importing takes a second.
                key = None
                if (named := model.server.key) is not None:
                    key = await asyncio.to_thread(resolve_secret, named, os.environ)
                    self._redactor.register(named.partition(":")[2], key)
                vendors = await asyncio.to_thread(import_module, "serai.harness.model.vendors")
                provider, opened = await asyncio.to_thread(vendors.open_model, model, key)
            except ConfigInvalid as error:
                refused = FailureKind.AUTHENTICATION
                raise ModelFailure(error.message, failure=refused, remedy=error.remedy) from None
            except ImportError:
                raise ModelFailure(
                    f"models of the kind {model.server.kind} need a library that is not installed",
                    failure=FailureKind.REFUSED,
                    remedy=f"pip install 'serai[{_EXTRAS[model.server.kind]}]'",
                ) from None
            await self._connections.enter_async_context(provider)
            self._models[name] = opened
            return opened


# -- what requests cost, in whole microcents (1e-8 dollar), always rounded up ------------------------------

# Before a request leaves, its worst case is reserved; when its answer says what it took, that is the cost. So
# what was spent and reserved is never less than what is owed, and a request that might not fit is not sent.

_MICROCENTS_PER_DOLLAR = 10**8

_TOKENS_OF_REQUEST = 256
"""Tokens that servers add to a request of their own, such as instructions for tools."""
_TOKENS_OF_PART = 32
"""Tokens of the marks around a message, a call, a result or a tool."""
_TOKENS_OF_IMAGE = 16_384
"""Tokens of one image: more than any vendor counts."""


def cost_of(model: ModelRef, usage: LlmUsage) -> int | None:
    """Return what a request costs at a model, in microcents; `None` when nobody knows the price.

    The list comes with pydantic-ai and is read without a network. It has the prices of vendors at their own
    addresses: a server elsewhere is looked up by its address, not by the names of its models, which may be
    anyone's. The first look takes a moment: the list is large.
    """
    own = model.server.prices.get(model.id)
    if own is not None:  # by their texts: 0.15 is meant as it is written
        asked, said = Decimal(str(own.input)), Decimal(str(own.output))
        return _microcents((usage.input_tokens * asked + usage.output_tokens * said) / 10**6)
    try:
        from genai_prices import Usage  # noqa: PLC0415 - no session needs it before
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - the same
    except ImportError:
        return None
    url = model.server.base_url
    tokens = Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=min(usage.cache_read_tokens, usage.input_tokens),
    )
    vendor = None if url else model.server.kind.value
    try:
        found = get_snapshot().calc(tokens, model.id, vendor, url, None)
    except LookupError:
        return None
    price = found.model_price
    is_whole = price.input_mtok is not None and price.output_mtok is not None
    return _microcents(found.total_price) if is_whole else None


def _microcents(dollars: Decimal) -> int:
    """Return an amount of dollars in whole microcents, rounded up."""
    return int((dollars * _MICROCENTS_PER_DOLLAR).to_integral_value(ROUND_CEILING))


def most_input_tokens(request: LlmRequest) -> int:
    """Return more tokens than a request can have: no tokenizer makes more than one of a byte of its JSON."""
    parts = [part for message in request.messages for part in message.content]
    marks = _TOKENS_OF_PART * (len(request.messages) + len(parts) + len(request.tools))
    media = [part for part in parts if isinstance(part, MediaPart)]
    # Pages of a document become text and an image each: twice its bytes is more than that.
    shown = sum(
        _TOKENS_OF_IMAGE
        if part.media_type.startswith("image/")
        else 2 * len(request.media.get(part.handle, b""))
        for part in media
    )
    written = len(msgspec.json.encode((request.system, parts, request.tools)))
    return _TOKENS_OF_REQUEST + marks + shown + written
