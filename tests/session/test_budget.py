"""Costs: whole microcents, rounded up, and never more than was reserved."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from serai.session.budget import MicrocentPrice, cost_of, most_input_tokens, settled_cost, worst_cost
from serai.session.messages import (
    DurableContentPart,
    LlmRequest,
    LlmUsage,
    MediaPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from session.sessions import rows

prices = st.builds(MicrocentPrice, st.integers(0, 10**11), st.integers(0, 10**11), st.none())


def request(*content: DurableContentPart, most: int = 100) -> LlmRequest:
    return LlmRequest("x:m", "", rows(("user", content)), max_tokens=most, media={"pages": b"x" * 5000})


def test_a_price_is_as_it_is_written() -> None:
    price = MicrocentPrice.of_dollars(0.15, 0.6)
    assert price == MicrocentPrice(15_000_000, 60_000_000)
    assert cost_of(LlmUsage(input_tokens=1000, output_tokens=10), price) == 15_600


@given(st.integers(0, 10**6), st.integers(0, 10**6), prices)
def test_a_cost_is_the_exact_one_rounded_up(given: int, said: int, price: MicrocentPrice) -> None:
    exact = Fraction(given * price.input + said * price.output, 10**6)
    cost = cost_of(LlmUsage(input_tokens=given, output_tokens=said), price)
    assert exact <= cost < exact + 1


def test_input_that_the_server_still_had_costs_what_its_price_says() -> None:
    usage = LlmUsage(input_tokens=1000, cache_read_tokens=400)
    assert cost_of(usage, MicrocentPrice(10**6, 0, cache_read=10**5)) == 600 + 40
    assert cost_of(usage, MicrocentPrice(10**6, 0)) == 1000


@given(st.text(max_size=200), st.integers(1, 10**5), st.data())
def test_no_usage_within_the_bounds_costs_more_than_was_reserved(
    text: str, most: int, data: st.DataObject
) -> None:
    asked = request(TextPart(text=text), most=most)
    price = data.draw(prices)
    usage = LlmUsage(
        input_tokens=data.draw(st.integers(0, most_input_tokens(asked))),
        output_tokens=data.draw(st.integers(0, most)),
    )
    assert cost_of(usage, price) <= worst_cost(asked, price)


@given(st.text(max_size=200))
def test_text_has_no_more_tokens_than_bytes(text: str) -> None:
    more = most_input_tokens(request(TextPart(text=text))) - most_input_tokens(request(TextPart(text="")))
    assert more == len(text.encode())


@pytest.mark.parametrize(
    "part",
    [
        TextPart(text="x" * 5000),
        ToolCallPart(id="1", name="look", input={"at": "x" * 5000}),
        ToolResultPart(id="1", name="look", output="x" * 5000),
        MediaPart(handle="picture", media_type="image/png"),
        MediaPart(handle="pages", media_type="application/pdf"),
    ],
)
def test_everything_that_is_sent_counts(part: DurableContentPart) -> None:
    assert most_input_tokens(request(part)) > 5000


def test_the_system_prompt_and_the_tools_count() -> None:
    tools = (ToolSpec("look", "d" * 1000, {"type": "object", "description": "s" * 1000}),)
    bare = request()
    assert most_input_tokens(bare._replace(system="p" * 1000, tools=tools)) > most_input_tokens(bare) + 3000


def test_a_server_that_does_not_say_what_it_took_has_taken_all() -> None:
    price = MicrocentPrice(10**6, 10**6)
    assert settled_cost(LlmUsage(), price, 500) == 500
    assert settled_cost(LlmUsage(input_tokens=3), price, 500) == 3
