"""Which resources are a client's, so that the host asks it for them when others do.

A client answers the host as it would answer nobody else, so it is asked for nothing but what it has shown:

- what is at or below the URI of a plugin that it publishes as a session's active client
- what it has itself attached to a message of that session, by that very URI and for reading only. What others
  attach does not count: they would only have to name what they want to have. It is forgotten when the session
  leaves memory, which it does not while a client is active in it
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from serai.ahp import actions as a
from serai.ahp import commands as c
from serai.ahp.types import MessageResourceAttachment, SessionActiveClient

__all__ = ["Shown", "gives", "named_in"]

_READS = (c.ResourceReadParams, c.ResourceListParams, c.ResourceResolveParams)
# What is on a host, on the network, or names something of AHP is no client's, whatever a client says.
_NEVER = re.compile(r"(file|https?|ahp-[^:]*|serai-[^:]*):", re.IGNORECASE)


def named_in(params: Any) -> list[str]:
    """The URIs that a command is about: one, or where from and where to."""
    if isinstance(params, c.ResourceCopyParams | c.ResourceMoveParams):
        return [params.source, params.destination]
    return [params.uri]


class Shown:
    """What clients have attached to messages of a session."""

    def __init__(self) -> None:
        self._of: dict[str, set[str]] = {}

    def note(self, action: a.StateAction, client_id: str) -> None:
        """A client has done something; if it sent a message, what is attached to that is shown."""
        if isinstance(action, a.SessionTurnStartedAction | a.SessionPendingMessageSetAction):
            uris = {
                attachment.uri
                for attachment in action.user_message.attachments or ()
                if isinstance(attachment, MessageResourceAttachment)
            }
            if uris:
                self._of.setdefault(client_id, set()).update(uris)

    def has(self, client_id: str, uri: str) -> bool:
        """Whether a client has attached a resource to one of its own messages."""
        return uri in self._of.get(client_id, ())


def gives(client: SessionActiveClient, shown: Shown, params: Any) -> bool:
    """Whether all that a command names is of a session's active client."""
    reads = isinstance(params, _READS)
    return all(
        _NEVER.match(uri) is None
        and (_is_of_plugin(client, uri) or (reads and shown.has(client.client_id, uri)))
        for uri in named_in(params)
    )


def _is_of_plugin(client: SessionActiveClient, uri: str) -> bool:
    bases = (plugin.uri.rstrip("/") for plugin in client.customizations or ())
    return any(uri == base or uri.startswith(f"{base}/") for base in bases) and not _goes_up(uri)


def _goes_up(uri: str) -> bool:
    return any(part == ".." for part in re.split(r"[/\\]", unquote(uri)))
