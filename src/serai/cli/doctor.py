"""`serai doctor`: what is well, what is not, and what to do about it."""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import shutil
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
from serai.config.keys import find_token
from serai.config.load import Configuration, load
from serai.config.paths import Paths, find_paths
from serai.config.trust import Trust
from serai.errors import SeraiError
from serai.harness.demo import DemoHarness
from serai.machine.processes.census import census, members
from serai.machine.processes.records import ChildRecords
from serai.machine.terminals.environment import default_shell
from serai.machine.terminals.pty import open_pty
from serai.store.sqlite.backup import look_over
from serai.store.sqlite.lock import FileLock, Holder

__all__ = ["Finding", "configure"]

_LIMITS = Path("/proc/sys/fs/inotify")
_FEW_WATCHES = 8192


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


def _error(subject: str, error: SeraiError) -> Finding:
    return _bad(subject, error.message, error.remedy or "")


def _git() -> Finding:
    try:
        git = asyncio.run(find_git())
    except SeraiError as error:
        return _error("git", error)
    return _good("git", f"{'.'.join(map(str, git.version))} ({git.program})")


def _watches(limits: Path = _LIMITS) -> Finding:
    """How many folders may be watched. Elsewhere than on Linux the system sets no such limit."""
    if sys.platform != "linux":
        return _good("watching", "this system has no limit of its own")
    watches = _number(limits / "max_user_watches")
    if watches is None:
        return _bad("watching", f"{limits} cannot be read: is there inotify?")
    says = f"{watches:,} folders may be watched (fs.inotify.max_user_watches)"
    if watches < _FEW_WATCHES:
        return _bad(
            "watching",
            says,
            "Large projects need more: sysctl -w fs.inotify.max_user_watches=524288",
        )
    return _good("watching", says)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None


def _terminals() -> Finding:
    try:
        open_pty(80, 24).close()
    except OSError as error:
        return _bad(
            "terminals",
            f"the system gives no pseudo-terminal: {error.strerror}",
            "Is /dev/pts mounted, and is kernel.pty.max large enough?",
        )
    return _good("terminals", f"there are some; their shell is {default_shell(os.environ)}")


# -- processes ---------------------------------------------------------------------------------------------


def _processes(home: Path) -> Iterator[Finding]:
    """Processes of a host that is gone. They are told, and left alone."""
    records = ChildRecords(home / "processes").orphaned()
    everyone = census() if records else []
    for mark, record in records.items():
        left = members(everyone, mark, record.child)
        pids = ", ".join(str(process.pid) for process in left)
        if pids:
            yield _bad(
                "leftovers",
                f"{record.what} still runs ({pids}), and its host is gone",
                "The next 'serai serve' on this home ends it",
            )


_LITTLE_ROOM = 16 * 1024 * 1024
"""With less than so many bytes on its disk a host may not be able to start, or to go on."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai doctor`."""
    parser.description = "Look at the home, the host, the machine and what was left over, and say what to do."
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    findings = list(_examine(paths))
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
        yield _error("settings", error)
        return
    yield _home(paths)
    yield from _key_and_database(paths)
    yield _token(paths)
    yield _trust(paths)
    yield asyncio.run(_agents(configuration))
    holder = FileLock(paths.database).holder()
    yield _free_port(configuration) if holder is None else _running(holder, paths)
    yield _git()
    yield _watches()
    yield _terminals()
    leftovers = [*_processes(paths.home), *_leftover_files(paths)]
    yield from leftovers or [_good("leftovers", "none")]


def _home(paths: Paths) -> Finding:
    says = f"{paths.home} ({paths.source})"
    there = next(path for path in (paths.home, *paths.home.parents) if path.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        room = shutil.disk_usage(there).free
        if room < _LITTLE_ROOM:
            says = f"{says}: {about_size(room)} are free on its disk"
            return _bad("home", says, "Make room there")
        return _good("home", says)
    why = "cannot be written" if there.is_dir() else "is no directory"
    return _bad("home", f"{says}: {there} {why}", "Name another with --home")


def _key_and_database(paths: Paths) -> Iterator[Finding]:
    if not paths.database.exists():
        yield _good("database", f"{paths.database} does not exist yet; the host makes it")
        return
    try:
        key = database_key(paths)
    except SeraiError as error:
        yield _error("key", error)
        return
    yield _good("key", f"from {key.source}", " ".join(key.notes))
    try:
        problems = look_over(paths.database, key.value, full=True)
    except SeraiError as error:
        yield _error("database", error)
        return
    for problem in problems:
        yield _bad("database", problem, "Restore a copy with 'serai restore FILE'")
    if not problems:
        size = about_size(paths.database.stat().st_size)
        yield _good("database", f"{paths.database}, {size}, every page checked")


def _token(paths: Paths) -> Finding:
    if not paths.token.exists():
        return _good("token", "there is none yet; the host makes it")
    try:
        find_token(paths)
    except SeraiError as error:
        return _error("token", error)
    return _good("token", f"{paths.token}, for you alone")


def _trust(paths: Paths) -> Finding:
    try:
        count = len(Trust(paths.trust).folders())
    except SeraiError as error:
        return _error("trust", error)
    says = f"{count} folders are trusted" if count > 1 else "1 folder is trusted"
    return _good("trust", f"{says}, with all that is in it" if count else "no folder is trusted")


async def _agents(configuration: Configuration) -> Finding:
    """Which agents a session can be begun with."""
    place = configuration.settings.agent_registry
    try:
        registry = await load_registry(place) if place else Registry()
    except SeraiError as error:
        return _error("agents", error)
    catalogue = make_catalogue(configuration.agents, registry.definitions)
    found = [one for one in await Finder().find_all(catalogue) if one.installed]
    others = [_told(one) for one in found] or ["no other is installed"]
    says = "; ".join([f"{DemoHarness().info.display_name} (demo): always there", *others])
    remedy = "" if found else "'serai agents' tells how to install one"
    return _good("agents", says, remedy)


def _told(found: FoundAgent) -> str:
    name = f"{found.label} {found.version or ''}".rstrip()
    problem = found.reason if found.launch is None else "not signed in" if found.signed_in is False else ""
    return f"{name} ({found.id})" + (f": {problem}" if problem else "")


def _running(holder: Holder, paths: Paths) -> Finding:
    """The host of this home."""
    says = f"{holder} holds this home"
    if holder.address is None:
        return _good("host", f"{says}; it does not listen yet, or it is no host")
    where = _here(holder.address)
    if _answers(where):
        problem = _not_ready(where, paths)
        if problem:
            says = f"{says} and answers, but {problem['message']}"
            return _bad("host", says, problem.get("remedy", ""))
        return _good("host", f"{says}, and answers")
    return _bad(
        "host",
        f"{says}, but does not answer",
        f"Look at what it prints, or end it: kill {holder.pid}",
    )


def _free_port(configuration: Configuration) -> Finding:
    """Without a host on this home: whether one could be started."""
    settings = configuration.settings
    where = f"{settings.host}:{settings.port}"
    if settings.port == 0:
        return _good("host", "none runs on this home; the next one takes any free port")
    answer = _answers(_here(where))
    if answer is None:
        return _good("host", f"none runs on this home; {where} is free for it")
    who = "the host of another home" if answer else "another program"
    return _bad(
        "host",
        f"none runs on this home, and {where} is taken by {who}",
        "Choose another with --port, or with port in serai.toml",
    )


def _here(address: str) -> tuple[str, int]:
    """Where to ask for a host that says that it listens there."""
    name, _, port = address.rpartition(":")
    return called_by(name)[0], int(port) if port.isdecimal() else 0


def _answers(where: tuple[str, int]) -> bool | None:
    """Whether a host answers there; `None` when nobody does."""
    try:
        return _asked(where, "/healthz") == {"status": "ok"}
    except ConnectionRefusedError:
        return None
    except (OSError, ValueError, http.client.HTTPException):
        return False


def _not_ready(where: tuple[str, int], paths: Paths) -> dict[str, str] | None:
    """Why a host takes nothing at the moment, if it says so."""
    try:
        token = find_token(paths) if paths.token.exists() else ""
        told = _asked(where, "/readyz", {"Authorization": f"Bearer {token}"})
    except (SeraiError, OSError, ValueError, http.client.HTTPException):
        return None  # it answers all the same, and of the token another line tells
    match told:
        case {"status": "not_ready", "detail": {"message": str()} as detail}:
            return detail
        case _:
            return None


def _asked(where: tuple[str, int], path: str, headers: dict[str, str] | None = None) -> Any:
    connection = http.client.HTTPConnection(*where, timeout=2)
    try:
        connection.request("GET", path, headers=headers or {})
        return json.loads(connection.getresponse().read() or b"null")
    finally:
        connection.close()


def _leftover_files(paths: Paths) -> Iterator[Finding]:
    """Files that an interrupted run left behind, and old databases that were moved aside."""
    for pattern in ("*.partial", "*.new", "*.new-*", "*.replaced-*", "*.before-*"):
        for file in sorted(paths.home.glob(f"{paths.database.name}{pattern}")):
            says = f"{file} ({about_size(file.stat().st_size)})"
            yield _good("leftovers", says, _about(file))


def _about(file: Path) -> str:
    if ".replaced-" in file.name or ".before-" in file.name:
        return "An earlier database, with all that was in it. Remove it when you no longer need it."
    return "Left by a run that was cut short. It can be removed."
