"""Which resources are a client's, so that the host asks it for them when others do.

A client answers the host as it would answer nobody else, so it is asked for nothing but what it has shown:

- what is at or below the URI of a plugin that it publishes as a session's active client
- what is attached to a message of that session, by that very URI and for reading only
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from serai.ahp import commands as c
from serai.ahp.types import MessageResourceAttachment, SessionState, UserMessage

__all__ = ["gives", "named_in"]

_READS = (c.ResourceReadParams, c.ResourceListParams, c.ResourceResolveParams)
# What is on a host, on the network, or names something of AHP is no client's, whatever a client says.
_NEVER = re.compile(r"(file|https?|ahp-[^:]*|serai-[^:]*):", re.IGNORECASE)


def named_in(params: Any) -> list[str]:
    """The URIs that a command is about: one, or where from and where to."""
    if isinstance(params, c.ResourceCopyParams | c.ResourceMoveParams):
        return [params.source, params.destination]
    return [params.uri]


def gives(session: SessionState, params: Any) -> bool:
    """Whether all that a command names is of the session's active client."""
    reads = isinstance(params, _READS)
    return all(
        _NEVER.match(uri) is None and (_is_of_plugin(session, uri) or (reads and _is_attached(session, uri)))
        for uri in named_in(params)
    )


def _is_of_plugin(session: SessionState, uri: str) -> bool:
    client = session.active_client
    bases = (plugin.uri.rstrip("/") for plugin in (client and client.customizations) or ())
    return any(uri == base or uri.startswith(f"{base}/") for base in bases) and not _goes_up(uri)


def _goes_up(uri: str) -> bool:
    return any(part == ".." for part in re.split(r"[/\\]", unquote(uri)))


def _is_attached(session: SessionState, uri: str) -> bool:
    return any(
        isinstance(attachment, MessageResourceAttachment) and attachment.uri == uri
        for message in _messages(session)
        for attachment in message.attachments or ()
    )


def _messages(session: SessionState) -> Iterator[UserMessage]:
    for waiting in (session.steering_message, *(session.queued_messages or ())):
        if waiting is not None:
            yield waiting.user_message
    if session.active_turn is not None:
        yield session.active_turn.user_message
    for turn in reversed(session.turns):
        yield turn.user_message
