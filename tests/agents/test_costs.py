"""What agents cost: figures of sessions, tokens and their prices, budgets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agents.players import ALL, Players
from serai import agents
from serai.acp.process.connection import Launch
from serai.acp.updates import Cost
from serai.agents import CostTracker, Price
from serai.agents.ask.costs import Meter, TurnTokens
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.errors import BudgetExceeded


def usd(amount: float) -> Cost:
    return Cost(amount=amount)


def test_what_a_session_tells_is_never_added_up() -> None:
    tracker = CostTracker()
    one, other = Meter(tracker, "a", "s"), Meter(tracker, "b", "s")
    for amount in (0.0017, 0.0091, 0.0107, 0.0107):
        one.observe(usd(amount))
    other.observe(usd(1))
    assert tracker.spent_usd == pytest.approx(1.0107)
    assert tracker.by_agent == pytest.approx({"a": 0.0107, "b": 1})


def test_an_earlier_session_goes_on_where_it_was() -> None:
    tracker = CostTracker()
    Meter(tracker, "a", "s").observe(usd(0.5))
    Meter(tracker, "a", "s", is_known=True).observe(usd(0.7))
    assert tracker.spent_usd == pytest.approx(0.7)
    Meter(tracker, "a", "other", reported=usd(3), is_known=True).observe(usd(3.1))
    assert tracker.spent_usd == pytest.approx(0.8)


def test_a_new_process_may_count_anew_whatever_it_tells_first() -> None:
    tracker = CostTracker()
    Meter(tracker, "a", "s").observe(usd(0.30))
    meter = Meter(tracker, "a", "s", is_known=True)
    meter.begin()
    for amount in (0.25, 0.35):
        meter.observe(usd(amount))
    assert (meter.turn_usd, tracker.spent_usd) == (pytest.approx(0.35), pytest.approx(0.65))


def test_another_currency_is_not_counted_and_warned_of_once() -> None:
    warnings: list[str] = []
    tracker = CostTracker()
    meter = Meter(tracker, "a", "s", warn=warnings.append)
    for _ in range(2):
        meter.observe(Cost(amount=3, currency="EUR"))
    assert tracker.spent_usd == 0
    assert warnings == ['Agent "a" tells its cost in EUR — it is not counted in US dollars.']


def test_what_is_left_and_what_is_to_come() -> None:
    tracker = CostTracker(10)
    assert tracker.average_per_turn == 0
    Meter(tracker, "a", "s").observe(usd(4))
    tracker.turns = 2
    assert (tracker.remaining_usd, tracker.average_per_turn, tracker.project(3)) == (6, 2, 10)
    assert tracker.would_exceed(6)
    assert not tracker.would_exceed(5)
    other = tracker.fork(20)
    Meter(other, "a", "t").observe(usd(1))
    assert (tracker.spent_usd, other.spent_usd, other.budget_usd) == (4, 5, 20)
    tracker.reset()
    assert (tracker.spent_usd, tracker.turns) == (0, 0)
    assert CostTracker().remaining_usd is None


async def test_a_turn_has_its_cost_and_the_sessions(players: Players) -> None:
    tracker = CostTracker()
    async with agents.session("player", costs=tracker, **players.options) as session:
        first = await session.ask("cost 0.1 0.2")
        second = await session.ask("cost 0.3 0.5")
    assert (first.cost_usd, second.cost_usd) == pytest.approx((0.2, 0.3))
    assert second.cost == usd(0.5)
    assert (tracker.spent_usd, tracker.turns) == (pytest.approx(0.5), 2)


async def test_a_loaded_sessions_past_is_not_paid_again(players: Players) -> None:
    """The player tells, when it repeats the history, that it has cost 2 dollars."""
    players.add("able", capabilities=ALL)
    tracker = CostTracker()
    result = await agents.ask("able", "cost 2.5", load="old", costs=tracker, **players.options)
    assert result.cost_usd == pytest.approx(0.5)
    assert tracker.spent_usd == pytest.approx(0.5)


async def test_a_turn_that_spends_the_budget_is_cancelled_and_no_other_is_begun(players: Players) -> None:
    tracker = CostTracker(0.5)
    async with agents.session("player", costs=tracker, **players.options) as session:
        with pytest.raises(BudgetExceeded) as caught:
            await session.ask("cost 0.3 0.5 wait")
        assert caught.value.result.stop_reason == "cancelled"
        assert caught.value.result.text == "waitingstopped"
        assert (caught.value.spent_usd, caught.value.budget_usd) == (0.5, 0.5)
        prompts = players.methods.count("session/prompt")
        with pytest.raises(BudgetExceeded) as caught:
            await session.ask("echo a")
        assert caught.value.result is None
        assert players.methods.count("session/prompt") == prompts


async def test_tokens_have_a_price_where_no_cost_is_told(players: Players) -> None:
    """The player tells 1,000 tokens in and 100 out."""
    options = players.options
    by_model = CostTracker(prices={"player::small": Price(1, 10), "player": Price(100, 100)})
    result = await agents.ask("player", "echo a", costs=by_model, **options)
    assert result.cost_usd == pytest.approx(0.002)
    assert by_model.spent_usd == pytest.approx(0.002)
    assert players.warnings == []


class Summing(ScriptedAgent):
    """A turn takes 100 tokens in, 7 of them from a cache, and 20 out. Started again, it counts anew."""

    def __init__(self) -> None:
        super().__init__(self._turn, name="summing", capabilities=EVERYTHING)
        self._asked = 0
        self._starts = 0

    async def launch(self, options: Any) -> Launch:
        return replace(await super().launch(options), cumulative_tokens=True)

    async def _turn(self, turn: ScriptedTurn) -> None:
        if self.starts != self._starts:
            self._starts, self._asked = self.starts, 0
        self._asked += 1
        once = {"inputTokens": 100, "cachedReadTokens": 7, "outputTokens": 20, "totalTokens": 120}
        turn.tokens = {name: value * self._asked for name, value in once.items()}
        turn.say("done")


async def test_tokens_that_an_agent_counts_over_its_session_are_paid_once() -> None:
    agent, tracker = Summing(), CostTracker(prices={"summing": Price(1, 1)})
    turn = {"inputTokens": 100, "cachedReadTokens": 7, "outputTokens": 20, "totalTokens": 120}
    async with agents.session(agent, costs=tracker) as session:
        results = [await session.ask("go") for _ in range(4)]
    assert [result.usage for result in results] == [turn] * 4
    assert [result.raw["usage"]["inputTokens"] for result in results] == [100, 200, 300, 400]
    async with agents.session(agent, load=session.id, costs=tracker) as session:
        results = [await session.ask("go") for _ in range(2)]
    assert [result.usage for result in results] == [turn] * 2
    assert tracker.spent_usd == pytest.approx(6 * 120 / 1_000_000)


def test_cached_tokens_have_prices_of_their_own() -> None:
    usage = {"inputTokens": 10, "cachedReadTokens": 100, "cachedWriteTokens": 1000, "outputTokens": None}
    assert Price(1, 1).cost_of(usage) == pytest.approx(0.00111)
    assert Price(1, 1, cached_read=0, cached_write=2).cost_of(usage) == pytest.approx(0.00201)
    assert Price(1, 1).cost_of({"inputTokens": 10, "outputTokens": -10}) == pytest.approx(0.00001)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("small", 1),
        ("small-4-5-20260101", 1),
        ("smaller", 3),
        (None, 3),
    ],
)
def test_a_price_holds_for_the_versions_of_a_model(model: str | None, price: float) -> None:
    tracker = CostTracker(prices={"a::small": Price(1, 1), "a": Price(3, 3)})
    assert tracker.price_for("a", model) == Price(price, price)
    assert tracker.price_for("b", model) is None
    tracker.prices["*"] = Price(9, 9)
    assert tracker.price_for("b", model) == Price(9, 9)


async def test_a_turn_that_was_asked_without_it_can_be_counted() -> None:
    async def turn(turn: ScriptedTurn) -> None:
        turn.tokens = {"inputTokens": 1_000_000}
        if turn.number == 1:
            turn.usage(cost_usd=0.5)

    agent = ScriptedAgent(turn)
    told, untold = [await agents.ask(agent, "go") for _ in range(2)]
    tracker = CostTracker(2.0)
    assert (tracker.record(told), tracker.record(untold)) == (0.5, None)
    tracker.prices["scripted::m"] = Price(1, 1)
    assert tracker.record(untold, "m-1") == 1.0
    assert (tracker.turns, tracker.spent_usd, tracker.by_agent) == (3, 1.5, {"scripted": 1.5})
    with pytest.raises(BudgetExceeded):
        tracker.record(told)


@pytest.mark.parametrize(
    ("tells", "prices", "why"),
    [
        ({}, {}, "no price"),
        ({"cost": 0.0, "tokens": 5}, {}, "no price"),
        ({"tokens": 5}, {"*": Price(1, 1)}, None),
        ({"cost": 0.1}, {}, None),
    ],
)
async def test_a_budget_says_whether_it_holds_an_agent_back(
    tells: dict[str, Any], prices: dict[str, Price], why: str | None
) -> None:
    async def turn(turn: ScriptedTurn) -> str | None:
        if turn.number == 1:
            return "cancelled"  # says nothing about what the agent tells otherwise
        if "tokens" in tells:
            turn.tokens = {"inputTokens": tells["tokens"]}
        if "cost" in tells:
            turn.usage(cost_usd=tells["cost"])
        return None

    warnings: list[str] = []
    tracker = CostTracker(1, prices=prices)
    async with agents.session(ScriptedAgent(turn), costs=tracker, on_warning=warnings.append) as session:
        await session.ask("stop")
        assert warnings == []
        for _ in range(2):
            await session.ask("go")
    assert [why is not None and why in each for each in warnings] == ([True] if why else [])
    assert (tracker.spent_usd > 0) == (why is None)


PARTS = {
    "inputTokens": 100,
    "cachedReadTokens": 7,
    "cachedWriteTokens": 3,
    "outputTokens": 20,
    "thoughtTokens": 5,
}


@pytest.mark.parametrize(
    ("total", "tokens"),
    [
        (None, TurnTokens(100, 7, 3, 20, 5)),
        (135, TurnTokens(100, 7, 3, 20, 5)),
        (120, TurnTokens(90, 7, 3, 15, 5)),
        (125, TurnTokens(90, 7, 3, 20, 5)),  # thoughts come on top, what was cached does not
        (130, TurnTokens(100, 7, 3, 15, 5)),  # the other way round
        (1, TurnTokens(100, 7, 3, 20, 5)),
    ],
)
def test_the_total_says_what_is_part_of_what(total: int | None, tokens: TurnTokens) -> None:
    assert TurnTokens.read({**PARTS, "totalTokens": total}) == tokens
