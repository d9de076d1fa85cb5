"""What an action costs once a session is large."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from harness import Result, against_peer, take_turns
from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import MarkdownResponsePart, SessionState, SessionSummary, ToolCallResult, UserMessage

DELTAS = 2_000


def benchmarks() -> Iterator[Result]:
    """Deltas in large states, memory of streamed text, and a whole turn."""
    yield _long_text()
    yield _many_parts()
    yield _memory("ASCII", "word ")
    yield _memory("with emoji", "Wörter 🙂 ")
    yield _recorded_turn()


def _session(*parts: MarkdownResponsePart) -> LiveSession:
    session = LiveSession(
        SessionState(
            summary=SessionSummary(
                resource="ahp-session:/1", provider="demo", title="", status=1, created_at=0, modified_at=0
            ),
            lifecycle="ready",
            turns=[],
        )
    )
    session.apply(a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="go")), 0)
    for part in parts:
        session.apply(a.SessionResponsePartAction(turn_id="t", part=part), 0)
    return session


def _deltas(session: LiveSession, part_id: str) -> Callable[[], None]:
    actions = [
        a.SessionDeltaAction(turn_id="t", part_id=part_id, content=f"piece {n:08} of text ")
        for n in range(DELTAS)
    ]

    def run() -> None:
        apply = session.apply
        for action in actions:
            apply(action, 0)

    return run


def _long_text() -> Result:
    long, short = (_session(MarkdownResponsePart(id="p", content="x" * size)) for size in (10_000_000, 1_000))
    long_time, short_time = take_turns(_deltas(long, "p"), _deltas(short, "p"))
    return against_peer(
        "delta to 10 MB of text",
        long_time / DELTAS * 1e6,
        "µs",
        peer="to 1 kB",
        peer_figure=short_time / DELTAS * 1e6,
        target=1.3,
    )


def _many_parts() -> Result:
    many = _session(*(MarkdownResponsePart(id=f"p{n}", content="") for n in range(5_000)))
    one = _session(MarkdownResponsePart(id="p4999", content=""))
    many_time, one_time = take_turns(_deltas(many, "p4999"), _deltas(one, "p4999"))
    return against_peer(
        "delta to the last of 5,000 parts",
        many_time / DELTAS * 1e6,
        "µs",
        peer="to the only one",
        peer_figure=one_time / DELTAS * 1e6,
        target=1.3,
    )


def _memory(what: str, word: str) -> Result:
    session = _session(MarkdownResponsePart(id="p", content=""))
    size = 0
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    number = 0
    while size < 10_000_000:
        content = f"{word}{number}"
        number += 1
        size += len(content.encode())
        session.apply(a.SessionDeltaAction(turn_id="t", part_id="p", content=content), 0)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return against_peer(
        f"memory of streamed text, {what}",
        used / 1e6,
        "MB",
        peer="its size in UTF-8",
        peer_figure=size / 1e6,
        target=2.0,
    )


def _recorded_turn() -> Result:
    """5,000 actions: text, reasoning and tool calls, as a coding agent mixes them."""
    actions: list[Any] = []
    for step in range(100):
        actions += [
            a.SessionResponsePartAction(turn_id="t", part=MarkdownResponsePart(id=f"p{step}", content="")),
            *(
                a.SessionDeltaAction(turn_id="t", part_id=f"p{step}", content="some words of text ")
                for _ in range(40)
            ),
            a.SessionToolCallStartAction(
                turn_id="t", tool_call_id=f"c{step}", tool_name="bash", display_name="Run"
            ),
            *(
                a.SessionToolCallDeltaAction(turn_id="t", tool_call_id=f"c{step}", content='{"command"')
                for _ in range(5)
            ),
            a.SessionToolCallReadyAction(
                turn_id="t",
                tool_call_id=f"c{step}",
                invocation_message="ls",
                tool_input="{}",
                confirmed="not-needed",
            ),
            a.SessionToolCallCompleteAction(
                turn_id="t",
                tool_call_id=f"c{step}",
                result=ToolCallResult(success=True, past_tense_message="listed"),
            ),
            a.SessionTitleChangedAction(title=f"step {step}"),
        ]

    def apply() -> None:
        session = _session()
        for action in actions:
            session.apply(action, 0)

    def bare() -> None:
        state: dict[str, Any] = {}
        for number, action in enumerate(actions):
            state["last"] = action
            state["count"] = number

    apply_time, bare_time = take_turns(apply, bare)
    return against_peer(
        "apply a turn of 5,000 actions",
        apply_time * 1e3,
        "ms",
        peer="dictionary updates",
        peer_figure=bare_time * 1e3,
        target=None,
    )
