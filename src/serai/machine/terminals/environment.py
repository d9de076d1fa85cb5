"""The command and the environment of a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serai.machine.processes.environment import inheritable

_SCRIPTS = Path(__file__).parent / "shell"

# They describe the terminal that the host was started from, not the new one.
_OF_ANOTHER_TERMINAL = frozenset(
    {"COLUMNS", "LINES", "STY", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "VTE_VERSION"}
)
_LANGUAGE = ("LC_ALL", "LC_CTYPE", "LANG")


@dataclass(frozen=True, slots=True)
class ShellLaunch:
    """A command and its environment."""

    argv: list[str]
    environ: dict[str, str]
    integrated: bool
    """True when the shell reports its commands."""


def default_shell(environ: Mapping[str, str]) -> str:
    """Return the person's shell; without one, bash, else `sh`."""
    for shell in (environ.get("SHELL", ""), "/bin/bash", "/usr/bin/bash"):
        if shell.startswith("/") and os.access(shell, os.X_OK) and Path(shell).is_file():
            return shell
    return "/bin/sh"


def plan_launch(
    argv: Sequence[str] | None,
    base: Mapping[str, str],
    *,
    extra: Mapping[str, str] | None = None,
    nonce: str,
) -> ShellLaunch:
    """Return the command of a terminal with its environment. A bash or zsh without arguments is integrated.

    Args:
        argv: The command; `None` for the person's shell.
        base: The host's environment. Its own secrets stay out.
        extra: Variables to add.
        nonce: What the marks of the shell carry.
    """
    environ = inheritable(base, _OF_ANOTHER_TERMINAL)
    if not any(environ.get(name) for name in _LANGUAGE):
        environ["LANG"] = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
    environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "SERAI": "1", **(extra or {})}
    command = list(argv) if argv is not None else [default_shell(environ)]
    return _integrated(command, environ, nonce) or ShellLaunch(command, environ, integrated=False)


def _integrated(command: list[str], environ: dict[str, str], nonce: str) -> ShellLaunch | None:
    if len(command) != 1:
        return None
    login = sys.platform == "darwin"  # macOS starts login shells in terminals
    match Path(command[0]).name:
        case "bash":
            environ = {**environ, "SERAI_NONCE": nonce}
            if login:
                environ["SERAI_SHELL_LOGIN"] = "1"
            return ShellLaunch(
                [*command, "--init-file", str(_SCRIPTS / "serai.bash")], environ, integrated=True
            )
        case "zsh":
            environ = {**environ, "SERAI_NONCE": nonce}
            if "ZDOTDIR" in environ:
                environ["SERAI_ZDOTDIR"] = environ["ZDOTDIR"]
            environ["ZDOTDIR"] = str(_SCRIPTS / "zsh")
            return ShellLaunch([*command, "--login"] if login else command, environ, integrated=True)
        case _:
            return None
