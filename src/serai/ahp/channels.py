"""Channels by their URIs: the scheme says what kind of channel it is, and what state it has."""

from __future__ import annotations

import re
from enum import StrEnum

from serai.ahp.commands import Snapshot
from serai.ahp.reducers import CHANNEL_TYPES, ChannelState
from serai.ahp.types import URI
from serai.ahp.wire import convert

LONGEST_URI = 1024
"""So many characters a channel's URI may have that a client chose."""
RUN = "serai-run"
"""The scheme of workflow runs, which AHP does not know."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class ChannelKind(StrEnum):
    """The kinds of channels, by scheme."""

    ROOT = "ahp-root"
    SESSION = "ahp-session"
    TERMINAL = "ahp-terminal"
    CHANGESET = "ahp-changeset"
    RESOURCE_WATCH = "ahp-resource-watch"
    TELEMETRY = "ahp-otlp"


def problem_with_choice(uri: URI) -> str | None:
    """Why a client cannot give a channel this URI, or `None` when it can. Everyone who lists it shows it."""
    if not uri.partition(":")[2].strip("/"):
        return "needs an id"
    if len(uri) > LONGEST_URI:
        return f"has up to {LONGEST_URI:,} characters, not {len(uri):,}"
    return "has no control characters" if _CONTROL.search(uri) else None


_STATES = {ChannelKind(channel.scheme): channel.state for channel in CHANNEL_TYPES}


def kind_of(uri: URI) -> ChannelKind | None:
    """What kind of channel a URI names; `None` for a scheme that is not AHP's."""
    scheme, separator, _ = uri.partition(":")
    return _KINDS.get(scheme) if separator else None


_KINDS: dict[str, ChannelKind] = {kind.value: kind for kind in ChannelKind} | {RUN: ChannelKind.SESSION}


def is_run(uri: URI) -> bool:
    """Whether a URI names the run of a workflow. Its channel is as a session's, and it is none."""
    return uri.startswith(f"{RUN}:")


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
