"""The pure client state of `serai.ahp.client`, with what a client that waits for answers asks of it."""

from __future__ import annotations

from serai.ahp.client import ClientState
from serai.ahp.notifications import DispatchActionParams
from serai.ahp.reducers import LiveSession
from serai.ahp.types import URI

__all__ = ["Mirror"]


class Mirror(ClientState):
    """All channels of one client."""

    def session(self, uri: URI) -> LiveSession | None:
        """A session as the host has confirmed it: to look at, without the cost of a snapshot."""
        mirror = self._mirrors.get(uri)
        found = None if mirror is None else mirror.confirmed
        return found if isinstance(found, LiveSession) else None

    def withdraw(self, dispatched: DispatchActionParams) -> None:
        """Show an action of ours no longer: it was answered by other means than a new envelope.

        A refusal may carry a number that this client has seen already, and a snapshot may hold the action.
        """
        mirror = self._mirrors.get(dispatched.channel)
        if mirror is None:
            return
        left = [one for one in mirror.pending if one.client_seq != dispatched.client_seq]
        if len(left) < len(mirror.pending):
            mirror.pending = left
            mirror.shown = None
