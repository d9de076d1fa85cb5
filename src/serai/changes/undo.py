"""Discards that can be undone for a week: a record of each, and the files that it took out of a folder.

    <home>/discards/<id>/record.json   the paths to empty, on the disk before anything is touched
                        /items/<n>     the files at the path of step n, moved there whole
                        /done          the discard is complete

Files in the way are moved out, never overwritten or deleted, so everything can be given back with its bytes,
modes and links, whenever a kill strikes. An undo is a discard of its own, and can be undone as well.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from serai.config.private import write_private
from serai.errors import DiscardBusy, FolderMoved
from serai.machine.draft import copy_entry, remove, rename_exclusively
from serai.machine.safe_paths import (
    PathRefused,
    look,
    open_directory,
    parent_below,
    sync_directory,
)

KEPT_SECONDS = 7 * 24 * 3600
"""Time in which a discard can be undone, in seconds."""

_NOTHING = frozenset({errno.ENOENT, errno.ENOTDIR})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def checkpoint() -> None:
    """Mark a moment between two steps. Tests kill the process here."""


@dataclass(frozen=True, slots=True)
class DiscardStep:
    """A path that a discard empties."""

    path: str
    """Path relative to the folder."""
    was_there: bool
    """False when nothing was there before: then whatever is there later came from the discard."""


@dataclass(frozen=True, slots=True)
class Discard:
    """The record of a discard."""

    place: Path
    """Folder of the record and the items."""
    session: str
    directory: str
    """Path of the folder, without any link."""
    inode: int
    at: float
    what: str
    """Description of what was discarded, for people."""
    steps: tuple[DiscardStep, ...]
    folders: Mapping[str, int]
    """Modes of the existing folders on the way to the paths."""
    undoes: str | None = None
    """Id of the discard that this one undid."""

    @property
    def id(self) -> str:
        """Name of the discard for people."""
        return self.place.name

    @property
    def is_done(self) -> bool:
        """True when the discard is complete. Reads the disk."""
        return (self.place / "done").exists()

    def finish(self) -> None:
        """Note that the discard is complete."""
        (self.place / "done").touch(0o600)

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """Lock the discard against other processes for the length of a block.

        Raises:
            DiscardBusy: Another process is at work on it.
        """
        handle = os.open(self.place / "record.json", os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DiscardBusy(f"the discard {self.id} is under way") from None
            yield
        finally:
            os.close(handle)

    def has_item(self, number: int) -> bool:
        """Tell whether something was taken out in a step, and is still here."""
        return os.path.lexists(self.place / "items" / str(number))

    def take(self, number: int) -> None:
        """Move the file or folder at the path of a step into the trash, if there is one.

        Raises:
            OSError: It cannot be moved.
        """
        checkpoint()
        path = self.steps[number].path
        if not is_there(self.directory, path):
            return
        with self._items() as items, parent_below(self.directory, path) as (parent, name):
            _move(parent, name, items, str(number))

    def give_back(self, number: int) -> None:
        """Move the item of a step back to its path. Nothing may be there.

        Raises:
            OSError: It cannot be moved.
        """
        checkpoint()
        path = self.steps[number].path
        _make_folders(self.directory, path, self.folders)
        with self._items() as items, parent_below(self.directory, path) as (parent, name):
            _move(items, str(number), parent, name)

    @contextlib.contextmanager
    def _items(self) -> Generator[int]:
        handle = os.open(self.place / "items", _FOLDER)
        try:
            yield handle
        finally:
            os.close(handle)

    def remove_empty_folders(self, keep: Collection[str] = ()) -> None:
        """Remove the folders on the way to the paths that are empty now, except some."""
        above = {folder for step in self.steps for folder in _above(step.path)}
        for folder in sorted(above.difference(keep), reverse=True):
            checkpoint()
            with contextlib.suppress(OSError), parent_below(self.directory, folder) as (parent, name):
                os.rmdir(name, dir_fd=parent)


class Trash:
    """The discards of a host. All methods read or write the disk.

    Args:
        home: The host's own folder.
    """

    def __init__(self, home: Path) -> None:
        self.home = Path(os.path.realpath(home))
        self._folder = self.home / "discards"

    def new(
        self,
        session: str,
        directory: str,
        what: str,
        steps: Sequence[DiscardStep],
        undoes: str | None = None,
    ) -> Discard:
        """Record a new discard. The record is on the disk when this returns."""
        when = time.time()
        name = time.strftime("%Y%m%d-%H%M%S", time.localtime(when))
        folders = {folder: _mode(directory, folder) for step in steps for folder in _above(step.path)}
        discard = Discard(
            self._folder / f"{name}-{secrets.token_hex(3)}",
            session,
            directory,
            Path(directory).stat().st_ino,
            when,
            what,
            tuple(steps),
            {folder: mode for folder, mode in folders.items() if mode is not None},
            undoes,
        )
        (discard.place / "items").mkdir(mode=0o700, parents=True)
        self._folder.chmod(0o700)
        discard.place.chmod(0o700)
        record = asdict(discard)
        del record["place"]
        write_private(discard.place / "record.json", json.dumps(record).encode(), sync=True)
        for folder in (discard.place, self._folder):
            handle = os.open(folder, _FOLDER)
            sync_directory(handle)
            os.close(handle)
        return discard

    def discards(self, session: str | None = None) -> list[Discard]:
        """Return the discards that can be undone, of one session or of all; the last one first."""
        found: list[Discard] = []
        with contextlib.suppress(OSError):
            found = [one for place in self._folder.iterdir() if (one := _read(place)) is not None]
        recent = [one for one in found if one.at > time.time() - KEPT_SECONDS]
        return sorted(
            (one for one in recent if session in {None, one.session}), key=lambda one: one.at, reverse=True
        )

    def undo(self, discard: Discard) -> Discard:
        """Give everything back that a discard took out, also one that a kill cut short.

        Files that are at those paths by now are moved out first. Returns the record of that, which can be
        undone.

        Raises:
            FolderMoved: The folder is another one by now.
            DiscardBusy: The discard is under way, or is being undone.
            OSError: A file could not be put in its place. The rest can be undone again.
        """
        place = Path(discard.directory)
        if not place.is_dir() or place.stat().st_ino != discard.inode:
            raise FolderMoved(
                f"{discard.directory} is gone, or another folder by now",
                remedy=f"The discarded files are in {discard.place / 'items'}",
            )
        with discard.locked():
            return self._undo(discard)

    def _undo(self, discard: Discard) -> Discard:
        pending = [
            number
            for number, step in reversed(list(enumerate(discard.steps)))
            if not step.was_there or discard.has_item(number)
        ]
        paths = [discard.steps[number].path for number in pending]
        steps = [DiscardStep(path, is_there(discard.directory, path)) for path in paths]
        what = f"undo of {discard.id}"
        counter = self.new(discard.session, discard.directory, what, steps, discard.id)
        with counter.locked():
            for own, number in enumerate(pending):
                counter.take(own)
                if discard.has_item(number):
                    discard.give_back(number)
            counter.remove_empty_folders(discard.folders)
            counter.finish()
        self.forget(discard)
        return counter

    def undo_unfinished(self) -> list[Discard]:
        """Undo the discards that a kill cut short, and finish undos. Returns both."""
        found = {one.id: one for one in self.discards()}
        unfinished = [one for one in found.values() if not one.is_done]
        for discard in unfinished:
            with contextlib.suppress(OSError, DiscardBusy, FolderMoved):
                with discard.locked():
                    pass  # no other process is at work on it
                if discard.undoes is None:
                    self.undo(discard)
                    continue
                if discard.undoes in found:
                    self.undo(found[discard.undoes])
                discard.finish()
        return unfinished

    def forget(self, discard: Discard) -> None:
        """Delete a discard for good, with the files that it took out."""
        checkpoint()
        with contextlib.suppress(OSError):
            (discard.place / "record.json").unlink()
        shutil.rmtree(discard.place, ignore_errors=True)

    def prune(self) -> None:
        """Delete discards that are too old. Unreadable ones are kept as long as the rest."""
        known = {one.place for one in self.discards()}
        with contextlib.suppress(OSError):
            for place in self._folder.iterdir():
                if place not in known and place.stat().st_mtime < time.time() - KEPT_SECONDS:
                    shutil.rmtree(place, ignore_errors=True)


def _read(place: Path) -> Discard | None:
    """Read a discard; return `None` where nothing was touched yet, or nothing can be read."""
    try:
        record = json.loads((place / "record.json").read_text())
        steps = tuple(DiscardStep(**step) for step in record.pop("steps"))
        return Discard(place=place, steps=steps, **record)
    except (OSError, ValueError, TypeError, KeyError):
        return None


# -- one path ------------------------------------------------------------------------------------------------


def is_there(directory: str, path: str) -> bool:
    """Tell whether something is at a path that leads through no link."""
    try:
        with parent_below(directory, path) as (parent, name):
            return look(parent, name) is not None
    except PathRefused:
        return False
    except OSError as error:
        return error.errno not in _NOTHING


def _above(path: str) -> Iterable[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _mode(directory: str, folder: str) -> int | None:
    try:
        with parent_below(directory, folder) as (parent, name):
            info = look(parent, name)
    except OSError:
        return None
    return stat.S_IMODE(info.st_mode) if info is not None and stat.S_ISDIR(info.st_mode) else None


def _make_folders(directory: str, path: str, modes: Mapping[str, int]) -> None:
    for folder in reversed(list(_above(path))):
        with parent_below(directory, folder) as (parent, name):
            if look(parent, name) is None:
                os.mkdir(name, 0o700, dir_fd=parent)
                handle = open_directory(parent, name)
                try:
                    os.fchmod(handle, modes.get(folder, 0o755))
                finally:
                    os.close(handle)


def _move(source: int, name: str, target: int, new_name: str) -> None:
    """Move a file or folder from one open directory to another, and never onto anything."""
    try:
        rename_exclusively(name, new_name, source_in=source, destination_in=target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = f".serai-{zlib.crc32(os.fsencode(f'{name}/{new_name}')):016x}.tmp"
        remove(target, beside)  # of a move that was cut short
        try:
            copy_entry(source, name, target, beside, exact=True)
            rename_exclusively(beside, new_name, source_in=target, destination_in=target)
        except OSError:
            remove(target, beside)
            raise
        sync_directory(target)
        checkpoint()
        # Renamed first: after a kill, half of it must not be taken for the whole.
        aside = f".serai-{zlib.crc32(os.fsencode(f'{name}/{new_name}/moved')):016x}.tmp"
        remove(source, aside)
        os.rename(name, aside, src_dir_fd=source, dst_dir_fd=source)
        checkpoint()
        remove(source, aside)
