"""Locators: the numbers of each channel's rows, without an index on the journal.

The journal is ordered by number alone. Every few thousand rows, each channel that had some gets a *locator*:
the list of its numbers since its last one. What came after is the *tail*, which is short enough to be kept
in memory and to be found by a scan when the store is opened.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import sub
from threading import Lock

_INT64 = "q"

Group = tuple[int, list[int]]
"""A channel, and some of its numbers, ascending."""


def encode(numbers: array[int]) -> bytes:
    """Encode ascending numbers as differences, seven bits to a byte, low ones first."""
    differences = list(map(sub, numbers[1:], numbers))
    if max(differences, default=0) <= 0x7F:
        # The usual case: one byte each, after the first number.
        return _encode(numbers[:1]) + bytes(differences)
    return _encode([*numbers[:1], *differences])


def _encode(differences: Iterable[int]) -> bytes:
    data = bytearray()
    for difference in differences:
        rest = difference
        while rest > 0x7F:
            data.append(rest & 0x7F | 0x80)
            rest >>= 7
        data.append(rest)
    return bytes(data)


def decode(data: bytes) -> array[int]:
    """Return the numbers of a locator.

    Raises:
        ValueError: The data ends within a number, or the numbers do not ascend.
    """
    differences: list[int] = []
    difference = shift = 0
    for place, byte in enumerate(data):
        difference |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
            continue
        differences.append(difference)
        difference = shift = 0
        if len(differences) == 1 and (rest := data[place + 1 :]).isascii():
            differences += rest
            break
    if shift:
        raise ValueError("a locator ends within a number")
    if 0 in differences:
        raise ValueError("the numbers of a locator do not ascend")
    return array(_INT64, accumulate(differences))


def numbers_after(after: int, locators: Iterable[bytes], tail: Sequence[int]) -> array[int]:
    """Return all numbers of a channel above one, from its locators and its tail; the two may overlap."""
    numbers = array(_INT64)
    for data in locators:
        numbers.extend(decode(data))
    # A tail that was copied before a locator was written lists the same numbers again.
    last = numbers[-1] if numbers else 0
    numbers.extend(tail[bisect_right(tail, last) :])
    del numbers[: bisect_right(numbers, after)]
    return numbers


class Tail:
    """The numbers since the last locators, by channel. The writer adds, readers copy, in any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._channels: dict[int, array[int]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, groups: Iterable[Group]) -> None:
        """Add numbers, above all that are there."""
        with self._lock:
            self._count += _add(self._channels, groups)

    def clear(self) -> None:
        """Forget all numbers, once they are in locators."""
        with self._lock:
            self._channels = {}
            self._count = 0

    def prune(self, channel: int, last: int) -> None:
        """Forget the pruned numbers of one channel, up to the last one."""
        with self._lock:
            numbers = self._channels.get(channel)
            if numbers is not None:
                gone = bisect_right(numbers, last)
                self._count -= gone
                # Each listed channel has a number: locators are named by their last one.
                if gone == len(numbers):
                    del self._channels[channel]
                else:
                    self._channels[channel] = numbers[gone:]

    def copy(self, channels: Iterable[int]) -> list[array[int]]:
        """Return the numbers of some channels, all of one moment."""
        with self._lock:
            return [self._channels.get(channel, array(_INT64))[:] for channel in channels]

    def locators(self, groups: Iterable[Group]) -> list[tuple[int, int, bytes]]:
        """Return channel, last number and data of the locators for the tail and the numbers after it."""
        with self._lock:
            merged = {channel: numbers[:] for channel, numbers in self._channels.items()}
        _add(merged, groups)
        # In the order of the table's key.
        return [(channel, numbers[-1], encode(numbers)) for channel, numbers in sorted(merged.items())]


def _add(channels: dict[int, array[int]], groups: Iterable[Group]) -> int:
    count = 0
    for channel, added in groups:
        numbers = channels.get(channel)
        if numbers is None:
            channels[channel] = array(_INT64, added)
        else:
            numbers.fromlist(added)
        count += len(added)
    return count
