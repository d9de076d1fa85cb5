"""What a program gets of the host's environment, and which program a name means.

A relative entry of `PATH`, and an empty one, is the folder that a program happens to be started in. The host
starts programs in folders of strangers, so such entries do not count: neither where the host looks for a
program, nor for what git and agents start by name. In a terminal, a person's `PATH` stays as it is.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping

__all__ = ["find_program", "inheritable", "without_relative"]

_SECRET = re.compile(r"SERAI_.*(KEY|TOKEN|SECRET|PASSWORD).*")


def inheritable(environ: Mapping[str, str], hide: Iterable[str] = ()) -> dict[str, str]:
    """An environment without the host's own secrets: `SERAI_TOKEN`, `SERAI_DATABASE_KEY` and the like.

    Args:
        environ: The host's environment.
        hide: Names of further variables that stay out.
    """
    hidden = frozenset(hide)
    return {
        name: value for name, value in environ.items() if name not in hidden and not _SECRET.fullmatch(name)
    }


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """The whole path of a program, of a name without a slash; `None` when there is none."""
    return shutil.which(name, path=_absolute(environ.get("PATH", os.defpath)))


def without_relative(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment whose `PATH` means the same in every folder."""
    kept = dict(environ)
    if "PATH" in kept:
        kept["PATH"] = _absolute(kept["PATH"])
    return kept


def _absolute(path: str) -> str:
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))  # noqa: PTH117 - it is text
