"""How the benchmarks measure and what they report.

These machines are noisy, so no figure stands alone: each is a ratio to a peer, or to a limit, from one run in
which both take turns. Of several rounds the quickest counts, since noise only ever adds.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from serai.serve.run import settle

ROUNDS = 15


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table."""

    name: str
    figure: float
    unit: str
    peer: str
    """What it is compared with: another way to do the same, or a limit."""
    ratio: float
    """The figure divided by the peer's."""
    target: float | None
    """The ratio that it may have at most; `None` when there is none to keep."""

    @property
    def holds(self) -> bool:
        """Whether the target is kept."""
        return self.target is None or self.ratio <= self.target


@contextmanager
def as_served() -> Generator[None]:
    """Look for garbage as `serai serve` does. Peers are measured as Python comes."""
    thresholds = gc.get_threshold()
    settle()
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def take_turns(*subjects: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """The quickest of several rounds, in seconds, for each subject. They alternate, without the collector."""
    best = [float("inf")] * len(subjects)
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for number, subject in enumerate(subjects):
                start = time.perf_counter()
                subject()
                best[number] = min(best[number], time.perf_counter() - start)
    finally:
        gc.enable()
    return best


def against_peer(
    name: str, figure: float, unit: str, *, peer: str, peer_figure: float, target: float | None
) -> Result:
    """A figure beside another one of the same run."""
    return Result(name, figure, unit, peer, figure / peer_figure, target)


def against_limit(name: str, figure: float, unit: str, *, limit: float) -> Result:
    """A figure beside the most that it may be."""
    return Result(name, figure, unit, f"limit {limit:g} {unit}", figure / limit, 1.0)
