"""Subscriptions: the followers of each channel, and the delivery of a batch to all of them in few writes."""

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
        self.changed: Callable[[str, bool], None] = lambda _channel, _is_abandoned: None
        """Called with a channel that has its first follower, or none any more; with `True` when the last one
        is gone without a word, and may come back."""
        self._by_channel: dict[str, dict[Subscriber, Callable[[bytes], None]]] = {}
        """Each follower with its `publish` method: it is called often, and looked up once."""
        self._by_subscriber: dict[Subscriber, set[str]] = {}

    def add(self, channel: str, subscriber: Subscriber) -> None:
        """Let a subscriber follow a channel. Adding it again does nothing."""
        is_first = channel not in self._by_channel
        self._by_channel.setdefault(channel, {})[subscriber] = subscriber.publish
        self._by_subscriber.setdefault(subscriber, set()).add(channel)
        if is_first:
            self.changed(channel, False)

    def remove(self, channel: str, subscriber: Subscriber) -> None:
        """End a subscriber's following of a channel."""
        followers = self._by_channel.get(channel)
        if followers is None or subscriber not in followers:
            return
        self._by_subscriber[subscriber].discard(channel)
        if self._leaves_nobody(channel, subscriber):
            self.changed(channel, False)

    def forget(self, subscriber: Subscriber) -> None:
        """Remove a subscriber that is gone."""
        for channel in self._by_subscriber.pop(subscriber, set()):
            if self._leaves_nobody(channel, subscriber):
                self.changed(channel, True)

    def _leaves_nobody(self, channel: str, subscriber: Subscriber) -> bool:
        followers = self._by_channel[channel]
        del followers[subscriber]
        if followers:
            return False
        del self._by_channel[channel]
        return True

    def drop(self, channel: str) -> None:
        """Remove a channel that is gone."""
        for subscriber in self._by_channel.pop(channel, {}):
            self._by_subscriber[subscriber].discard(channel)

    def is_followed(self, channel: str) -> bool:
        """Tell whether anyone follows a channel."""
        return channel in self._by_channel

    def follows(self, channel: str, subscriber: Subscriber) -> bool:
        """Tell whether a subscriber follows a channel."""
        return channel in self._by_subscriber.get(subscriber, ())

    def deliver(self, messages: list[tuple[str, bytes]]) -> int:
        """Deliver framed messages to the followers of their channels, in order, with one call each.

        Followers of the same channels get the very same buffer: it is joined once for all of them.

        Returns:
            Number of followers that were called.
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
