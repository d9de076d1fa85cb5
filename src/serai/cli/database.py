"""The commands on the contents of the home: the database, disposed sessions and discarded changes.

They are `serai backup`, `serai restore`, `serai sessions purge`, `serai sessions --disposed` and `serai
changes`. They need no host.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import time
from pathlib import Path

from serai.ahp.channels import is_run
from serai.ahp.types import SessionSummary
from serai.changes.undo import Trash
from serai.cli.console.output import about_size, progress
from serai.cli.console.target import add_command, is_on_this_machine, match
from serai.cli.console.terminal import choose, open_terminal
from serai.config.keys import DatabaseKey, find_database_key
from serai.config.load import load
from serai.config.paths import Paths, find_paths
from serai.errors import ConfigInvalid, DiscardUnknown, SessionGone, StorageUnreadable
from serai.host.changes.changesets import erase_changes
from serai.journal.sessions import summary_of
from serai.store.sqlite.backup import back_up, disposed_sessions, purge, restore
from serai.store.sqlite.store import SqliteStore

_LISTS = "`serai sessions` and `serai sessions --disposed` list them"


def database_key(paths: Paths, *, of_present: bool = False) -> DatabaseKey:
    """Return the key of the database, from the same place as the host. None is made.

    Args:
        paths: The home.
        of_present: True if the database has to exist.

    Raises:
        ConfigInvalid: A configuration file is wrong, or the file with the key cannot be used.
        StorageUnreadable: There is no key, or no database.
    """
    if of_present and not paths.database.exists():
        raise StorageUnreadable(f"there is no database {paths.database}", remedy="'serai serve' makes one")
    settings = load(paths, os.environ).settings
    return find_database_key(paths, os.environ, use_keyring=settings.use_keyring, make=False)


def configure_backup(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai backup`."""
    parser.description = "Copy the database to a new file, also while the host runs. The key stays the same."
    parser.add_argument("file", metavar="FILE", help="the copy; it must not exist yet")
    parser.set_defaults(run=_backup)


def _backup(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    copy = Path(options.file)
    key = database_key(paths, of_present=True)
    size = paths.database.stat().st_size
    partial = copy.with_name(f"{copy.name}.partial")

    def done() -> float:
        with contextlib.suppress(OSError):  # it is not there yet, or has its name already
            return partial.stat().st_size / size
        return 0.0

    with progress(f"Copying {about_size(size)}", done):
        back_up(paths.database, key.value, copy)
    print(f"{copy} is a copy of {paths.database}.")
    print(f"It opens with the same key ({key.source}); keep that too, and apart from it.")
    return 0


def configure_restore(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai restore`."""
    parser.description = (
        "Put a copy in the place of the database. The present one is moved aside, not erased."
    )
    parser.add_argument("file", metavar="FILE", help="a file of 'serai backup'")
    parser.set_defaults(run=_restore)


def _restore(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    key = database_key(paths)
    paths.make_home()
    with progress("Checking and copying"):
        aside = restore(Path(options.file), paths.database, key.value)
    print(f"{paths.database} is restored from {options.file}.")
    if aside is not None:
        print(f"What was there is in {aside}.")
    return 0


def find_disposed(options: argparse.Namespace) -> list[SessionSummary]:
    """Return the disposed sessions that are kept, the last modified first.

    They are read from the database, also while the host runs: the host itself does not list them.

    Raises:
        ConfigInvalid: The options name a host on another machine.
        StorageUnreadable: There is no database, or it cannot be opened.
    """
    named = options.url or (None if options.home else os.environ.get("SERAI_URL"))
    if named and not is_on_this_machine(options):
        raise ConfigInvalid(
            "sessions that were disposed of are listed from the database, and this host's is elsewhere",
            remedy="Run it on the host's machine, without --url",
        )
    paths = find_paths(options.home, os.environ)
    key = database_key(paths, of_present=True)
    rows = disposed_sessions(paths.database, key.value)
    return [summary_of(row) for row in rows if not is_run(row.uri)]


def configure_purge(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai sessions purge`."""
    parser.description = "Erase all that is kept of sessions, for good. Stop the host first."
    parser.epilog = "Copies of the database (serai backup, and those of updates) keep what was in them."
    parser.add_argument(
        "sessions", metavar="SESSION", nargs="+", help="an id, the beginning of one, or a URI"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=_purge)


def _purge(options: argparse.Namespace) -> int:
    return asyncio.run(_erase(options))


async def _erase(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    key = database_key(paths, of_present=True)
    store = SqliteStore(paths.database, key.value)
    await store.open()  # fails while a host runs on it
    try:
        known = [row.uri for row in await store.sessions()]
        known += [row.uri for row in await asyncio.to_thread(disposed_sessions, paths.database, key.value)]
        uris = list(dict.fromkeys(match("session", name, known, _LISTS) for name in options.sessions))
        for uri in uris:
            if uri not in known and await store.head(uri) is None:
                raise SessionGone(f"there is no session {uri}", remedy=_LISTS)
    finally:
        await store.close()
    if not options.yes and not await _agreed(uris):
        print("Nothing was erased.")
        return 1
    for uri in uris:
        await asyncio.to_thread(purge, paths.database, key.value, uri)
        await asyncio.to_thread(erase_changes, paths.home, uri)
        print(f"{uri} is erased.")
    return 0


async def _agreed(uris: list[str]) -> bool:
    with open_terminal(apart=True) as terminal:
        if not terminal.is_interactive:
            terminal.note("Nobody can be asked here: repeat it with --yes.")
            return False
        terminal.note("\n".join(uris))
        words = {"y": True, "yes": True, "n": False, "no": False, "": False}
        return await choose(terminal, "Erase for good? This cannot be undone. [y/N] ", words) or False


# -- discarded changes -----------------------------------------------------------------------------------


def configure_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai changes`."""
    parser.epilog = "What a discard took away is kept for a week, with all that was in it."
    parser.set_defaults(run=_list_discards)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_command(commands, "list", "list what was discarded", run=_list_discards)
    undo = add_command(commands, "undo", "give everything back that a discard took away", run=_undo)
    undo.add_argument("discard", metavar="ID", nargs="?", help="which one; by default the last discard")


def _list_discards(options: argparse.Namespace) -> int:
    found = Trash(find_paths(options.home, os.environ).home).discards()
    for one in found:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.at))
        cut_short = "" if one.is_done else " (cut short)"
        print(f"{one.id}  {when}  {one.what}{cut_short}  {one.directory}")
    if not found:
        print("Nothing was discarded in the last week.")
    return 0


def _undo(options: argparse.Namespace) -> int:
    trash = Trash(find_paths(options.home, os.environ).home)
    found = [
        one
        for one in trash.discards()
        if (one.id.startswith(options.discard) if options.discard else one.undoes is None)
    ]
    if not found:
        raise DiscardUnknown(
            "there is no such discard" if options.discard else "no discard of the last week is left to undo",
            remedy="`serai changes list` lists all; with an ID, an undo can be undone, too",
        )
    trash.undo(found[0])
    print(f"Undone: {found[0].what} in {found[0].directory}. `serai changes list` has what it replaced.")
    return 0
