"""A terminal's state with a bound."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from serai.ahp import actions as a
from serai.ahp.reducers import LiveTerminal
from serai.ahp.types import (
    TerminalClientClaim,
    TerminalCommandPart,
    TerminalState,
    TerminalUnclassifiedPart,
)
from serai.machine.terminals.scrollback import BoundedTerminal


def empty() -> TerminalState:
    return TerminalState(title="t", content=[], claim=TerminalClientClaim(client_id="c"))


def text_of(state: TerminalState) -> str:
    return "".join(
        part.output if isinstance(part, TerminalCommandPart) else part.value
        for part in state.content
        if isinstance(part, TerminalCommandPart | TerminalUnclassifiedPart)
    )


def command(name: str, line: str = "make") -> a.TerminalCommandExecutedAction:
    return a.TerminalCommandExecutedAction(command_id=name, command_line=line, timestamp=1)


def test_below_the_bound_it_is_the_reducers_state() -> None:
    bounded, live = BoundedTerminal(empty()), LiveTerminal(empty())
    for action in (
        a.TerminalDataAction(data="$ "),
        command("1"),
        a.TerminalDataAction(data="built\r\n"),
        a.TerminalCommandFinishedAction(command_id="1", exit_code=0, duration_ms=5),
        a.TerminalTitleChangedAction(title="new"),
        a.TerminalDataAction(data="$ "),
        a.TerminalExitedAction(exit_code=0),
    ):
        bounded.apply(action, 0)
        live.apply(action, 0)
    assert bounded.snapshot() == live.snapshot()
    assert bounded.head.title == "new"
    assert bounded.cut == 0


def test_a_running_command_keeps_its_newest_lines_and_says_what_was_cut() -> None:
    bounded = BoundedTerminal(empty(), bound=10_000)
    bounded.apply(command("1"), 0)
    lines = [f"line {number}\r\n" for number in range(5000)]
    for line in lines:
        bounded.apply(a.TerminalDataAction(data=line), 0)
    notice, part = bounded.snapshot().content
    assert isinstance(part, TerminalCommandPart)
    assert part.command_line == "make"
    assert notice == TerminalUnclassifiedPart(value=f"[… {bounded.cut:,} characters cut]\r\n")
    rest = part.output
    assert rest.startswith("line ")
    assert "".join(lines).endswith(rest)
    assert bounded.cut + len(rest) == sum(map(len, lines))
    assert 5000 <= len(part.output) <= 10_000
    bounded.apply(a.TerminalCommandFinishedAction(command_id="1", exit_code=0), 0)
    _, part = bounded.snapshot().content
    assert isinstance(part, TerminalCommandPart)
    assert part.is_complete


def test_what_is_cleared_is_not_cut() -> None:
    bounded = BoundedTerminal(empty(), bound=2000)
    bounded.apply(a.TerminalDataAction(data="x" * 3000), 0)
    assert bounded.cut > 0
    bounded.apply(a.TerminalClearedAction(), 0)
    assert (bounded.cut, bounded.snapshot().content) == (0, [])
    bounded.apply(a.TerminalDataAction(data="after"), 0)
    assert text_of(bounded.snapshot()) == "after"


ACTIONS = st.one_of(
    st.text(st.sampled_from("ab\n🦊é\x1b"), max_size=300).map(lambda text: a.TerminalDataAction(data=text)),
    st.integers(0, 5).map(lambda number: command(str(number))),
    st.integers(0, 5).map(
        lambda number: a.TerminalCommandFinishedAction(command_id=str(number), exit_code=0)
    ),
    st.just(a.TerminalClearedAction()),
)


@given(st.lists(ACTIONS, max_size=40), st.integers(1500, 4000))
def test_the_bound_holds_and_only_the_oldest_is_missing(actions: list[a.StateAction], bound: int) -> None:
    bounded, live = BoundedTerminal(empty(), bound), LiveTerminal(empty())
    for action in actions:
        bounded.apply(action, 0)
        live.apply(action, 0)
        kept, everything = text_of(bounded.snapshot()), text_of(live.snapshot())
        assert len(kept) <= bound
        notice = re.match(r"\[… ([\d,]+) characters cut\]\r\n", kept)
        if bounded.cut:
            assert notice is not None
            assert int(notice[1].replace(",", "")) == bounded.cut
            kept = kept[notice.end() :]
        assert everything.endswith(kept)
        assert len(everything) == bounded.cut + len(kept)
