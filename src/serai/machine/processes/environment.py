"""The environment of started programs, the search for programs, and the hardening of git.

A relative entry of `PATH`, and an empty one, is the folder that a program happens to be started in. The host
starts programs in folders of strangers, so such entries do not count: neither where the host looks for a
program, nor for what git and agents start by name. In a terminal, a person's `PATH` stays as it is.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping

_SECRET = re.compile(r"SERAI_.*(KEY|TOKEN|SECRET|PASSWORD).*")


def inheritable(environ: Mapping[str, str], hide: Iterable[str] = ()) -> dict[str, str]:
    """Return an environment without the host's own secrets: `SERAI_TOKEN`, `SERAI_DATABASE_KEY` and the like.

    Args:
        environ: The host's environment.
        hide: Names of further variables that stay out.
    """
    hidden = frozenset(hide)
    return {
        name: value for name, value in environ.items() if name not in hidden and not _SECRET.fullmatch(name)
    }


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the whole path of a program, given a name without a slash; `None` when there is none."""
    return shutil.which(name, path=_absolute(environ.get("PATH", os.defpath)))


def without_relative(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment whose `PATH` means the same in every folder."""
    kept = dict(environ)
    if "PATH" in kept:
        kept["PATH"] = _absolute(kept["PATH"])
    return kept


def _absolute(path: str) -> str:
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))  # noqa: PTH117 - it is text


# -- git -----------------------------------------------------------------------------------------------------
#
# A folder may come from a stranger, and git obeys the folder's own configuration. So every command runs
# without hooks, file-system monitors, pagers, editors, prompts, network protocols, external diffs and text
# conversions, and takes paths literally.

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
"""Options that come right after `git`."""

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


def git_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for git, without any variable that steers git except the host's own."""
    kept = {
        name: value
        for name, value in without_relative(environ).items()
        if not name.startswith(("GIT_", "LC_", "LANGUAGE"))
    }
    return kept | _ENVIRONMENT
