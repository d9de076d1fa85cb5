"""Who follows which channel, and how a batch reaches all of them in few writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Subscriber(Protocol):
    """Someone who follows channels."""

    def publish(self, frames: bytes, /) -> None:
        """Take messages that are framed and joined already. Never waits, never raises."""
        ...


class Subscriptions:
    """Channels and their subscribers, both ways."""

    def __init__(self) -> None:
        self.followed: Callable[[str], None] = _ignore
        """Is called with a channel that has got its first follower."""
        self.emptied: Callable[[str], None] = _ignore
        """Is called with a channel that has lost its last follower."""
        self.abandoned: Callable[[str], None] = _ignore
        """Is called instead when that follower is gone without a word: it may come back."""
        self._by_channel: dict[str, dict[Subscriber, Callable[[bytes], None]]] = {}
        """With how each is told: it is called for many, and looked up once."""
        self._by_subscriber: dict[Subscriber, set[str]] = {}

    def add(self, channel: str, subscriber: Subscriber) -> None:
        """From now on the subscriber follows the channel. Adding it again does nothing."""
        is_first = channel not in self._by_channel
        self._by_channel.setdefault(channel, {})[subscriber] = subscriber.publish
        self._by_subscriber.setdefault(subscriber, set()).add(channel)
        if is_first:
            self.followed(channel)

    def remove(self, channel: str, subscriber: Subscriber) -> None:
        """The subscriber no longer follows the channel."""
        followers = self._by_channel.get(channel)
        if followers is None or subscriber not in followers:
            return
        self._by_subscriber[subscriber].discard(channel)
        if self._leaves_nobody(channel, subscriber):
            self.emptied(channel)

    def forget(self, subscriber: Subscriber) -> None:
        """The subscriber is gone."""
        for channel in self._by_subscriber.pop(subscriber, set()):
            if self._leaves_nobody(channel, subscriber):
                self.abandoned(channel)

    def _leaves_nobody(self, channel: str, subscriber: Subscriber) -> bool:
        followers = self._by_channel[channel]
        del followers[subscriber]
        if followers:
            return False
        del self._by_channel[channel]
        return True

    def drop(self, channel: str) -> None:
        """The channel is gone."""
        for subscriber in self._by_channel.pop(channel, {}):
            self._by_subscriber[subscriber].discard(channel)

    def is_followed(self, channel: str) -> bool:
        """Whether anyone follows the channel."""
        return channel in self._by_channel

    def follows(self, channel: str, subscriber: Subscriber) -> bool:
        """Whether the subscriber follows the channel."""
        return channel in self._by_subscriber.get(subscriber, ())

    def deliver(self, messages: list[tuple[str, bytes]]) -> int:
        """Bring framed messages to the followers of their channels, in order, with one call each.

        Followers of the same channels get the very same buffer: it is joined once for all of them.

        Returns:
            How many followers were called.
        """
        channels = dict.fromkeys(channel for channel, _ in messages)
        groups: dict[tuple[str, ...], list[Callable[[bytes], None]]] = {}
        if len(channels) == 1:
            [channel] = channels
            groups[channel,] = list(self._by_channel.get(channel, {}).values())
        else:
            publishers = {s: f for channel in channels for s, f in self._by_channel.get(channel, {}).items()}
            for subscriber, publish in publishers.items():
                followed = self._by_subscriber[subscriber]
                groups.setdefault(tuple(c for c in channels if c in followed), []).append(publish)
        for followed, followers in groups.items():
            frames = b"".join(message for channel, message in messages if channel in followed)
            for publish in followers:
                publish(frames)
        return sum(map(len, groups.values()))


def _ignore(channel: str) -> None:
    del channel
