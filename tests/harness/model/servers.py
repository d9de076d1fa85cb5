"""Model sessions against a server on loopback."""

from __future__ import annotations

from typing import Any

from serai.config.chat import ChatSettings
from serai.config.models import ModelKind, ModelServer, PricePerMillion
from serai.harness.model.harness import ModelHarness
from serai.redact import Redactor

__all__ = ["model_harness"]

_PRICES = {"small": PricePerMillion(input=1, output=10), "large": PricePerMillion(input=5, output=50)}


def model_harness(redactor: Redactor, base_url: str, **chat: Any) -> ModelHarness:
    """The provider `model`, with two models of a server: `local:small`, the default, and `local:large`."""
    server = ModelServer(kind=ModelKind.OPENAI, base_url=base_url, ids=("small", "large"), prices=_PRICES)
    settings = ChatSettings(default_model=chat.pop("default_model", "local:small"), **chat)
    return ModelHarness({"local": server}, settings, redactor)
