"""Files that were there before, and when they were made."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from serai.changes.moved import BIRTH_IS_ITS_OWN, Moment, made_at

OLDER = "it may have been moved here"
OWN_BIRTH = pytest.mark.skipif(not BIRTH_IS_ITS_OWN, reason="a file may have been made later than it says")


def append(file: Path, text: str = "more\n") -> None:
    with file.open("a") as stream:
        stream.write(text)


def settle(folder: Path) -> None:
    """Wait until all in a folder was clearly made before now."""
    deadline = time.monotonic() + 5
    files = [Path(above, name) for above, _, names in os.walk(folder) for name in names]
    made = max(made_at(os.fsencode(file), file.lstat()) or 0 for file in files)
    while not Moment(time.time_ns()).is_after(made):
        assert time.monotonic() < deadline
        time.sleep(0.002)


def contents(top: Path) -> dict[str, bytes]:
    files = (Path(folder, name) for folder, _, names in os.walk(top) for name in names)
    return {str(file.relative_to(top)): file.read_bytes() for file in files if ".git" not in file.parts}
