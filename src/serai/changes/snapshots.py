"""What tools edited, for folders without git: content before and after, kept by its digest.

Whoever runs a tool notes a file before the tool may change it, and again afterwards. Only noted files are
known here; what else happens in the folder is not seen. A folder at a noted path is no file. The notes are a
log in a private folder, one JSON line each, so that they are there again when the host starts anew. A line
that was half written when the host was killed is skipped. When the session and its turns begin is noted as
well: nothing noted since is then something that is known.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace as replace_side
from pathlib import Path
from urllib.parse import quote_from_bytes

import msgspec
from msgspec.structs import replace

from serai.changes.beginnings import Beginning, Beginnings, folders_now, has_changed_since, is_new
from serai.changes.closed import Closed
from serai.changes.counting import count_lines, is_binary
from serai.changes.notes import NOT_KEPT, Kept, Note, Scope, notes_in
from serai.changes.reaching import Found, look, parent, read_file
from serai.changes.records import Change, Changes, LeftOut, LeftOutReason, Limits, Side
from serai.changes.scanning import is_beyond_a_link
from serai.changes.sightings import sighted
from serai.changes.writing import share
from serai.errors import FileInTheWay, FileTooLarge, FileUnreadable

__all__ = ["LOG", "Snapshots", "place_of"]


_SESSION, _TURN, _TAKEN_BACK, _ELSEWHERE = "session", "turn", "taken back", "elsewhere"
_NOTHING, _UNDONE = "nothing", "undone"
LOG = "notes.jsonl"
"""The file with the notes,"""
_PLACE = "place"
"""and the one that says where the directory was that they are of."""


class Snapshots:
    """The notes of one session. All methods read or write the disk, a file at a time.

    Args:
        directory: The working directory, where it is without any link. Files outside of it are not noted.
        folder: Where notes and content are kept. It is made when it is needed, for its owner alone.
        limits: How large a file may be, and how much is kept in all.
        closed: The host's own folder. Nothing in it is noted.
    """

    def __init__(self, directory: str, folder: Path, limits: Limits, closed: Closed) -> None:
        self._directory = directory
        self._folder = folder
        self._limits = limits
        self._closed = closed
        self.has_begun = False
        """Whether it was noted when the session began, or what tools have edited since."""
        self.elsewhere: set[str] = set()
        """The turns of another session, from which this one was forked, that nothing is known of."""
        self._turns: dict[str, Scope] = {}
        self._session = Scope()
        self._bytes = 0
        self._says_where = place_of(folder) is not None
        self._may_be_torn = (folder / LOG).exists()
        """Whether the last line may be half written: the next note is not to be part of it."""
        self._load()

    def begin_session(self) -> None:
        """Note that the session begins now."""
        if not self.has_begun:
            self._log_and_apply(Note(event=_SESSION))

    def begin_turn(self, turn_id: str) -> None:
        """Note that a turn begins now. Nothing noted earlier is part of it, though its id be the same."""
        self._log_and_apply(Note(turn_id, event=_TURN))

    def forget_turn(self, turn_id: str) -> None:
        """Note that a turn was taken back. Content is kept: others may refer to it."""
        if turn_id in self._turns or turn_id in self.elsewhere:
            self._log_and_apply(Note(turn_id, event=_TAKEN_BACK))

    def adopt(self, folder: Path, turn_ids: Collection[str]) -> None:
        """Take over the notes of some turns of another session, with the content.

        Args:
            folder: Where that session's notes are kept. They must be of the same directory.
            turn_ids: The turns.
        """
        for note in notes_in(folder / LOG):
            if note.turn in turn_ids and note.event != _ELSEWHERE:
                if note.content is not None:
                    share(_place(folder, note.content), self.place(note.content))
                self._log_and_apply(replace(note, adopted=True))

    def miss(self, turn_id: str) -> None:
        """Note that a turn was in another session, and that nothing is known of it."""
        self._log_and_apply(Note(turn_id, event=_ELSEWHERE))

    def note_before(
        self, turn_id: str, path: str, *, since: int | None = None, began: Beginnings | None = None
    ) -> bool:
        """Note a file that a tool is about to change, or has changed. Says whether it could be noted.

        Only the first note of a turn counts, and for the session the first of all.

        Args:
            turn_id: The turn.
            path: The file.
            since: When the tool was first heard of, in nanoseconds, if it may have changed the file since.
            began: What there was when the turn began.
        """
        kept = self.scope(turn_id).files.get(path)
        if kept is not None and not kept.is_untouched:
            return True
        is_known = kept is not None or since is None or began is None or began.of(path) is not None
        if not is_known and has_changed_since(f"{self._directory}/{path}", since or 0):
            return self._note(turn_id, path, after=False, left_out=LeftOutReason.TOO_MUCH)
        return self._note(turn_id, path, after=False, earlier=self._earlier(path, kept, since, began))

    def note_after(self, turn_id: str, path: str) -> bool:
        """Note a file that a tool has changed. Says whether it could be noted.

        A file that was not noted before counts as one that was there: nobody knows that it was not.
        """
        return self._note(turn_id, path, after=True)

    def note_nothing(self, turn_id: str, path: str) -> None:
        """Note that a tool did not change a file after all: what others do to it meanwhile is their own."""
        self._log_and_apply(Note(turn_id, quote_from_bytes(os.fsencode(path)), event=_NOTHING))

    def note_undone(self, path: str) -> None:
        """Note that changes to a file were discarded: what comes later is not the session's any more."""
        self._note("", path, after=True, event=_UNDONE)

    def in_turn(self, turn_id: str) -> Changes:
        """What tools changed in a turn, up to the last note of it."""
        scope = self.scope(turn_id)
        own = self._closed.among(self._directory, scope.files)
        pairs = {path: (one.before, one.after) for path, one in scope.files.items() if path not in own}
        return self._changes(pairs, [one for one in scope.left_out if one.path not in own])

    def scope(self, turn_id: str | None) -> Scope:
        """What the notes of a turn say, or those of the session. Of an unknown turn they say nothing."""
        return self._session if turn_id is None else self._turns.get(turn_id, Scope())

    def knows_turn(self, turn_id: str) -> bool:
        """Whether a turn was noted."""
        return turn_id in self._turns

    def is_open(self, turn_id: str) -> bool:
        """Whether it was noted in a turn what there was before an edit, and not what there was after it."""
        return any(one.is_open for one in self.scope(turn_id).files.values())

    def keeps(self, digest: str) -> bool:
        """Whether content with that digest is kept."""
        return self.place(digest).is_file()

    @property
    def noted(self) -> list[str]:
        """The files that were noted, in the order of their first notes."""
        return list(self._session.files)

    def at_first(self) -> dict[str, Found | None]:
        """The files that were noted, as they were at first: `None` for those that were not there."""
        found: dict[str, Found | None] = {}
        own = self._closed.among(self._directory, self._session.files)
        for path, kept in self._session.files.items():
            side = kept.before
            if path in own or kept.is_untouched:
                continue
            try:
                found[path] = self._found(side)
            except FileUnreadable:  # no longer kept
                continue
        return found

    def since_the_session_began(self) -> Changes:
        """How the files that tools edited differ now from what they were at first. Reads those files."""
        pairs: dict[str, tuple[Side | None, Side | None]] = {}
        left_out: list[LeftOut] = []
        own = self._closed.among(self._directory, self._session.files)
        for path, kept in self._session.files.items():
            if path in own:
                continue
            try:
                found = self.now(path, beyond_links=kept.began_known)
            except FileInTheWay as error:
                left_out.append(LeftOut(path, _reason(error)))
                continue
            if found is not None and kept.is_untouched:
                continue
            pairs[path] = (kept.before, _side(path, found))
        return self._changes(pairs, left_out)

    def content(self, digest: str) -> bytes:
        """Content that was kept.

        Raises:
            FileUnreadable: There is none with that digest.
        """
        try:
            return self.place(digest).read_bytes()
        except OSError:
            raise FileUnreadable("this content is not kept, or no longer") from None

    def _found(self, side: Side | None) -> Found | None:
        return Found(self.content(side.content), side.mode, side.permissions) if side is not None else None

    def place(self, digest: str) -> Path:
        """The file that holds content with that digest."""
        return _place(self._folder, digest)

    def forget(self) -> None:
        """Delete everything that was kept."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._turns.clear()
        self._session = Scope()
        self.elsewhere.clear()
        self._bytes = 0
        self._says_where = False
        self.has_begun = False

    # -- noting --------------------------------------------------------------------------------------------

    def _earlier(
        self, path: str, kept: Kept | None, since: int | None, began: Beginnings | None
    ) -> Beginning | None:
        """What was at a path, if it is known, before what is there now has come since a moment."""
        place = f"{self._directory}/{path}"
        if since is None or not has_changed_since(place, since):
            return None
        if kept is None:
            earlier = began.of(path) if began is not None else None
            if earlier is not None and earlier.found is None and not is_new(place, earlier.at, since):
                return None
            return earlier
        try:
            found = self._found(kept.before)
        except FileUnreadable:  # no longer kept
            return None
        return Beginning(
            found, time.time_ns(), sighted(os.fsencode(place)), tuple(folders_now(self._directory, path))
        )

    def _note(
        self,
        turn_id: str,
        path: str,
        *,
        after: bool,
        earlier: Beginning | None = None,
        event: str | None = None,
        left_out: LeftOutReason | None = None,
    ) -> bool:
        if self._closed.among(self._directory, [path]):
            return False
        kept = self.scope(turn_id).files.get(path)
        note = Note(
            turn_id,
            quote_from_bytes(os.fsencode(path)),
            event=event,
            after=after,
            at=earlier.at if earlier else time.time_ns(),
            folders=earlier.folders if earlier else tuple(folders_now(self._directory, path)),
        )
        place = os.fsencode(f"{self._directory}/{path}")
        if left_out is not None:
            self._log_and_apply(replace(note, left_out=left_out, seen=sighted(place)))
            return False
        try:
            if earlier is not None:
                found, seen = earlier.found, earlier.seen
            else:
                found = self.now(path, beyond_links=after and kept is not None and kept.began_known)
                seen = sighted(place) if found is not None else None
            note = replace(note, seen=seen)
            if found is not None:
                self._keep(found)
                note = replace(note, content=found.digest, mode=found.mode, permissions=found.permissions)
        except (FileInTheWay, _Full) as error:
            seen = earlier.seen if earlier else sighted(place)
            note = replace(note, left_out=_reason(error), seen=seen)
        self._log_and_apply(note)
        return note.left_out is None

    def now(self, path: str, *, beyond_links: bool = True) -> Found | None:
        """The file that is at a path now; `None` when there is none, but a folder for instance.

        Args:
            path: The path.
            beyond_links: Whether a path that leads over a link is one where no file is.

        Raises:
            FileInTheWay: It is neither a file nor a folder nor a link, it is too large, it cannot be read, or
                it is the host's own.
        """
        try:
            return read_file(self._directory, path, self._limits.file_bytes, self._closed)
        except FileInTheWay:
            if (beyond_links and is_beyond_a_link(self._directory, path)) or self._is_folder(path):
                return None
            raise

    def _is_folder(self, path: str) -> bool:
        try:
            with parent(self._directory, path, self._closed, make=False) as (folder, name):
                found = look(folder, name)
        except OSError:
            return False
        return found is not None and stat.S_ISDIR(found.st_mode)

    def _log_and_apply(self, note: Note) -> None:
        self._write(note)
        self._apply(note)

    def _keep(self, found: Found) -> None:
        place = self.place(found.digest)
        if place.exists():
            return
        if self._bytes + len(found.data) > self._limits.new_bytes:
            raise _Full
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = place.with_suffix(".partial")
        partial.write_bytes(found.data)
        partial.replace(place)
        self._bytes += len(found.data)

    def _write(self, note: Note) -> None:
        if not self._says_where:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / _PLACE).write_bytes(os.fsencode(self._directory))
            self._says_where = True
        with (self._folder / LOG).open("ab") as log:
            log.write(b"\n" * self._may_be_torn + msgspec.json.encode(note) + b"\n")
        self._may_be_torn = False

    def _apply(self, note: Note) -> None:
        self.has_begun = self.has_begun or (not note.adopted and note.event in {None, _SESSION})
        self.elsewhere.discard(note.turn)
        if note.event is None:
            self._apply_file(note, note.place)
        elif note.event == _TURN:
            self._turns[note.turn] = Scope()
        elif note.event == _TAKEN_BACK:
            self._turns.pop(note.turn, None)
        elif note.event == _ELSEWHERE:
            self.elsewhere.add(note.turn)
        elif note.event == _NOTHING:
            for scope in (self.scope(note.turn), self._session):
                scope.drop(note.place)
        elif note.event == _UNDONE:
            self._session.apply(note, note.place)

    def _apply_file(self, note: Note, path: str) -> None:
        self._turns.setdefault(note.turn, Scope()).apply(note, path)
        if not note.adopted:
            self._session.apply(note, path)

    # -- reading -------------------------------------------------------------------------------------------

    def _load(self) -> None:
        for note in notes_in(self._folder / LOG):
            with suppress(ValueError):
                self._apply(note)
        self._bytes = sum(file.stat().st_size for file in self._folder.glob("content/*/*") if file.is_file())

    def _changes(
        self, pairs: dict[str, tuple[Side | None, Side | None]], left_out: Iterable[LeftOut]
    ) -> Changes:
        different = {path: (before, after) for path, (before, after) in pairs.items() if before != after}
        gone = {
            before.content: path
            for path, (before, after) in different.items()
            if before is not None and after is None
        }
        changes: list[Change] = []
        renamed: set[str] = set()
        for path, (before, after) in different.items():
            if before is None and after is not None and after.content in gone:
                old = gone.pop(after.content)
                renamed |= {old, path}
                changes.append(Change(different[old][0], after, 0, 0))
        changes += (self._counted(*pair) for path, pair in different.items() if path not in renamed)
        return Changes(
            tuple(sorted(changes, key=lambda change: os.fsencode(change.path))),
            tuple(sorted(left_out, key=lambda one: one.path)),
        )

    def _counted(self, before: Side | None, after: Side | None) -> Change:
        if before is not None and before.content == NOT_KEPT:
            return Change(replace_side(before, mode=after.mode) if after else before, after)
        old, new = self._data(before), self._data(after)
        if is_binary(old) or is_binary(new):
            return Change(before, after, binary=True)
        added, removed = count_lines(old, new)
        return Change(before, after, added, removed)

    def _data(self, side: Side | None) -> bytes:
        if side is None:
            return b""
        try:
            return self.place(side.content).read_bytes()
        except FileNotFoundError:  # not kept: it is the file as it is now
            found = self.now(side.path)
            return found.data if found else b""


def place_of(folder: Path) -> str | None:
    """Where the directory is, or was, that notes are of; `None` when they do not tell. Reads the disk."""
    try:
        return os.fsdecode((folder / _PLACE).read_bytes())
    except OSError:
        return None


class _Full(Exception):
    """No more is kept."""


def _place(folder: Path, digest: str) -> Path:
    return folder / "content" / digest[:2] / digest[2:]


def _reason(error: Exception) -> LeftOutReason:
    match error:
        case _Full():
            return LeftOutReason.TOO_MUCH
        case FileTooLarge():
            return LeftOutReason.TOO_LARGE
        case _:
            return LeftOutReason.UNREADABLE


def _side(path: str, found: Found | None) -> Side | None:
    return Side(path, found.digest, found.mode, found.permissions) if found is not None else None
