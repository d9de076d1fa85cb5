"""Large files take no more memory than small ones."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from machine.files.desk import Desk

LARGE = 1 << 26
LITTLE = 4 << 20


@pytest.fixture
def huge(desk: Desk) -> Path:
    """A file much larger than the memory that it may take."""
    path = desk.work / "huge"
    with path.open("wb") as file:
        file.write(b"begin")
        file.truncate(LARGE - 3)
        file.seek(0, 2)
        file.write(b"end")
    return path


@contextmanager
def in_little_memory() -> Generator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LITTLE, f"{peak >> 20} MiB"


def ends(path: Path) -> tuple[int, bytes, bytes]:
    with path.open("rb") as file:
        begin = file.read(8)
        file.seek(-8, 2)
        return path.stat().st_size, begin, file.read()


def test_it_is_resolved_and_copied(desk: Desk, huge: Path) -> None:
    with in_little_memory():
        assert desk.resolve(huge).size == LARGE
        assert desk.resolve(huge).etag
        desk.copy(huge, desk.work / "copy")
    assert ends(desk.work / "copy") == (LARGE, b"begin\0\0\0", b"\0\0\0\0\0end")


def test_it_is_written_to(desk: Desk, huge: Path) -> None:
    with in_little_memory():
        desk.write(huge, "more", mode="append")
        assert ends(huge) == (LARGE + 4, b"begin\0\0\0", b"\0endmore")
        desk.write(huge, "-", mode="append", position=4)
        assert ends(huge) == (LARGE + 5, b"begin\0\0\0", b"end-more")
        desk.write(huge, "we ", mode="insert")
        assert ends(huge) == (LARGE + 8, b"we begin", b"end-more")
        desk.write(huge, "!", position=LARGE + 7)
        assert ends(huge) == (LARGE + 8, b"we begin", b"end-mor!")


def test_it_is_read_in_pieces(desk: Desk, huge: Path) -> None:
    with in_little_memory(), desk.open(huge, "base64") as content:
        assert content.size == LARGE
        pieces = [len(piece) for piece in itertools.islice(content.pieces(), 200)]
        assert set(pieces) == {256 * 1024}
