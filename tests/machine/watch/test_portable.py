"""What a set of changes means."""

from __future__ import annotations

from pathlib import Path

import pytest
from watchfiles import Change

from serai.ahp.types import ResourceChangeType
from serai.machine.watch.events import WatchEvent
from serai.machine.watch.portable import in_order

ADDED, UPDATED, DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED


@pytest.mark.parametrize(
    ("kinds", "there", "outcome"),
    [
        ({Change.added}, True, [ADDED]),
        ({Change.modified}, True, [UPDATED]),
        ({Change.deleted}, False, [DELETED]),
        ({Change.added, Change.modified}, True, [ADDED]),
        ({Change.added, Change.deleted}, False, [ADDED, DELETED]),
        ({Change.added, Change.deleted}, True, [DELETED, ADDED]),
        ({Change.modified, Change.deleted}, False, [DELETED]),
        ({Change.modified, Change.deleted}, True, [DELETED, ADDED]),
        ({Change.added}, False, []),
        ({Change.modified}, False, []),
    ],
)
def test_the_disk_decides_what_came_last(
    tmp_path: Path, kinds: set[Change], there: bool, outcome: list[ResourceChangeType]
) -> None:
    file = tmp_path / "a"
    if there:
        file.write_text("1")
    found = {(kind, str(file)) for kind in kinds}
    assert in_order(found, lambda _: iter(())) == [WatchEvent(kind, str(file)) for kind in outcome]
