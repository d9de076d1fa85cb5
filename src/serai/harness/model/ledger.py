"""What a session or a run has spent: in memory for the next decision, in its row for the next start."""

from __future__ import annotations

from collections.abc import Sequence

from serai.harness.model.transcript import Kind
from serai.store.contract import RelayWrite


class SpendLedger:
    """What a session has spent, with what is reserved for requests under way.

    A reservation counts as spent until the answer says what it did cost. So whatever is killed, what the row
    says is never less than what was spent.
    """

    def __init__(self, session: str, spent: int = 0, unpriced: int = 0, kind: Kind = "session") -> None:
        self._statement = f"add_{kind}_spent"
        self._session = session
        self.spent = spent
        """Microcents."""
        self.unpriced = unpriced
        """Requests whose price nobody knows."""

    def reserve(self, microcents: int | None) -> Sequence[RelayWrite]:
        """A request is about to leave. Returns what writes that down."""
        return self._add(microcents or 0, 1 if microcents is None else 0)

    def settle(self, reserved: int | None, cost: int | None) -> Sequence[RelayWrite]:
        """A request has its answer, and what it did cost is known: else the reservation stays spent."""
        return self._add((cost or 0) - reserved, 0) if reserved is not None and cost is not None else ()

    def _add(self, microcents: int, unpriced: int) -> Sequence[RelayWrite]:
        self.spent += microcents
        self.unpriced += unpriced
        return [RelayWrite(self._statement, (self._session, microcents, unpriced))]
