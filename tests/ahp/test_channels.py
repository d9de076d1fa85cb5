from __future__ import annotations

from typing import Any

import pytest

from ahp.types.examples import full
from requirements import proves
from serai.ahp.channels import LONGEST_URI, ChannelKind, kind_of, problem_with_choice, state_of
from serai.ahp.commands import Snapshot
from serai.ahp.reducers import LiveChangeset, LiveResourceWatch, LiveRoot, LiveSession, LiveTerminal, live
from serai.ahp.types import ChangesetState, ResourceWatchState, RootState, SessionState, TerminalState
from serai.ahp.wire import convert, to_json

STATEFUL: list[tuple[str, type[Any], type[Any]]] = [
    ("ahp-root://", RootState, LiveRoot),
    ("ahp-session:/3f1d8a52", SessionState, LiveSession),
    ("ahp-terminal:/1", TerminalState, LiveTerminal),
    ("ahp-changeset:/uncommitted?turn=1", ChangesetState, LiveChangeset),
    ("ahp-resource-watch:/1", ResourceWatchState, LiveResourceWatch),
]
"""Section 3: the channels that have state."""


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("ahp-root://", ChannelKind.ROOT),
        ("ahp-session:/3f1d8a52", ChannelKind.SESSION),
        ("ahp-session:", ChannelKind.SESSION),
        ("ahp-terminal:/1", ChannelKind.TERMINAL),
        ("ahp-changeset:/1", ChannelKind.CHANGESET),
        ("ahp-resource-watch:/1", ChannelKind.RESOURCE_WATCH),
        ("ahp-otlp:logs?level=warn", ChannelKind.TELEMETRY),
    ],
)
def test_the_scheme_says_what_kind_of_channel_it_is(uri: str, kind: ChannelKind) -> None:
    assert kind_of(uri) is kind


@pytest.mark.parametrize(
    "uri", ["", ":", "ahp-session", "ahp-later:/1", "file:///ahp-session:/1", "ahp-root2://"]
)
def test_a_scheme_that_is_not_ahps_has_no_kind(uri: str) -> None:
    assert kind_of(uri) is None


@proves("ahp:Session-Channel/uri")
@pytest.mark.parametrize(("uri", "state_type", "live_type"), STATEFUL)
def test_the_scheme_picks_the_type_of_the_state_and_its_reducer(
    uri: str, state_type: type[Any], live_type: type[Any]
) -> None:
    plain = full(state_type)
    state = state_of(Snapshot(resource=uri, state=plain, from_seq=1))
    assert type(state) is state_type
    assert to_json(state) == plain
    assert type(live(convert(plain, state_type))) is live_type


@pytest.mark.parametrize("uri", ["ahp-otlp:logs", "ahp-later:/1", "nonsense"])
def test_a_channel_without_state_or_of_an_unknown_kind_has_no_state(uri: str) -> None:
    assert state_of(Snapshot(resource=uri, state={"anything": 1}, from_seq=1)) is None


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("ahp-session:", "needs an id"),
        ("ahp-session://", "needs an id"),
        ("ahp-session:/".ljust(LONGEST_URI + 1, "x"), "has up to 1,024 characters, not 1,025"),
        ("ahp-session:/\0", "has no control characters"),
        ("ahp-session:/a\nb", "has no control characters"),
        ("ahp-terminal:/\x1b[2J", "has no control characters"),
        ("ahp-session:/\x7f", "has no control characters"),
        ("ahp-session:/\x9b2J", "has no control characters"),
    ],
)
def test_a_name_that_lists_cannot_show_is_refused(uri: str, problem: str) -> None:
    assert problem_with_choice(uri) == problem
