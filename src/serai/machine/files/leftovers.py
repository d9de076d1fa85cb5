"""Drafts that a host left behind because it was killed: noted while they are there, removed by the next one.

A note is a file in the host's own folder. It has the draft's name, and in it stands the directory of the
draft. It is not synced: it has to survive the process, not the machine.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from serai.ahp.errors import AhpErrorCode
from serai.errors import ProtocolError
from serai.machine.files.lanes import notes_folder
from serai.machine.files.roots import Access, Root, Roots
from serai.machine.files.trees import remove_tree
from serai.machine.files.walk import Place, find
from serai.uris import uri_of

__all__ = ["find_leftovers", "noted", "remove_leftovers"]

_OUT_OF_REACH = {AhpErrorCode.NOT_FOUND, AhpErrorCode.PERMISSION_DENIED}
_DRAFT = re.compile(r"\.serai-[0-9a-f]{16}\.tmp")


@contextmanager
def noted(place: Place, name: str) -> Generator[None]:
    """There is a draft of that name in a place's directory meanwhile."""
    folder = notes_folder()
    if folder is None:
        yield
        return
    note = folder / name
    with suppress(OSError):  # without a note it works as well
        note.write_bytes(os.fsencode(place.path.rpartition("/")[0] or "/"))
    try:
        yield
    finally:
        with suppress(OSError):
            note.unlink()


def find_leftovers(folder: Path) -> list[Path]:
    """The notes that there are, before any draft is begun. The folder is made if need be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return [note for note in folder.iterdir() if _DRAFT.fullmatch(note.name)]
    except OSError:
        return []


def remove_leftovers(notes: Iterable[Path]) -> int:
    """Remove what notes speak of, and the notes. Returns how many drafts went.

    What is out of reach, because its directory is gone or may not be written any more, is left where it is.
    What fails for another reason stays noted.
    """
    removed = 0
    for note in notes:
        try:
            removed += _remove(os.fsdecode(note.read_bytes()), note.name)
        except ProtocolError as error:
            if error.number not in _OUT_OF_REACH:
                continue
        except OSError:
            continue
        with suppress(OSError):
            note.unlink()
    return removed


def _remove(directory: str, name: str) -> bool:
    # Looked for in that very directory: not where a link leads that has its name by now.
    roots = Roots.of(Root(directory, writable=True))
    with find(uri_of(f"{directory}/{name}"), roots, Access.WRITE, follow=False) as place:
        info = place.look()
        if info is None:
            return False
        if stat.S_ISDIR(info.st_mode):
            remove_tree(place.directory, name, place.uri)
        else:
            os.unlink(name, dir_fd=place.directory)
        return True
