"""What a host that was killed while it put files in their place has left there: the next one cleans up.

It deletes what was in the private folder for a moment only, too: that may be content of files.

In the work tree there are two kinds: drafts, which are ours, and files that were moved aside, which are a
person's. Each is noted in the private folder before it comes to be, and the note is taken away after it. A
draft that is left goes. A file that was moved aside goes back to its name; where that has been taken by then,
or a folder on the way to it has, the discard had got so far that it was to be deleted, and it is, if it still
is what was to be discarded.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from serai.changes.closed import Closed
from serai.changes.drafts import RUN, is_draft
from serai.changes.reaching import Expected, look, parent, put_exclusively
from serai.changes.scanning import is_beyond_a_link
from serai.errors import FileInTheWay

__all__ = ["NOTES", "clean_up", "noted"]

NOTES = "moves"
"""The folder of the notes, in the private folder of a session."""
_SCRATCH = ("back-", "ignored-", "new-", "read-")
"""How the names of what is in the private folder for a moment begin."""


class _Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is somewhere for the time being. Paths are escaped as in a URI, since names may have any bytes."""

    run: str
    directory: str
    left: str
    """Where it is, from the directory."""
    path: str | None = None
    """Where it was, if it was moved aside."""
    content: str | None = None
    is_link: bool = False
    object_format: str | None = None


@contextmanager
def noted(
    notes: Path | None,
    directory: str,
    left: str,
    *,
    was_at: str | None = None,
    expected: Expected | None = None,
) -> Generator[None]:
    """There is something meanwhile that is not to stay. The note has to survive the process, not the machine.

    Args:
        notes: Where that is noted; nowhere, if absent.
        directory: A directory.
        left: Where it is, from there.
        was_at: Where it was, if it was moved aside; else it is a draft.
        expected: What is to be deleted.

    Raises:
        FileInTheWay: It cannot be noted. Nothing is to be touched then.
    """
    if notes is None:
        yield
        return
    known = expected or Expected(None)
    note = _Note(
        run=RUN,
        directory=_escaped(directory),
        left=_escaped(left),
        path=_escaped(was_at) if was_at is not None else None,
        content=known.content,
        is_link=known.is_link,
        object_format=known.object_format,
    )
    place = notes / left.rpartition("/")[2]
    try:
        notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.write_bytes(msgspec.json.encode(note))
    except OSError as error:
        raise FileInTheWay(f"the private folder cannot be written: {error.strerror or error}") from None
    try:
        yield
    finally:
        with suppress(OSError):
            place.unlink()


def clean_up(notes: Path, closed: Closed) -> None:
    """Clean up after a host that was killed. What is out of reach stays, with its note. Touches the disk.

    Args:
        notes: Where it noted what there was.
        closed: The host's own folder.
    """
    _clear(notes.parent)
    try:
        found = [note for note in notes.iterdir() if is_draft(os.fsencode(note.name))]
    except OSError:
        return
    for place in found:
        try:
            note = msgspec.json.decode(place.read_bytes(), type=_Note)
        except (OSError, msgspec.DecodeError):
            note = None  # half written: then there is nothing yet that it could speak of
        if note is not None and note.run == RUN:
            continue
        with suppress(OSError, FileInTheWay):
            if note is not None:
                _clean(note, closed)
            place.unlink()


def _clear(private: Path) -> None:
    try:
        left = [place for place in private.iterdir() if place.name.startswith(_SCRATCH)]
    except OSError:
        return
    for place in left:
        if RUN not in place.name:
            shutil.rmtree(place, ignore_errors=True)
            with suppress(OSError):
                place.unlink(missing_ok=True)


def _clean(note: _Note, closed: Closed) -> None:
    directory, left = _plain(note.directory), _plain(note.left)
    try:
        with parent(directory, left, closed, make=False) as (place, name):
            if look(place, name) is None:
                return
            if note.path is None:
                os.unlink(name, dir_fd=place)
            else:
                _bring_back(note, closed, place, name)
    except FileNotFoundError:
        return  # the folder is gone, and with it what was there


def _bring_back(note: _Note, closed: Closed, place: int, aside: str) -> None:
    directory, path = _plain(note.directory), _plain(note.path or "")
    expected = Expected(note.content, note.is_link, note.object_format)
    try:
        with parent(directory, path, closed, make=True) as (folder, name):
            if _is_same(look(folder, name), look(place, aside)):
                os.unlink(aside, dir_fd=place)  # it was back, and had both names
            else:
                put_exclusively(aside, name, source_in=place, target_in=folder)
    except (FileExistsError, NotADirectoryError, FileInTheWay) as error:
        if isinstance(error, FileInTheWay) and not is_beyond_a_link(directory, path):
            raise
        if note.content is not None and expected.is_at(place, aside):
            os.unlink(aside, dir_fd=place)


def _is_same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    return one is not None and other is not None and os.path.samestat(one, other)


def _escaped(path: str) -> str:
    return quote_from_bytes(os.fsencode(path))


def _plain(path: str) -> str:
    return os.fsdecode(unquote_to_bytes(path))
