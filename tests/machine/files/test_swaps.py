"""Someone replaces a directory or a file while an operation is under way."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from machine.files.desk import CONFLICT, DENIED, EXISTS, INVALID, NOT_FOUND, SECRET, Desk, contents
from serai.errors import ProtocolError

Operation = Callable[[Desk, Path], Any]

ORDINARY = frozenset({DENIED, NOT_FOUND, EXISTS, CONFLICT, INVALID})
"""How an operation may end when it meets a swap."""
DONE = 0

OPERATIONS: dict[str, Operation] = {
    "read": lambda desk, place: desk.read(place / "door" / "secret.txt"),
    "write": lambda desk, place: desk.write(place / "door" / "secret.txt", "written"),
    "write-new": lambda desk, place: desk.write(place / "door" / "new", "written", create_only=True),
    "append": lambda desk, place: desk.write(place / "door" / "secret.txt", "written", mode="append"),
    "insert": lambda desk, place: desk.write(place / "door" / "secret.txt", "written", mode="insert"),
    "list": lambda desk, place: list(desk.list(place / "door")),
    "list-below": lambda desk, place: list(desk.list(place / "door" / "folder")),
    "resolve": lambda desk, place: desk.resolve(place / "door" / "secret.txt").size,
    "copy-from": lambda desk, place: desk.copy(place / "door" / "secret.txt", place / "copy"),
    "copy-to": lambda desk, place: desk.copy(place / "mine", place / "door" / "secret.txt"),
    "copy-tree": lambda desk, place: desk.copy(place / "door", place / "copy"),
    "move-from": lambda desk, place: desk.move(place / "door" / "secret.txt", place / "moved"),
    "move-to": lambda desk, place: desk.move(place / "mine", place / "door" / "secret.txt"),
    "move-new": lambda desk, place: desk.move(place / "mine", place / "door" / "new", fail_if_exists=True),
    "delete": lambda desk, place: desk.delete(place / "door" / "secret.txt"),
    "delete-below": lambda desk, place: desk.delete(place / "door" / "folder", recursive=True),
    "delete-tree": lambda desk, place: desk.delete(place / "door", recursive=True),
    "mkdir": lambda desk, place: desk.mkdir(place / "door" / "a" / "b"),
}


def door(place: Path) -> None:
    """A directory that looks like the one outside, and holds nothing of it."""
    (place / "door" / "folder").mkdir(parents=True)
    (place / "door" / "secret.txt").write_text("inside")
    (place / "door" / "folder" / "deep.txt").write_text("inside")
    (place / "mine").write_text("mine")


def outcome(operation: str, desk: Desk, place: Path) -> tuple[int, Any]:
    try:
        return DONE, OPERATIONS[operation](desk, place)
    except ProtocolError as error:
        return error.number, None


def swap_door(desk: Desk, place: Path) -> None:
    (place / "door").rename(place / "door.away")
    (place / "door").symlink_to(desk.outside)


def swap_folder(desk: Desk, place: Path) -> None:
    (place / "door" / "folder").rename(place / "folder.away")
    (place / "door" / "folder").symlink_to(desk.outside / "folder")


def swap_file(desk: Desk, place: Path) -> None:
    (place / "link").symlink_to(desk.secret)
    (place / "link").replace(place / "door" / "secret.txt")


def swap_for_hard_link(desk: Desk, place: Path) -> None:
    (place / "hard").hardlink_to(desk.secret)
    (place / "hard").replace(place / "door" / "secret.txt")


CALLS = (
    *("open", "stat", "fstat", "readlink", "listdir", "scandir", "pread", "write", "fsync", "fchmod"),
    *("rename", "mkdir", "unlink", "rmdir", "symlink", "link"),
)


@contextmanager
def at_call(number: int, act: Callable[[], None]) -> Generator[list[str]]:
    """Acts just before the system is asked for the so manieth time. Gives what it was asked for."""
    made: list[str] = []
    real = {name: getattr(os, name) for name in CALLS}

    def asked(name: str, *args: Any, **options: Any) -> Any:
        made.append(name)
        if len(made) == number:
            restore()
            with suppress(OSError):  # the operation may be past it
                act()
            replace()
        return real[name](*args, **options)

    def replace() -> None:
        for name in CALLS:
            setattr(os, name, functools.partial(asked, name))

    def restore() -> None:
        for name, function in real.items():
            setattr(os, name, function)

    replace()
    try:
        yield made
    finally:
        restore()


# A swap is tried with the operations that come near it.
NEAR_THE_FOLDER = ("list", "list-below", "copy-tree", "delete-below", "delete-tree")
NEAR_THE_FILE = ("read", "write", "append", "insert", "copy-from", "copy-to", "copy-tree", "move-to")
CASES = [
    *((swap_door, operation) for operation in OPERATIONS),
    *((swap_folder, operation) for operation in NEAR_THE_FOLDER),
    *((swap_file, operation) for operation in NEAR_THE_FILE),
    *((swap_for_hard_link, operation) for operation in NEAR_THE_FILE),
]


@pytest.mark.parametrize(("swap", "operation"), CASES)
def test_whenever_something_is_swapped_nothing_outside_is_touched(
    desk: Desk, operation: str, swap: Callable[[Desk, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before every single call to the system, one after the other."""
    (desk.outside / "only-outside").write_text(SECRET)
    before = contents(desk.outside)
    monkeypatch.setattr(os, "fsync", os.fstat)  # the disk's speed is not what this is about
    number, calls = 0, 1
    while number < calls:
        number += 1
        place = desk.work / str(number)
        door(place)
        with at_call(number, functools.partial(swap, desk, place)) as made:
            ended, result = outcome(operation, desk, place)
        calls = len(made)
        assert ended in {DONE, *ORDINARY}
        assert SECRET not in str(result)
        assert "only-outside" not in str(result)
        assert result != len(SECRET) or swap is swap_for_hard_link
        for path, (_mode, content) in contents(place).items():
            if content == SECRET.encode():
                assert (place / path).stat().st_nlink > 1, f"{path} is a copy"
    assert calls > 4
    assert contents(desk.outside) == before
    (desk.outside / "only-outside").unlink()
