"""Asks models. A request is sent once; what comes back is text as it grows, and last the whole answer.

What a model costs is known, too: as the person's file says, else as the list `genai-prices` does.

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
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from serai.config.keys import resolve_secret
from serai.config.models import ModelKind, ModelRef, ModelServer, find_model
from serai.errors import ConfigInvalid, FailureKind, ModelFailure
from serai.redact import Redactor
from serai.session.budget import MicrocentPrice, most_input_tokens, settled_cost, worst_cost
from serai.session.messages import LlmReply, LlmRequest, LlmUsage, ReasoningPart, TextPart

if TYPE_CHECKING:
    from serai.harness.model.vendors import AnyModel

Piece: TypeAlias = TextPart | ReasoningPart | LlmReply
"""What comes of a request: pieces of text, and last the whole answer."""

_SILENCE = 300.0
"""How many seconds a model may say nothing: some think for minutes before they speak."""
_EXTRAS = {ModelKind.OPENAI: "models", ModelKind.ANTHROPIC: "anthropic", ModelKind.GOOGLE: "google"}


class ModelClient:
    """Asks the models of `serai.toml`. Several requests may be under way at once.

    Args:
        servers: The servers, by name.
        redactor: Learns each key before it is used, and masks what servers say of failures.
        silence: How many seconds a model may say nothing.
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

        Cancelling breaks the request off at once, and so does closing the generator. Who reads slowly takes
        none of the model's time.

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
        except Exception as error:  # noqa: BLE001 - vendors' libraries raise what they like
            failure = failure_of(error, request.model)
        if failure.failure is FailureKind.AUTHENTICATION:
            self._models.pop(request.model, None)  # the next request looks for the key anew
        raise ModelFailure(
            self._redactor.redact(failure.message),
            failure=failure.failure,
            has_begun=has_begun,
            retry_after=failure.retry_after,
            remedy=failure.remedy,
        )

    def reservation(self, request: LlmRequest) -> int | None:
        """Microcents that a request may cost at most; `None` when nobody knows its price."""
        price = price_of(find_model(self._servers, request.model), most_input_tokens(request))
        return None if price is None else worst_cost(request, price)

    def cost(self, model: str, usage: LlmUsage, reserved: int | None) -> int | None:
        """Microcents that an answer did cost, of those reserved for it; `None` when nobody knows."""
        price = price_of(find_model(self._servers, model), usage.input_tokens)
        return None if price is None or reserved is None else settled_cost(usage, price, reserved)

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


def price_of(model: ModelRef, input_tokens: int) -> MicrocentPrice | None:
    """The price of a model for a request of this size; `None` when nobody knows it.

    The list comes with pydantic-ai and is read without a network. It tells what vendors take at their own
    addresses: a server elsewhere is looked up by its address, not by the names of its models, which may be
    anyone's. The first look takes a moment: the list is large.
    """
    told = model.server.prices.get(model.id)
    if told is not None:
        return MicrocentPrice.of_dollars(told.input, told.output)
    try:
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - no session needs it before
    except ImportError:
        return None
    url = model.server.base_url
    vendor = None if url else model.server.kind.value
    try:
        _, found = get_snapshot().find_provider_model(model.id, None, vendor, url)
    except LookupError:
        return None
    prices: Any = found.get_prices(datetime.now(UTC))
    told_in, told_out, told_cached = (
        _for_size(getattr(prices, name, None), input_tokens)
        for name in ("input_mtok", "output_mtok", "cache_read_mtok")
    )
    if told_in is None or told_out is None:
        return None
    return MicrocentPrice.of_dollars(told_in, told_out, told_cached)


def _for_size(price: Any, input_tokens: int) -> Decimal | None:
    """A price in dollars. Some vendors take more for all tokens of a request that is large."""
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
    return reached[-1] if reached else price.base
