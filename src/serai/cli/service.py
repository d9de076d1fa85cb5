"""`serai service`: has the system start the host at login, with a systemd unit or a launchd agent."""

from __future__ import annotations

import argparse
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from serai.cli.console.target import add_command
from serai.config.paths import find_paths
from serai.errors import ConfigInvalid

_UNIT = "serai.service"
_LABEL = "dev.serai.host"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai service`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run, does in (
        ("install", _install, "start the host now, and whenever you log in"),
        ("status", _status, "say whether it is installed, and runs"),
        ("uninstall", _uninstall, "stop it, and start it no more; sessions stay"),
    ):
        add_command(commands, name, does, run=run)


def systemd_unit(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the text of a systemd user unit."""
    lines = [
        "[Unit]",
        "Description=Serai, a host for AI agent sessions",
        "",
        "[Service]",
        f"ExecStart={' '.join(_quoted(word, dollar='$$') for word in command)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in environment.items()),
        "Restart=on-failure",
        "RestartSec=2",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def _quoted(word: str, *, dollar: str = "$") -> str:
    """Quote a word for systemd."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", dollar), ("\n", "\\n")):
        word = word.replace(sign, written)
    return f'"{word}"'


def launchd_agent(command: Sequence[str], environment: Mapping[str, str], log: Path) -> bytes:
    """Return the property list of a launchd agent."""
    return plistlib.dumps(
        {
            "Label": _LABEL,
            "ProgramArguments": list(command),
            "EnvironmentVariables": dict(environment),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "StandardErrorPath": str(log),
        }
    )


class _Manager(NamedTuple):
    """The system's manager of services: its file for the host, and its commands."""

    file: Path
    start: list[list[str]]
    status: list[str]
    stop: list[str]
    hint: str = ""


def _manager() -> _Manager:
    if sys.platform == "darwin":
        file = Path.home() / "Library/LaunchAgents" / f"{_LABEL}.plist"
        load, unload = ["launchctl", "load", "-w", str(file)], ["launchctl", "unload", "-w", str(file)]
        return _Manager(file, [load], ["launchctl", "list", _LABEL], unload)
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    systemctl = ["systemctl", "--user"]
    return _Manager(
        settings / "systemd/user" / _UNIT,
        [[*systemctl, "daemon-reload"], [*systemctl, "enable", "--now", _UNIT]],
        [*systemctl, "is-active", _UNIT],
        [*systemctl, "disable", "--now", _UNIT],
        " To have it run also when nobody is logged in: loginctl enable-linger",
    )


def _refuse_root() -> None:
    if os.geteuid() == 0:
        raise ConfigInvalid(
            "a host is not installed for root: its agents could do anything to this machine",
            remedy="Run this as the person whose agents they are",
        )


def _install(options: argparse.Namespace) -> int:
    _refuse_root()
    paths, manager = find_paths(options.home, os.environ), _manager()
    command = [sys.executable, "-m", "serai", "serve"]
    if paths.source != "default":
        command += ["--home", str(paths.home)]
    # Agents are programs of the person's: they are found as in the terminal.
    environment = {"PATH": os.environ.get("PATH", os.defpath)}
    manager.file.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "darwin":
        manager.file.write_bytes(launchd_agent(command, environment, paths.home / "service.log"))
    else:
        manager.file.write_text(systemd_unit(command, environment), encoding="utf-8")
    print(f"{manager.file} is written")
    return _run(f"The host runs.{manager.hint}", *manager.start)


def _status(_options: argparse.Namespace) -> int:
    manager = _manager()
    if not manager.file.exists():
        print("The service is not installed.")
        return 1
    print(f"{manager.file} is there")
    return _run("The host runs.", manager.status)


def _uninstall(_options: argparse.Namespace) -> int:
    _refuse_root()
    manager = _manager()
    if not manager.file.exists():
        print("The service is not installed.")
        return 0
    code = _run("It is stopped.", manager.stop)
    manager.file.unlink()
    print(f"{manager.file} is gone. Sessions stay.")
    return code


def _run(done: str, *commands: list[str]) -> int:
    """Run commands of the system, and print their outcome."""
    for command in commands:
        if shutil.which(command[0]) is None:
            print(f"serai: {command[0]} is not here: start the host with 'serai serve'", file=sys.stderr)
            return 1
        result = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our words
        if result.returncode != 0:
            output = (result.stderr or result.stdout).strip()
            print(f"serai: {' '.join(command)} failed: {output}", file=sys.stderr)
            return 1
    print(done)
    return 0
