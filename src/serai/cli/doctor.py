"""`serai doctor`: what is well, what is not, and what to do about it."""

from __future__ import annotations

import argparse
import http.client
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from serai.cli.home import database_key
from serai.config.keys import find_token
from serai.config.load import Configuration, load
from serai.config.paths import Paths, find_paths
from serai.errors import SeraiError
from serai.harness.demo import DemoHarness
from serai.store.lock import FileLock
from serai.store.outside import look_over

__all__ = ["configure"]


class Finding(NamedTuple):
    """One line of the report."""

    subject: str
    well: bool
    says: str
    remedy: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai doctor`."""
    parser.description = "Look at database, key, agents, port and leftovers, and say what to do."
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    findings = list(_examine(paths))
    if options.json:
        print(json.dumps([finding._asdict() for finding in findings], indent=2))
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
        yield _bad("settings", error)
        return
    yield Finding("home", well=True, says=f"{paths.home} ({paths.source})")
    yield from _key_and_database(paths)
    yield _token(paths)
    yield Finding("agents", well=True, says=f"{DemoHarness().info.display_name} (demo): always there")
    yield _port(configuration)
    yield from _leftovers(paths)


def _key_and_database(paths: Paths) -> Iterator[Finding]:
    if not paths.database.exists():
        yield Finding("database", well=True, says=f"{paths.database} does not exist yet; the host makes it")
        return
    try:
        key = database_key(paths)
    except SeraiError as error:
        yield _bad("key", error)
        return
    yield Finding("key", well=True, says=f"from {key.source}", remedy=" ".join(key.notes))
    try:
        problems = look_over(paths.database, key.value, full=True)
    except SeraiError as error:
        yield _bad("database", error)
        return
    for problem in problems:
        yield Finding("database", well=False, says=problem, remedy="Restore a copy with 'serai restore FILE'")
    if not problems:
        size = paths.database.stat().st_size / 1e6
        yield Finding("database", well=True, says=f"{paths.database}, {size:.1f} MB, every page checked")


def _token(paths: Paths) -> Finding:
    if not paths.token.exists():
        return Finding("token", well=True, says="there is none yet; the host makes it")
    try:
        find_token(paths)
    except SeraiError as error:
        return _bad("token", error)
    return Finding("token", well=True, says=f"{paths.token}, for you alone")


def _port(configuration: Configuration) -> Finding:
    settings = configuration.settings
    where = f"{settings.host}:{settings.port}"
    connection = http.client.HTTPConnection(settings.host, settings.port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        answer = json.loads(connection.getresponse().read() or b"null")
    except ConnectionRefusedError:
        return Finding("port", well=True, says=f"{where} is free: no host is running there")
    except (OSError, ValueError, http.client.HTTPException):
        answer = None
    finally:
        connection.close()
    if answer == {"status": "ok"}:
        return Finding("port", well=True, says=f"a host answers at {where}")
    return Finding(
        "port", well=False, says=f"{where} is taken by another program", remedy="Choose another with --port"
    )


def _leftovers(paths: Paths) -> Iterator[Finding]:
    """Files that an interrupted run left behind, and old databases that were moved aside."""
    found = [
        file
        for pattern in ("*.partial", "*.new", "*.new-*", "*.replaced-*", "*.before-*")
        for file in sorted(paths.home.glob(f"{paths.database.name}{pattern}"))
    ]
    if FileLock(paths.database).held():
        yield Finding("host", well=True, says="a host is using the database")
    if not found:
        yield Finding("leftovers", well=True, says="none")
    for file in found:
        megabytes = file.stat().st_size / 1e6
        yield Finding("leftovers", well=True, says=f"{file} ({megabytes:.1f} MB)", remedy=_about(file))


def _about(file: Path) -> str:
    if ".replaced-" in file.name or ".before-" in file.name:
        return "An earlier database, with all that was in it. Remove it when you no longer need it."
    return "Left by a run that was cut short. It can be removed."


def _bad(subject: str, error: SeraiError) -> Finding:
    return Finding(subject, well=False, says=error.message, remedy=error.remedy or "")
