"""The cost of agents, and budgets.

An agent reports the cost of its *session* since it began, several times in a turn. So of each session only
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
"""The version or date at the end of a model's name."""


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """The tokens of a turn. Each token is counted in one field only."""

    input: int
    cached_read: int
    cached_write: int
    output: int
    thought: int

    @classmethod
    def read(cls, usage: Mapping[str, Any]) -> TurnTokens:
        """Read the tokens in `AskResult.usage`.

        Most agents count the kinds separately. Some count cached tokens as input, too, or thoughts as output:
        the total shows it, when it is too small for the sum of all kinds.
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
    """Return a number of tokens; 0 for what is no amount."""
    value = usage.get(name)
    return int(value) if is_amount(value) else 0


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in US dollars."""

    input: float
    output: float
    """Also for thoughts."""
    cached_read: float | None = None
    """By default as `input`."""
    cached_write: float | None = None
    """By default as `input`."""

    def cost_of(self, usage: Mapping[str, Any]) -> float:
        """Return the cost of a turn's tokens, given `AskResult.usage`."""
        tokens = TurnTokens.read(usage)
        read = self.input if self.cached_read is None else self.cached_read
        write = self.input if self.cached_write is None else self.cached_write
        taken = self.input * tokens.input + read * tokens.cached_read + write * tokens.cached_write
        return (taken + self.output * (tokens.output + tokens.thought)) / 1_000_000


class CostTracker:
    """Adds up the cost of several sessions, with or without a budget. All that share the budget share it.

    A turn that reaches the budget is cancelled, and no other is begun: `BudgetExceeded`. There is a warning
    when an agent reports nothing that could be counted against the budget.

    Of an earlier session that is loaded or resumed, only new cost counts: beyond what the agent reports while
    it is opened, or else beyond what this tracker has seen of it. When neither is known, the first figure
    counts as a whole, with what was spent before.

    Args:
        budget_usd: The budget, in US dollars.
        prices: Prices for agents that report tokens but no cost, by `agent::model`, `agent` or `*`. A model's
            name also stands for its dated versions: `codex::small` for `small-20260101`.
    """

    def __init__(self, budget_usd: float | None = None, *, prices: Mapping[str, Price] | None = None) -> None:
        self.budget_usd = budget_usd
        self.turns = 0
        """Number of turns so far."""
        self.prices: dict[str, Price] = dict(prices or {})
        """Prices by `agent::model`, `agent` or `*`. They may be changed at any time."""
        self.warned: set[str] = set()
        """Warnings that were given. Each is given once."""
        self._by_agent: dict[str, float] = {}
        self.sessions: dict[tuple[str, str], float] = {}
        """Last reported cost of each session, by its agent and id."""

    @property
    def spent_usd(self) -> float:
        """Total cost so far, in US dollars."""
        return sum(self._by_agent.values())

    @property
    def by_agent(self) -> dict[str, float]:
        """Cost so far, by the agents' names."""
        return dict(self._by_agent)

    @property
    def remaining_usd(self) -> float | None:
        """Rest of the budget; `None` without one."""
        return None if self.budget_usd is None else max(0.0, self.budget_usd - self.spent_usd)

    @property
    def average_per_turn(self) -> float:
        """Average cost of a turn; 0 before the first."""
        return self.spent_usd / self.turns if self.turns else 0.0

    @property
    def is_exceeded(self) -> bool:
        """True once the budget is spent."""
        return self.would_exceed(0.0)

    def would_exceed(self, more_usd: float) -> bool:
        """Tell whether this much more would spend the budget."""
        return self.budget_usd is not None and self.spent_usd + more_usd >= self.budget_usd

    def project(self, turns: int) -> float:
        """Return the expected total after so many more turns of average cost."""
        return self.spent_usd + turns * self.average_per_turn

    def price_for(self, agent: str, model: str | None = None) -> Price | None:
        """Return the price of an agent's model; `None` without one."""
        names = [agent, "*"]
        while model:
            names.insert(-2, f"{agent}::{model}")
            shorter = _VERSION.sub("", model)
            model = shorter if shorter != model else None
        return next((self.prices[name] for name in names if name in self.prices), None)

    def record(self, result: AskResult, model: str | None = None) -> float | None:
        """Count a turn that ran without this tracker. Returns its cost; `None` when that is unknown.

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
        """Return the error that the budget is spent."""
        return BudgetExceeded(spent_usd=self.spent_usd, budget_usd=self.budget_usd or 0.0)

    def reset(self) -> None:
        """Begin at zero. The cost of sessions until now no longer counts."""
        self.turns = 0
        self._by_agent.clear()

    def fork(self, budget_usd: float | None = None) -> CostTracker:
        """Return an independent copy, by default with the same budget."""
        budget = self.budget_usd if budget_usd is None else budget_usd
        other = CostTracker(budget, prices=self.prices)
        other.turns = self.turns
        other._by_agent |= self._by_agent
        other.sessions |= self.sessions
        return other

    def estimated(self, result: AskResult, model: str | None) -> float | None:
        """Return the cost of a turn by its tokens; `None` when that is unknown."""
        price = self.price_for(result.agent, model)
        return price.cost_of(result.usage) if price is not None and result.usage else None

    def add(self, agent: str, usd: float) -> None:
        """Add cost of an agent."""
        self._by_agent[agent] = self._by_agent.get(agent, 0.0) + usd


class Meter:
    """Measures the cost of one session, in one process of its agent.

    Args:
        tracker: Adds up the cost.
        agent: The agent's name.
        session_id: The session's id.
        reported: The cost that the agent reported while it opened the session.
        is_known: True for an earlier session.
        warn: Takes a warning about cost that cannot be counted.
    """

    def __init__(
        self,
        tracker: CostTracker,
        agent: str,
        session_id: str,
        *,
        reported: Cost | None = None,
        is_known: bool = False,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.tracker = tracker
        self.turn_usd: float | None = None
        """Cost of the turn so far; `None` when it is unknown."""
        self._session = agent, session_id
        self._warn = warn
        self._last = tracker.sessions.get(self._session, 0.0) if is_known else 0.0
        self._is_new = True  # this process has reported nothing yet: it may count from zero again
        if reported is not None and reported.currency == "USD":
            self._last, self._is_new = max(0.0, float(reported.amount)), False

    def begin(self) -> None:
        """Begin a turn. Raises `BudgetExceeded` if the budget is spent already."""
        if self.tracker.is_exceeded:
            raise self.tracker.exceeded()
        self.turn_usd = None

    def observe(self, cost: Cost) -> bool:
        """Take the agent's figure for the session's cost so far. Returns whether the budget is spent."""
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
        """End a turn. Returns its cost, reported or estimated; `None` when it is unknown."""
        self.tracker.turns += 1
        if self.turn_usd is not None and self._last > 0:  # the agent reports its cost
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
