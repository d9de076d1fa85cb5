"""Channels beside the root and the sessions: terminals, changesets, watches.

This is what they have in common. A channel is open while someone follows it or it has work to do; some are
made by a command, changesets when someone asks for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from serai.ahp import actions as a
from serai.ahp.channels import ChannelKind, kind_of
from serai.ahp.reducers import LiveState
from serai.ahp.rules import Judgement, Verdict, judge
from serai.host.redaction import written
from serai.journal.journal import Journal
from serai.journal.subscriptions import Subscriber


class Channel:
    """A channel and its state."""

    def __init__(self, journal: Journal, now: Callable[[], int], uri: str, live: LiveState[Any]) -> None:
        self.journal = journal
        self.uri = uri
        self.live = live
        self.since = 0
        """The number from which on the channel's actions count: earlier ones were of another channel of that
        URI."""
        self._now = now

    def act(self, action: a.StateAction, origin: a.ActionOrigin | None = None, *, kept: bool = False) -> None:
        """Let an action happen. By default it is numbered and published, and not written to disk."""
        action, encoded = written(action)
        self.live.apply(action, self._now())
        self.journal.append(self.uri, action, origin=origin, kept=kept, encoded=encoded)

    def dispatch(self, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> None:
        """Take an action from a client: it happens, or goes back with the reason."""
        judgement = self.judge(action, origin.client_id)
        if judgement.verdict is Verdict.REJECT:
            self.journal.reject(self.uri, action, origin, judgement.reason or "rejected", sender)
        elif judgement.verdict is Verdict.ACCEPT:
            self.accept(action, origin)

    def judge(self, action: a.StateAction, sender: str) -> Judgement:
        """Judge a client's action."""
        return judge(self.live, action, sender)

    def accept(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        """Let a client's action happen. Subclasses add the effects."""
        self.act(action, origin)

    def left(self) -> None:
        """React to the loss of the last follower. By default nothing happens."""

    def abandoned(self) -> None:
        """React to the loss of the last follower, which may come back. By default this is the same."""
        self.left()

    async def close(self) -> None:
        """End the work of the channel: the host stops, or the channel is gone."""


class Channels:
    """The channels that are open."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._open: dict[str, Channel] = {}
        self._opening: dict[str, asyncio.Task[Channel | None]] = {}
        self.open_changeset: Callable[[str], Awaitable[Channel | None]] | None = None
        """Makes the channel of a changeset, given its URI; returns `None` when there is none."""

    def get(self, uri: str) -> Channel | None:
        """Return the channel, if it is open."""
        return self._open.get(uri)

    def add(self, channel: Channel) -> None:
        """Open a channel."""
        channel.since = self._journal.last_seq + 1
        self._open[channel.uri] = channel

    def remove(self, uri: str) -> Channel | None:
        """Remove a channel. Its followers are dropped once all before is published."""
        channel = self._open.pop(uri, None)
        if channel is not None:
            self._journal.then(lambda _seq: self._journal.subscriptions.drop(uri))
        return channel

    async def bring(self, uri: str) -> Channel | None:
        """Return the channel, opened if need be. Cancelling does not stop others who wait for it."""
        channel = self._open.get(uri)
        if channel is not None or kind_of(uri) is not ChannelKind.CHANGESET:
            return channel
        task = self._opening.get(uri)
        if task is None:
            task = self._opening[uri] = asyncio.create_task(self._bring(uri))
            task.add_done_callback(lambda _task: self._opening.pop(uri, None))
        return await asyncio.shield(task)

    async def _bring(self, uri: str) -> Channel | None:
        channel = await self.open_changeset(uri) if self.open_changeset is not None else None
        if channel is not None:
            self.add(channel)
        return channel

    def left(self, uri: str, *, abandoned: bool = False) -> None:
        """Tell a channel that nobody follows it; `abandoned` when the last follower may come back."""
        channel = self._open.get(uri)
        if channel is not None and abandoned:
            channel.abandoned()
        elif channel is not None:
            channel.left()

    async def close(self) -> None:
        """Close all channels."""
        await asyncio.gather(*(channel.close() for channel in self._open.values()))
        self._open.clear()
