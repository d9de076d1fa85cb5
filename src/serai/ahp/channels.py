"""Channels by their URIs: the scheme says what kind of channel it is, and what state it has."""

from __future__ import annotations

from enum import StrEnum

from serai.ahp.commands import Snapshot
from serai.ahp.reducers import CHANNEL_TYPES, ChannelState
from serai.ahp.types import URI
from serai.ahp.wire import convert

__all__ = ["ChannelKind", "kind_of", "state_of"]


class ChannelKind(StrEnum):
    """The kinds of channels, by scheme."""

    ROOT = "ahp-root"
    SESSION = "ahp-session"
    TERMINAL = "ahp-terminal"
    CHANGESET = "ahp-changeset"
    RESOURCE_WATCH = "ahp-resource-watch"
    TELEMETRY = "ahp-otlp"


_STATES = {ChannelKind(channel.scheme): channel.state for channel in CHANNEL_TYPES}


def kind_of(uri: URI) -> ChannelKind | None:
    """What kind of channel a URI names; `None` for a scheme that is not AHP's."""
    scheme, separator, _ = uri.partition(":")
    return ChannelKind(scheme) if separator and scheme in _KINDS else None


_KINDS = frozenset(kind.value for kind in ChannelKind)


def state_of(snapshot: Snapshot) -> ChannelState | None:
    """The typed state of a snapshot; `None` when its channel is of a kind that we do not know.

    Raises:
        Mismatch: The state does not fit its channel.
    """
    kind = kind_of(snapshot.resource)
    as_type = _STATES.get(kind) if kind else None
    if as_type is None or isinstance(snapshot.state, as_type):
        return snapshot.state if as_type else None
    return convert(snapshot.state, as_type)
