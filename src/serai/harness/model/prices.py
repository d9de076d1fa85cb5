"""What a model costs: as the person's file says, else as the list `genai-prices` does, else unknown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from serai.config.models import ModelRef, ModelServer, find_model
from serai.harness.model.client import ModelClient
from serai.session.budget import Price, most_input_tokens, settled_cost, worst_cost
from serai.session.llm import LlmRequest, LlmUsage


class PricedModels:
    """The models of `serai.toml`, and what they cost.

    Args:
        client: Asks them.
        servers: Where they are, by name.
    """

    def __init__(self, client: ModelClient, servers: Mapping[str, ModelServer]) -> None:
        self._servers = servers
        self.ask = client.ask

    def reservation(self, request: LlmRequest) -> int | None:
        """See `Models`."""
        price = price_of(find_model(self._servers, request.model), most_input_tokens(request))
        return None if price is None else worst_cost(request, price)

    def cost(self, model: str, usage: LlmUsage, reserved: int | None) -> int | None:
        """See `Models`."""
        price = price_of(find_model(self._servers, model), usage.input_tokens)
        return None if price is None or reserved is None else settled_cost(usage, price, reserved)


def price_of(model: ModelRef, input_tokens: int) -> Price | None:
    """The price of a model for a request of this size; `None` when nobody knows it.

    The list comes with pydantic-ai and is read without a network. It tells what vendors take at their own
    addresses: a server elsewhere is looked up by its address, not by the names of its models, which may be
    anyone's. The first look takes a moment: the list is large.
    """
    told = model.server.prices.get(model.id)
    if told is not None:
        return Price.of_dollars(told.input, told.output)
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
    return Price.of_dollars(told_in, told_out, told_cached)


def _for_size(price: Any, input_tokens: int) -> Decimal | None:
    """A price in dollars. Some vendors take more for all tokens of a request that is large."""
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if input_tokens > tier.start]
    return reached[-1] if reached else price.base
