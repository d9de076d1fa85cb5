"""Notes of what tools edited: the lines of the log, and what they come to for a turn or a session. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from urllib.parse import unquote_to_bytes

import msgspec

from serai.changes.records import LeftOut, LeftOutReason, Side
from serai.changes.sightings import Sighting, Sightings

__all__ = ["NOT_KEPT", "Kept", "Note", "Scope", "folders_to", "notes_in"]

NOT_KEPT = "0" * 64
"""Stands for the content of a file that was there and was not kept. Nothing has such a digest."""


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the log: what was at a path, or what began."""

    turn: str = ""
    path: str = ""
    """Escaped as in a URI, since names may have any bytes."""
    event: str | None = None
    """What began, or what became of a turn, or of an edit."""
    after: bool = False
    """Noted after an edit; else before one."""
    content: str | None = None
    """The digest; none when there was no file."""
    mode: int = 0
    permissions: int | None = None
    left_out: str | None = None
    adopted: bool = False
    """Of another session: it is about its turn, and not about what this session began with."""
    at: int | None = None
    """When it was written, in nanoseconds. Earlier logs do not say."""
    seen: Sighting | None = None
    """Which file it was."""
    folders: tuple[int, ...] | None = None
    """Who may do what in the folders on the way, from the outermost, and in one that is there; as far as
    they were there."""

    @property
    def place(self) -> str:
        """The path, as the file system has it."""
        return os.fsdecode(unquote_to_bytes(self.path))


class Kept(msgspec.Struct):
    """What is known of one file, in a turn or in the session."""

    before: Side | None
    after: Side | None
    is_open: bool = False
    """Whether there is no note from after the edit, so far."""
    left_out: LeftOutReason | None = None
    """Why the last note does not say what was there."""

    @property
    def is_untouched(self) -> bool:
        """Whether a tool was about to edit it and did not, since it failed: what comes later is another's."""
        return not self.is_open and self.left_out is None and self.before == self.after

    @property
    def began_known(self) -> bool:
        """Whether it is known what was there before, if anything was."""
        return self.before is None or self.before.content != NOT_KEPT


class Scope:
    """What the notes of a turn, or of a session, say."""

    def __init__(self) -> None:
        self.files: dict[str, Kept] = {}
        """The files by their paths, in the order of their first notes."""
        self.sightings = Sightings()
        self._folders: dict[str, int | None] = {}

    def apply(self, note: Note, path: str) -> None:
        """Take up a note about a file."""
        if note.folders is not None:
            for folder, permissions in zip_longest(folders_to(path), note.folders):
                self._folders.setdefault(folder, permissions)
        is_recorded = not note.after and note.left_out is None
        self.sightings.note(path, note.at, note.seen, is_recorded=is_recorded)
        unknown = Side(path, NOT_KEPT)
        if note.left_out is not None:
            kept = self.files.setdefault(path, Kept(unknown, unknown, is_open=not note.after))
            kept.left_out = LeftOutReason(note.left_out)
            if note.after:
                kept.is_open = False  # it was seen, and left out
            return
        side = None
        if note.content is not None:
            side = Side(path, note.content, note.mode, note.permissions)
        if note.after:
            before = self.files[path].before if path in self.files else unknown
            self.files[path] = Kept(before, side)
        else:
            kept = self.files.get(path)
            if kept is None or kept.is_untouched:
                self.files[path] = Kept(side, side, is_open=True)

    def drop(self, path: str) -> None:
        """Nothing came of what was to be edited. If that is all that is known of a file, nothing is."""
        kept = self.files.get(path)
        if kept is not None and kept.is_open:
            del self.files[path]

    @property
    def left_out(self) -> list[LeftOut]:
        """The files of which the last note does not say what was there."""
        return [
            LeftOut(path, kept.left_out) for path, kept in self.files.items() if kept.left_out is not None
        ]

    def had_folder(self, folder: str) -> bool:
        """Whether a folder was there before, or may have been."""
        return self._folders.get(folder, 0) is not None

    def permissions_of(self, folder: str) -> int | None:
        """Who might do what in a folder, if that is known."""
        return self._folders.get(folder)


def folders_to(path: str) -> list[str]:
    """The folders on the way to a path, from the outermost, and what may be a folder there."""
    names = path.split("/")
    return ["/".join(names[: depth + 1]) for depth in range(len(names))]


def notes_in(log: Path) -> Iterator[Note]:
    """The notes in a log, without lines that are half written. Reads the disk."""
    try:
        lines = log.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=Note)
        except msgspec.DecodeError:
            continue
