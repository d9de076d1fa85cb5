"""The reducers: from a state and an action to the next state, for all five stateful channels.

There is one truth in two forms. The host keeps a `LiveState` per channel and changes it in place, so that a
delta costs the same however long the turn is. `reduce` makes a live state, applies one action to it and takes
the snapshot: it never changes what it was given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from serai.ahp.actions import StateAction
from serai.ahp.reducers.channels import LiveChangeset, LiveResourceWatch, LiveRoot, LiveTerminal
from serai.ahp.reducers.live import LiveState
from serai.ahp.reducers.session import LiveSession
from serai.ahp.types import ChangesetState, Number, ResourceWatchState, RootState, SessionState, TerminalState
from serai.ahp.wire import State

ChannelState: TypeAlias = RootState | SessionState | TerminalState | ChangesetState | ResourceWatchState
"""The state of any channel that has one."""

S = TypeVar("S", bound=State)


class ChannelType(NamedTuple):
    """A kind of channel that has a state."""

    name: str
    """Name of its reducer, with which the types of its actions begin: `terminal/data`."""
    scheme: str
    """Scheme of its URIs."""
    state: type[ChannelState]
    live: type[LiveState[Any]]


CHANNEL_TYPES = (
    ChannelType("root", "ahp-root", RootState, LiveRoot),
    ChannelType("session", "ahp-session", SessionState, LiveSession),
    ChannelType("terminal", "ahp-terminal", TerminalState, LiveTerminal),
    ChannelType("changeset", "ahp-changeset", ChangesetState, LiveChangeset),
    ChannelType("resourceWatch", "ahp-resource-watch", ResourceWatchState, LiveResourceWatch),
)
"""All kinds of channels with a state. Telemetry channels have none."""

_LIVE: dict[type, type[LiveState[Any]]] = {channel.state: channel.live for channel in CHANNEL_TYPES}


def live(state: S) -> LiveState[S]:
    """Make a live state, which `apply` changes in place. The given state stays as it is."""
    make = cast("Any", _LIVE[type(state)])
    return make(state)


def reduce(state: S, action: StateAction, now: Number) -> S:
    """Return the state after an action. The given state stays as it is.

    Args:
        state: The state of a channel.
        action: What happens. One of another channel, or an unknown one, changes nothing.
        now: The time, in milliseconds since 1970.
    """
    return fold(state, (action,), now)


def fold(state: S, actions: Iterable[StateAction], now: Number) -> S:
    """Return the state after several actions with the same time."""
    after = live(state)
    for action in actions:
        after.apply(action, now)
    return after.snapshot()
