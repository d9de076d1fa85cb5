"""`serai service`: have the system start the host when you log in: a systemd unit, or a launchd agent."""

from __future__ import annotations

import argparse
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

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
    """The text of a systemd user unit."""
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
    """A word as systemd reads it."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", dollar), ("\n", "\\n")):
        word = word.replace(sign, written)
    return f'"{word}"'


def launchd_agent(command: Sequence[str], environment: Mapping[str, str], log: Path) -> bytes:
    """The property list of a launchd agent."""
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


def _place() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library/LaunchAgents" / f"{_LABEL}.plist"
    settings = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(settings) / "systemd/user" / _UNIT


def _refuse_root() -> None:
    if os.geteuid() == 0:
        raise ConfigInvalid(
            "a host is not installed for root: its agents could do anything to this machine",
            remedy="Run this as the person whose agents they are",
        )


def _install(options: argparse.Namespace) -> int:
    _refuse_root()
    paths = find_paths(options.home, os.environ)
    command = [sys.executable, "-m", "serai", "serve"]
    if paths.source != "default":
        command += ["--home", str(paths.home)]
    # Agents are programs of the person's: they are found as in the terminal.
    environment = {"PATH": os.environ.get("PATH", os.defpath)}
    place = _place()
    place.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "darwin":
        place.write_bytes(launchd_agent(command, environment, paths.home / "service.log"))
    else:
        place.write_text(systemd_unit(command, environment), encoding="utf-8")
    print(f"{place} is written")
    if sys.platform == "darwin":
        return _told("The host runs.", ["launchctl", "load", "-w", str(place)])
    return _told(
        "The host runs. To have it run also when nobody is logged in: loginctl enable-linger",
        ["systemctl", "--user", "daemon-reload"],
        ["systemctl", "--user", "enable", "--now", _UNIT],
    )


def _status(_options: argparse.Namespace) -> int:
    place = _place()
    if not place.exists():
        print("The service is not installed.")
        return 1
    print(f"{place} is there")
    if sys.platform == "darwin":
        return _told("The host runs.", ["launchctl", "list", _LABEL])
    return _told("The host runs.", ["systemctl", "--user", "is-active", _UNIT])


def _uninstall(_options: argparse.Namespace) -> int:
    _refuse_root()
    place = _place()
    if not place.exists():
        print("The service is not installed.")
        return 0
    stop = ["systemctl", "--user", "disable", "--now", _UNIT]
    code = _told(
        "It is stopped.", ["launchctl", "unload", "-w", str(place)] if sys.platform == "darwin" else stop
    )
    place.unlink()
    print(f"{place} is gone. Sessions stay.")
    return code


def _told(done: str, *commands: list[str]) -> int:
    """Run commands of the system, and say what came of them."""
    for command in commands:
        if shutil.which(command[0]) is None:
            print(
                f"serai: {command[0]} is not here: start the host with 'serai serve'",
                file=sys.stderr,
            )
            return 1
        result = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our words
        if result.returncode != 0:
            said = (result.stderr or result.stdout).strip()
            print(f"serai: {' '.join(command)} failed: {said}", file=sys.stderr)
            return 1
    print(done)
    return 0
