"""Prices: the file's, else the public list's, else unknown."""

from __future__ import annotations

from serai.config.models import ModelKind, ModelRef, ModelServer, PricePerMillion
from serai.harness.model.client import price_of
from serai.session.budget import MicrocentPrice


def at(kind: ModelKind, model: str, url: str | None = None) -> ModelRef:
    prices = {"own": PricePerMillion(input=0.5, output=2)}
    return ModelRef("x", ModelServer(kind=kind, base_url=url, key="env:A", prices=prices), model)


def test_the_file_says_what_a_model_costs() -> None:
    assert price_of(at(ModelKind.OPENAI, "own"), 10) == MicrocentPrice(50_000_000, 200_000_000)


def test_the_public_list_knows_the_models_of_vendors() -> None:
    assert price_of(at(ModelKind.OPENAI, "gpt-4o-mini"), 10) == MicrocentPrice(
        15_000_000, 60_000_000, 7_500_000
    )


def test_a_large_request_may_cost_more_for_each_token() -> None:
    model = at(ModelKind.GOOGLE, "gemini-2.5-pro")
    small, large = price_of(model, 1000), price_of(model, 300_000)
    assert small is not None
    assert large is not None
    assert large.input == 2 * small.input


def test_the_list_does_not_know_what_a_server_elsewhere_takes() -> None:
    assert price_of(at(ModelKind.OPENAI, "gpt-4o-mini", "http://127.0.0.1:8080/v1"), 10) is None
