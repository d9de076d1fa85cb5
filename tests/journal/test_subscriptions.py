"""Who follows which channel."""

from __future__ import annotations

from journal.conftest import Listener
from serai.journal.subscriptions import Subscriptions

ONE, TWO, THREE = "ahp-session:/1", "ahp-session:/2", "ahp-session:/3"


def test_each_hears_its_channels_in_one_call_and_in_order() -> None:
    subscriptions = Subscriptions()
    both, one = Listener(), Listener()
    for channel in (ONE, TWO):
        subscriptions.add(channel, both)
    subscriptions.add(ONE, one)
    assert subscriptions.deliver([(ONE, b"a"), (TWO, b"b"), (THREE, b"c"), (ONE, b"d")]) == 2
    assert (both.writes, one.writes) == ([b"abd"], [b"ad"])
