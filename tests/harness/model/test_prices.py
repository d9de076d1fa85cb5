"""Prices: the file's, else the public list's, else unknown; costs in whole microcents, rounded up."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, strategies as st

from serai.config.models import ModelKind, ModelRef, ModelServer, PricePerMillion
from serai.harness.model.client import ModelClient, cost_of, most_input_tokens
from serai.redact import Redactor
from serai.session.messages import LlmRequest, LlmUsage, TextPart
from session.sessions import rows

PRICES = {"own": PricePerMillion(input=0.5, output=2), "written": PricePerMillion(input=0.15, output=0.6)}


def at(kind: ModelKind, model: str, url: str | None = None) -> ModelRef:
    return ModelRef("x", ModelServer(kind=kind, base_url=url, key="env:A", prices=PRICES), model)


def took(given: int, said: int = 0, cached: int = 0) -> LlmUsage:
    return LlmUsage(input_tokens=given, output_tokens=said, cache_read_tokens=cached)


def test_the_file_says_what_a_model_costs() -> None:
    assert cost_of(at(ModelKind.OPENAI, "own"), took(10**6, 10**6)) == 250_000_000


def test_a_price_is_as_it_is_written() -> None:
    assert cost_of(at(ModelKind.OPENAI, "written"), took(1000, 10)) == 15_600


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_cost_is_the_exact_one_rounded_up(given: int, said: int) -> None:
    exact = Fraction(given * 15 + said * 60) * 10**6 / 10**6
    cost = cost_of(at(ModelKind.OPENAI, "written"), took(given, said))
    assert cost is not None
    assert exact <= cost < exact + 1


def test_the_public_list_knows_the_models_of_vendors() -> None:
    model = at(ModelKind.OPENAI, "gpt-4o-mini")
    assert cost_of(model, took(10**6)) == 15_000_000
    assert cost_of(model, took(0, 10**6)) == 60_000_000
    assert cost_of(model, took(10**6, 0, 10**6)) == 7_500_000, "what the server still had costs less"
    assert cost_of(model, took(10, 0, 10**6)) == cost_of(model, took(10, 0, 10)), "it had no more than it got"


def test_a_large_request_may_cost_more_for_each_token() -> None:
    model = at(ModelKind.GOOGLE, "gemini-2.5-pro")
    small, large = cost_of(model, took(1000)), cost_of(model, took(300_000))
    assert small is not None
    assert large == 2 * 300 * small


def test_the_list_does_not_know_what_a_server_elsewhere_takes() -> None:
    assert cost_of(at(ModelKind.OPENAI, "gpt-4o-mini", "http://127.0.0.1:8080/v1"), took(10)) is None


# -- what is reserved --------------------------------------------------------------------------------------

CLIENT = ModelClient({"x": at(ModelKind.OPENAI, "own").server}, Redactor())


@given(st.text(max_size=200), st.integers(1, 10**5), st.data())
def test_no_usage_within_the_bounds_costs_more_than_was_reserved(
    text: str, most: int, data: st.DataObject
) -> None:
    asked = LlmRequest("x:own", "", rows(("user", [TextPart(text=text)])), max_tokens=most)
    reserved = CLIENT.reservation(asked)
    usage = took(data.draw(st.integers(0, most_input_tokens(asked))), data.draw(st.integers(0, most)))
    cost = CLIENT.cost("x:own", usage, reserved)
    assert reserved is not None
    assert cost is not None
    assert cost <= reserved


def test_a_server_that_does_not_say_what_it_took_has_taken_all() -> None:
    assert CLIENT.cost("x:own", LlmUsage(), 500) == 500
    assert CLIENT.cost("x:own", took(3), 500) == 150
    assert CLIENT.cost("x:own", took(3), None) is None
