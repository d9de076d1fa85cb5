"""`serai sessions purge`: erase sessions for good. It works on the database, so no host may run on it."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys

from serai.cli.home import present_key
from serai.cli.matching import match_session
from serai.cli.terminal import StdinLines
from serai.config.paths import Paths, find_paths
from serai.errors import SessionGone
from serai.host.changes.changesets import changes_folder
from serai.store.sqlite.backup import disposed_sessions
from serai.store.sqlite.store import SqliteStore

__all__ = ["configure_purge"]

_LISTS = "`serai sessions` and `serai sessions --disposed` list them"


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
    return asyncio.run(_erase(find_paths(options.home, os.environ), options.sessions, sure=options.yes))


async def _erase(paths: Paths, names: list[str], *, sure: bool) -> int:
    key = present_key(paths)
    store = SqliteStore(paths.database, key.value, was_used=True)
    await store.open()
    try:
        known = [row.uri for row in await store.sessions()]
        known += [row.uri for row in await asyncio.to_thread(disposed_sessions, paths.database, key.value)]
        uris = list(dict.fromkeys(match_session(name, known, lists=_LISTS) for name in names))
        for uri in uris:
            if uri not in known and await store.head(uri) is None:
                raise SessionGone(f"there is no session {uri}", remedy=_LISTS)
        if not sure and not await _agreed(uris):
            print("Nothing was erased.")
            return 1
        for uri in uris:
            await store.purge(uri)
            await asyncio.to_thread(shutil.rmtree, changes_folder(paths.home, uri), ignore_errors=True)
            print(f"{uri} is erased.")
    finally:
        await store.close()
    return 0


async def _agreed(uris: list[str]) -> bool:
    if not sys.stdin.isatty():
        print("Nobody can be asked here: repeat it with --yes.", file=sys.stderr)
        return False
    print("\n".join(uris))
    print("Erase for good? This cannot be undone. [y/N] ", end="", flush=True)
    lines = StdinLines(sys.stdin.fileno())  # and not `input`, which Ctrl-C does not reach in an event loop
    try:
        said = await lines.read()
    finally:
        lines.close()
    if said is None:
        print()
    return (said or "").strip().lower() in {"y", "yes"}
