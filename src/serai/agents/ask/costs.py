"""What agents cost, and when it is enough.

An agent tells what its *session* has cost since it began, several times in a turn. So of each session only
the last figure counts: adding them up would count the same money again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from serai.acp.shapes import is_amount
from serai.acp.updates import Cost
from serai.agents.ask.events import AskResult
from serai.errors import BudgetExceeded

__all__ = ["CostTracker", "Price"]

_VERSION = re.compile(r"[-@:.]v?\d+$")
"""The end of a model's name that tells its version or its date."""


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """The tokens of a turn. No token is of two kinds."""

    input: int
    cached_read: int
    cached_write: int
    output: int
    thought: int

    @classmethod
    def of(cls, usage: Mapping[str, Any]) -> TurnTokens:
        """The tokens that `AskResult.usage` tells.

        Most agents tell the kinds apart from one another. Of some, what was cached is part of the input, or
        thoughts are part of the output: the total says so, where it has no room for them beside those.
        """
        whole_input, whole_output = _count(usage, "inputTokens"), _count(usage, "outputTokens")
        read, written = _count(usage, "cachedReadTokens"), _count(usage, "cachedWriteTokens")
        cached, thought = read + written, _count(usage, "thoughtTokens")
        beside = _count(usage, "totalTokens") - whole_input - whole_output
        has_cached = beside in (0, thought) and cached <= whole_input
        has_thought = (beside == 0 or beside == cached != thought) and thought <= whole_output
        own_input = whole_input - cached if has_cached else whole_input
        own_output = whole_output - thought if has_thought else whole_output
        return cls(own_input, read, written, own_output, thought)


def _count(usage: Mapping[str, Any], name: str) -> int:
    """A number of tokens. What is no number of things counts as nothing."""
    value = usage.get(name)
    return int(value) if is_amount(value) else 0


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in US dollars."""

    input: float
    output: float
    """Also for thoughts."""
    cached_read: float | None = None
    """By default as `input`."""
    cached_write: float | None = None
    """By default as `input`."""

    def of(self, usage: Mapping[str, Any]) -> float:
        """What the tokens of a turn cost, as `AskResult.usage` tells them."""
        tokens = TurnTokens.of(usage)
        read = self.input if self.cached_read is None else self.cached_read
        write = self.input if self.cached_write is None else self.cached_write
        taken = self.input * tokens.input + read * tokens.cached_read + write * tokens.cached_write
        return (taken + self.output * (tokens.output + tokens.thought)) / 1_000_000


class CostTracker:
    """Adds up what several sessions cost, with a budget or without. Give it to all that share the budget.

    A turn that reaches the budget is cancelled, and no other is begun: `BudgetExceeded`. An agent that the
    budget cannot hold back is warned of.

    Of an earlier session that is loaded or resumed, only what is new counts: beyond what the agent tells of
    its cost while it is opened, or else beyond what this tracker has seen of it. When neither is known, the
    first figure counts as a whole, with what was spent before.

    Args:
        budget_usd: What may be spent.
        prices: For agents that tell tokens but no cost, by `agent::model`, `agent` or `*`. A model's name
            also stands for its dated versions: `codex::small` for `small-20260101`.
    """

    def __init__(self, budget_usd: float | None = None, *, prices: Mapping[str, Price] | None = None) -> None:
        self.budget_usd = budget_usd
        self.turns = 0
        """How many turns there were."""
        self.prices: dict[str, Price] = dict(prices or {})
        """What tokens cost, by `agent::model`, `agent` or `*`. It may be changed at any time."""
        self.warned: set[str] = set()
        """The warnings that were given: each is given once."""
        self._by_agent: dict[str, float] = {}
        self.sessions: dict[tuple[str, str], float] = {}
        """What sessions have cost when they were last heard of, by their agents and ids."""

    @property
    def spent_usd(self) -> float:
        """What was spent in all."""
        return sum(self._by_agent.values())

    @property
    def by_agent(self) -> dict[str, float]:
        """What was spent, by the agents' names."""
        return dict(self._by_agent)

    @property
    def remaining_usd(self) -> float | None:
        """What may still be spent; `None` without a budget."""
        return None if self.budget_usd is None else max(0.0, self.budget_usd - self.spent_usd)

    @property
    def average_per_turn(self) -> float:
        """What a turn has cost so far; 0 before the first."""
        return self.spent_usd / self.turns if self.turns else 0.0

    @property
    def is_exceeded(self) -> bool:
        """Whether all of the budget was spent."""
        return self.would_exceed(0.0)

    def would_exceed(self, more_usd: float) -> bool:
        """Whether the budget would be spent when that came on top."""
        return self.budget_usd is not None and self.spent_usd + more_usd >= self.budget_usd

    def project(self, turns: int) -> float:
        """What will have been spent after so many more turns like those before."""
        return self.spent_usd + turns * self.average_per_turn

    def price_for(self, agent: str, model: str | None = None) -> Price | None:
        """What the tokens of an agent's model cost; `None` where there is no price."""
        names = [agent, "*"]
        while model:
            names.insert(-2, f"{agent}::{model}")
            shorter = _VERSION.sub("", model)
            model = shorter if shorter != model else None
        return next((self.prices[name] for name in names if name in self.prices), None)

    def record(self, result: AskResult, model: str | None = None) -> float | None:
        """Count a turn that was asked without this tracker. Returns what it has cost; `None`: nobody knows.

        Raises:
            BudgetExceeded: With this turn the budget is spent.
        """
        usd = result.cost_usd if result.cost_usd is not None else self.estimated(result, model)
        self.turns += 1
        if usd is not None:
            self.add(result.agent, usd)
        if self.is_exceeded:
            raise self.exceeded()
        return usd

    def exceeded(self) -> BudgetExceeded:
        """The error that says so."""
        return BudgetExceeded(spent_usd=self.spent_usd, budget_usd=self.budget_usd or 0.0)

    def reset(self) -> None:
        """Begin at zero. What sessions have cost until now does not count any more."""
        self.turns = 0
        self._by_agent.clear()

    def fork(self, budget_usd: float | None = None) -> CostTracker:
        """Another one that has seen the same and goes its own way, by default with the same budget."""
        budget = self.budget_usd if budget_usd is None else budget_usd
        other = CostTracker(budget, prices=self.prices)
        other.turns = self.turns
        other._by_agent |= self._by_agent
        other.sessions |= self.sessions
        return other

    def estimated(self, result: AskResult, model: str | None) -> float | None:
        """What a turn has cost of which the agent tells no cost; `None` when that is not known."""
        price = self.price_for(result.agent, model)
        return price.of(result.usage) if price is not None and result.usage else None

    def add(self, agent: str, usd: float) -> None:
        """Money was spent."""
        self._by_agent[agent] = self._by_agent.get(agent, 0.0) + usd


class Meter:
    """What one session costs, in one process of its agent.

    Args:
        tracker: Who adds it up.
        agent: The agent's name.
        session_id: The session's.
        told: What the agent has told of the session's cost as it opened it.
        is_known: Whether it is an earlier session.
        warn: Is told what cannot be counted.
    """

    def __init__(
        self,
        tracker: CostTracker,
        agent: str,
        session_id: str,
        *,
        told: Cost | None = None,
        is_known: bool = False,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.tracker = tracker
        self.turn_usd: float | None = None
        """What the turn has cost so far; `None` when nothing is known of it."""
        self._session = agent, session_id
        self._warn = warn
        self._last = tracker.sessions.get(self._session, 0.0) if is_known else 0.0
        self._is_new = True  # this process has told nothing yet: it may count from zero again
        if told is not None and told.currency == "USD":
            self._last, self._is_new = max(0.0, float(told.amount)), False

    def begin(self) -> None:
        """A turn begins. Raises `BudgetExceeded`: the budget was spent before."""
        if self.tracker.is_exceeded:
            raise self.tracker.exceeded()
        self.turn_usd = None

    def observe(self, cost: Cost) -> bool:
        """The agent tells what the session has cost since it began. Returns whether the budget is spent."""
        amount = float(cost.amount)
        if cost.currency != "USD":
            self._warn_once(f"tells its cost in {cost.currency} — it is not counted in US dollars")
        elif amount >= 0:  # nothing is ever paid back
            before = 0.0 if self._is_new and amount < self._last else self._last
            more = max(0.0, amount - before)
            self._last, self._is_new = before + more, False
            self.turn_usd = (self.turn_usd or 0.0) + more
            self.tracker.sessions[self._session] = self._last
            self.tracker.add(self._session[0], more)
        return self.tracker.is_exceeded

    def end(self, result: AskResult, model: str | None) -> float | None:
        """A turn is over. What it has cost, told by the agent or estimated; `None` when that is not known."""
        self.tracker.turns += 1
        if self.turn_usd is not None and self._last > 0:  # the agent tells what it costs
            return self.turn_usd
        if (estimated := self.tracker.estimated(result, model)) is not None:
            self.turn_usd = estimated
            self.tracker.add(self._session[0], estimated)
        if self.tracker.budget_usd is not None and not self.turn_usd and result.stop_reason != "cancelled":
            self._warn_once("tells no cost, and its tokens have no price — the budget does not hold it back")
        return self.turn_usd

    def _warn_once(self, what: str) -> None:
        warning = f'Agent "{self._session[0]}" {what}.'
        if warning not in self.tracker.warned:
            self.tracker.warned.add(warning)
            self._warn(warning)
