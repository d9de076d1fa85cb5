"""`serai doctor`: checks the home, the host and the machine, and suggests remedies."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from serai.agents.catalogue.agents import make_catalogue
from serai.agents.catalogue.finder import Finder, FoundAgent
from serai.agents.catalogue.registry import Registry, load_registry
from serai.changes.git import find_git
from serai.cli.console.output import about_size, print_json
from serai.cli.console.target import called_by
from serai.cli.database import database_key
from serai.client.address import nearest_url
from serai.config.keys import find_token
from serai.config.load import Configuration, load
from serai.config.paths import Paths, find_paths
from serai.config.trust import Trust
from serai.errors import SeraiError
from serai.harness.demo import DemoHarness
from serai.machine.terminals.environment import default_shell
from serai.machine.terminals.pty import open_pty
from serai.store.sqlite.backup import look_over
from serai.store.sqlite.lock import FileLock, Holder

_LIMITS = Path("/proc/sys/fs/inotify")
_FEW_WATCHES = 8192
_LITTLE_ROOM = 16 * 1024 * 1024
"""Free space on the disk below which a host may fail, in bytes."""


class Finding(NamedTuple):
    """One line of the report."""

    subject: str
    well: bool
    says: str
    remedy: str = ""


def _good(subject: str, says: str, remedy: str = "") -> Finding:
    return Finding(subject, well=True, says=says, remedy=remedy)


def _bad(subject: str, says: str, remedy: str = "") -> Finding:
    return Finding(subject, well=False, says=says, remedy=remedy)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai doctor`."""
    parser.description = "Look at the home, the host, the machine and what was left over, and say what to do."
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    findings = list(_examine(find_paths(options.home, os.environ)))
    if options.json:
        print_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            print(f"{'ok ' if finding.well else 'BAD'}  {finding.subject:<10} {finding.says}")
            if finding.remedy:
                print(f"     {'':<10} {finding.remedy}")
    return 0 if all(finding.well for finding in findings) else 1


def _examine(paths: Paths) -> Iterator[Finding]:
    try:
        configuration = load(paths, os.environ)
    except SeraiError as error:
        yield _bad("settings", error.message, error.remedy or "")
        return
    holder = FileLock(paths.database).holder()
    for subject, look in (
        ("home", lambda: _home(paths)),
        ("key", lambda: _key(paths)),
        ("database", lambda: _database(paths)),
        ("token", lambda: _token(paths)),
        ("trust", lambda: _trust(paths)),
        ("agents", lambda: asyncio.run(_agents(configuration))),
        ("host", lambda: _free_port(configuration) if holder is None else _running(holder, paths)),
        ("git", _git),
        ("watching", _watches),
        ("terminals", _terminals),
    ):
        try:
            yield look()
        except SeraiError as error:
            yield _bad(subject, error.message, error.remedy or "")
    yield from [*_leftover_files(paths)] or [_good("leftovers", "none")]


# -- the home ----------------------------------------------------------------------------------------------


def _home(paths: Paths) -> Finding:
    says = f"{paths.home} ({paths.source})"
    there = next(path for path in (paths.home, *paths.home.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = "cannot be written" if there.is_dir() else "is no directory"
        return _bad("home", f"{says}: {there} {why}", "Name another with --home")
    room = shutil.disk_usage(there).free
    if room < _LITTLE_ROOM:
        return _bad("home", f"{says}: {about_size(room)} are free on its disk", "Make room there")
    return _good("home", says)


def _key(paths: Paths) -> Finding:
    if not paths.database.exists():
        return _good("key", "none is needed yet")
    key = database_key(paths)
    return _good("key", f"from {key.source}", " ".join(key.notes))


def _database(paths: Paths) -> Finding:
    if not paths.database.exists():
        return _good("database", f"{paths.database} does not exist yet; the host makes it")
    problems = look_over(paths.database, database_key(paths).value, full=True)
    if problems:
        return _bad("database", "; ".join(problems), "Restore a copy with 'serai restore FILE'")
    size = about_size(paths.database.stat().st_size)
    return _good("database", f"{paths.database}, {size}, every page checked")


def _token(paths: Paths) -> Finding:
    if not paths.token.exists():
        return _good("token", "there is none yet; the host makes it")
    find_token(paths)
    return _good("token", f"{paths.token}, for you alone")


def _trust(paths: Paths) -> Finding:
    count = len(Trust(paths.trust).folders())
    return _good("trust", f"{count} folders are trusted, with all that is in them")


async def _agents(configuration: Configuration) -> Finding:
    """List the agents that can run sessions."""
    place = configuration.settings.agent_registry
    registry = await load_registry(place) if place else Registry()
    catalogue = make_catalogue(configuration.agents, registry.definitions)
    found = [one for one in await Finder().find_all(catalogue) if one.installed]
    others = [_agent_words(one) for one in found] or ["no other is installed"]
    says = "; ".join([f"{DemoHarness().info.display_name} (demo): always there", *others])
    return _good("agents", says, "" if found else "'serai agents' tells how to install one")


def _agent_words(found: FoundAgent) -> str:
    name = f"{found.label} {found.version or ''}".rstrip()
    problem = found.reason if found.launch is None else "not signed in" if found.signed_in is False else ""
    return f"{name} ({found.id})" + (f": {problem}" if problem else "")


# -- the host ----------------------------------------------------------------------------------------------


def _running(holder: Holder, paths: Paths) -> Finding:
    """Check the host of this home."""
    says = f"{holder} holds this home"
    if holder.address is None:
        return _good("host", f"{says}; it does not listen yet, or it is no host")
    token = find_token(paths) if paths.token.exists() else ""
    name, _, port = holder.address.rpartition(":")
    try:
        url = nearest_url(name, int(port))
        is_there = _get(f"{url}/healthz") == {"status": "ok"}
        ready = _get(f"{url}/readyz", token)
    except Exception:  # noqa: BLE001 - the program there does not answer as a host does
        is_there, ready = False, None
    match ready:
        case {"status": "not_ready", "detail": {"message": str(message)} as detail}:
            return _bad("host", f"{says} and answers, but {message}", detail.get("remedy", ""))
        case _ if is_there:
            return _good("host", f"{says}, and answers")
        case _:
            remedy = f"Look at what it prints, or end it: kill {holder.pid}"
            return _bad("host", f"{says}, but does not answer", remedy)


def _free_port(configuration: Configuration) -> Finding:
    """Check whether a host could be started, when none runs on this home."""
    host, port = configuration.settings.host, configuration.settings.port
    if port == 0:
        return _good("host", "none runs on this home; the next one takes any free port")
    try:
        socket.create_connection((called_by(host)[0], port), timeout=2).close()
    except OSError:
        return _good("host", f"none runs on this home; {host}:{port} is free for it")
    remedy = "Choose another with --port, or with port in serai.toml"
    return _bad("host", f"none runs on this home, and {host}:{port} is taken by another program", remedy)


def _get(url: str, token: str = "") -> Any:
    from httpx2 import get  # noqa: PLC0415 - only where a host runs

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return get(url, headers=headers, timeout=2, trust_env=False).json()


# -- the machine -------------------------------------------------------------------------------------------


def _git() -> Finding:
    git = asyncio.run(find_git())
    return _good("git", f"{'.'.join(map(str, git.version))} ({git.program})")


def _watches(limits: Path = _LIMITS) -> Finding:
    """Check the limit of watched folders, which only Linux has."""
    if sys.platform != "linux":
        return _good("watching", "this system has no limit of its own")
    try:
        watches = int((limits / "max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return _bad("watching", f"{limits} cannot be read: is there inotify?")
    says = f"{watches:,} folders may be watched (fs.inotify.max_user_watches)"
    if watches < _FEW_WATCHES:
        remedy = "Large projects need more: sysctl -w fs.inotify.max_user_watches=524288"
        return _bad("watching", says, remedy)
    return _good("watching", says)


def _terminals() -> Finding:
    try:
        open_pty(80, 24).close()
    except OSError as error:
        says = f"the system gives no pseudo-terminal: {error.strerror}"
        return _bad("terminals", says, "Is /dev/pts mounted, and is kernel.pty.max large enough?")
    return _good("terminals", f"there are some; their shell is {default_shell(os.environ)}")


# -- leftovers ---------------------------------------------------------------------------------------------


_ASIDE = "An earlier database, with all that was in it. Remove it when you no longer need it."
_CUT_SHORT = "Left by a run that was cut short. It can be removed."


def _leftover_files(paths: Paths) -> Iterator[Finding]:
    """List files of interrupted runs, and old databases that were moved aside."""
    for pattern in ("*.partial", "*.new", "*.new-*", "*.replaced-*", "*.before-*"):
        remedy = _ASIDE if pattern in {"*.replaced-*", "*.before-*"} else _CUT_SHORT
        for file in sorted(paths.home.glob(f"{paths.database.name}{pattern}")):
            yield _good("leftovers", f"{file} ({about_size(file.stat().st_size)})", remedy)
