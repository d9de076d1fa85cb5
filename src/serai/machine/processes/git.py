"""How git is run so that it does what it was asked, and runs nothing else.

A folder may come from a stranger, and git obeys the folder's own configuration. So every command runs without
hooks, file-system monitors, pagers, editors, prompts, network protocols, external diffs and text conversions,
and takes paths literally.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from serai.machine.processes.environment import find_program, without_relative

__all__ = ["HARDENED", "git_environment", "git_program"]

HARDENED = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.ext.allow=never"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "core.askPass="),
    *("-c", "credential.helper="),
    *("-c", "diff.external="),
    *("-c", "core.safecrlf=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
"""What comes right after `git`."""

_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "",
    "GIT_EDITOR": ":",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "SSH_ASKPASS": "",
}


def git_program(environ: Mapping[str, str]) -> str | None:
    """The whole path of git; `None` when there is none. Reads the disk."""
    return find_program("git", environ)


def git_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for git: what there is, without any word to git that is not ours."""
    kept = {
        name: value
        for name, value in without_relative(environ).items()
        if not name.startswith(("GIT_", "LC_", "LANGUAGE"))
    }
    return kept | _ENVIRONMENT
