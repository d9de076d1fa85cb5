"""Which program a name means.

A relative entry of `PATH`, and an empty one, is the folder that a program happens to be started in. The host
starts programs in folders of strangers, so such entries do not count: neither where the host looks for a
program, nor for what git and agents start by name. In a terminal, a person's `PATH` stays as it is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

__all__ = ["find_program", "without_relative"]


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
