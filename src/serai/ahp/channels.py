"""Channels by their URIs: the scheme determines the kind of a channel and the type of its state."""

from __future__ import annotations

import re
from enum import StrEnum

from serai.ahp.commands import Snapshot
from serai.ahp.reducers import CHANNEL_TYPES, ChannelState
from serai.ahp.types import URI
from serai.ahp.wire import convert

LONGEST_URI = 1024
"""Longest channel URI that a client may choose, in characters."""
RUN = "serai-run"
"""The scheme of workflow runs, which AHP does not know."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class ChannelKind(StrEnum):
    """A kind of channel; the value is its scheme."""

    ROOT = "ahp-root"
    SESSION = "ahp-session"
    TERMINAL = "ahp-terminal"
    CHANGESET = "ahp-changeset"
    RESOURCE_WATCH = "ahp-resource-watch"
    TELEMETRY = "ahp-otlp"


def problem_with_choice(uri: URI) -> str | None:
    """Return why a client cannot choose this URI for a channel; `None` when it can."""
    if not uri.partition(":")[2].strip("/"):
        return "needs an id"
    if len(uri) > LONGEST_URI:
        return f"has up to {LONGEST_URI:,} characters, not {len(uri):,}"
    return "has no control characters" if _CONTROL.search(uri) else None


_STATES = {ChannelKind(channel.scheme): channel.state for channel in CHANNEL_TYPES}


def kind_of(uri: URI) -> ChannelKind | None:
    """Return the kind of the channel that a URI names; `None` for a scheme that is not AHP's."""
    scheme, separator, _ = uri.partition(":")
    return _KINDS.get(scheme) if separator else None


_KINDS: dict[str, ChannelKind] = {kind.value: kind for kind in ChannelKind} | {RUN: ChannelKind.SESSION}


def is_run(uri: URI) -> bool:
    """Tell whether a URI names a workflow run. A run has a session channel, but is no session."""
    return uri.startswith(f"{RUN}:")


def state_of(snapshot: Snapshot) -> ChannelState | None:
    """Return the typed state of a snapshot; `None` when the kind of its channel is unknown.

    Raises:
        Mismatch: The state does not fit its channel.
    """
    kind = kind_of(snapshot.resource)
    as_type = _STATES.get(kind) if kind else None
    if as_type is None or isinstance(snapshot.state, as_type):
        return snapshot.state if as_type else None
    return convert(snapshot.state, as_type)
