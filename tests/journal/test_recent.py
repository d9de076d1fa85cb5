"""The last envelopes, within bounds."""

from __future__ import annotations

from serai.ahp.actions import TerminalDataAction
from serai.journal.batches import Item
from serai.journal.envelopes import MAX_ENVELOPES, Recent


def test_what_is_no_longer_here_is_said_to_be_missing() -> None:
    recent = Recent()
    for seq in range(1, MAX_ENVELOPES + 11):
        recent.add(seq, Item("c", TerminalDataAction(data="x")))
    assert recent.after(9, {"c"}) is None
    replayed = recent.after(10, {"c"})
    assert replayed is not None
    assert len(replayed) == MAX_ENVELOPES


def test_what_nobody_was_told_of_is_written_when_someone_asks() -> None:
    recent = Recent()
    item = Item("c", TerminalDataAction(data="x"), kept=False)
    recent.add(1, item)
    assert item.json == b""
    assert recent.after(0, {"d"}) == []
    assert item.json == b""
    expected = b'{"channel":"c","action":{"type":"terminal/data","data":"x"},"serverSeq":1}'
    assert recent.after(0, {"c"}) == [expected]
