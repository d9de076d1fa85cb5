"""Who follows which channel."""

from __future__ import annotations

from journal.conftest import Listener
from serai.journal.subscriptions import Subscriptions

ONE, TWO, THREE = "ahp-session:/1", "ahp-session:/2", "ahp-session:/3"


class Moody:
    """A subscriber that may want to hear elsewhere."""

    def __init__(self) -> None:
        self.here: list[bytes] = []
        self.elsewhere: list[bytes] = []
        self.publish = self.here.append

    def go_elsewhere(self) -> None:
        self.publish = self.elsewhere.append


def test_each_hears_its_channels_in_one_call_and_in_order() -> None:
    subscriptions = Subscriptions()
    both, one = Listener(), Listener()
    for channel in (ONE, TWO):
        subscriptions.add(channel, both)
    subscriptions.add(ONE, one)
    assert subscriptions.deliver([(ONE, b"a"), (TWO, b"b"), (THREE, b"c"), (ONE, b"d")]) == 2
    assert (both.writes, one.writes) == ([b"abd"], [b"ad"])


def test_who_wants_to_hear_elsewhere_does_on_all_its_channels() -> None:
    subscriptions = Subscriptions()
    moody = Moody()
    for channel in (ONE, TWO):
        subscriptions.add(channel, moody)
    moody.go_elsewhere()
    subscriptions.redirect(moody)
    subscriptions.deliver([(ONE, b"a")])
    subscriptions.deliver([(ONE, b"b"), (TWO, b"c")])
    assert (moody.here, moody.elsewhere) == ([], [b"a", b"bc"])
