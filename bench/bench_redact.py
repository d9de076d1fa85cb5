"""What it costs to look for secrets in a delta, and in a large text, beside writing them as JSON."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Iterator

from harness import Result, against_peer, take_turns
from serai.redact import Redactor

TIMES = 20
"""How often the text is gone through in one round."""

TEXT = (
    "The session keeps its state, and a turn belongs to the host: whoever comes back finds what they left. "
    "`session.apply(action)` returns the state after it; see docs/architecture.md, the path of an action.\n"
    "A token or a password in the output of a tool is shown as a mask that names its kind and no more.\n"
)
SIZE = 20
DELTAS = [TEXT[start : start + SIZE] for start in range(0, len(TEXT), SIZE)]
LARGE = TEXT * 1000
ACTION = {"type": "session/delta", "turnId": "turn-12", "partId": "part-3"}


def benchmarks() -> Iterator[Result]:
    """Deltas of 20 characters of prose with no known values and with 50, and a text of 300 kB at once."""
    plain = Redactor()
    random_text = random.Random(1).choices  # noqa: S311 - the same in every run
    letters = string.ascii_letters + string.digits
    full = Redactor({f"KEY_{n}": "".join(random_text(letters, k=40)) for n in range(50)})

    times = take_turns(
        _each(lambda: plain.stream().feed),
        _each(lambda: full.stream().feed),
        _each(lambda: full.stream(observed=False).feed),
        _each(lambda: lambda delta: json.dumps({**ACTION, "content": delta})),
    )
    figures = [seconds / TIMES / len(DELTAS) * 1e6 for seconds in times]
    names = ("shapes only", "shapes, 50 known values", "50 known values only")
    for name, figure in zip(names, figures, strict=False):
        yield against_peer(
            f"redact a delta: {name}",
            figure,
            "µs",
            peer="json.dumps of its action",
            peer_figure=figures[-1],
            target=None,
        )

    whole, peer = take_turns(lambda: full.redact(LARGE), lambda: json.dumps(LARGE), rounds=5)
    yield against_peer(
        "redact 300 kB of prose, 50 known values",
        whole * 1e3,
        "ms",
        peer="json.dumps of it",
        peer_figure=peer * 1e3,
        target=None,
    )


def _each(make: Callable[[], Callable[[str], str]]) -> Callable[[], None]:
    def run() -> None:
        take = make()
        for _ in range(TIMES):
            for delta in DELTAS:
                take(delta)

    return run
