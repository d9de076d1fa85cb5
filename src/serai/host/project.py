"""Folders that are named by a URI: which they are, whether they can be, and to which project they belong."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from serai.ahp.types import ProjectInfo
from serai.config.paths import is_folder
from serai.errors import ProtocolError
from serai.uris import path_of


def directory_of(uri: str | None) -> Path | None:
    """The folder that a `file:` URI names; `None` for anything else, and for what is not on this machine."""
    try:
        return path_of(uri) if uri is not None else None
    except ProtocolError:
        return None


def problem_with_folder(uri: str, *, may_be_missing: bool = False) -> str | None:
    """Why a URI names no folder of this machine, or `None` when it does. Reads the disk.

    With `may_be_missing` it is enough that there could be such a folder.
    """
    directory = directory_of(uri)
    if directory is None:
        return "it is no folder of this machine, as a file: URI"
    try:
        mode = directory.stat().st_mode
    except FileNotFoundError:
        return None if may_be_missing else "there is no such folder"
    except OSError as error:
        return f"it cannot be a folder: {error.strerror}"
    return None if stat.S_ISDIR(mode) else "it is no folder"


def project_of(uri: str | None) -> ProjectInfo | None:
    """The repository that a working directory is in, or else the directory itself. Reads the disk."""
    directory = directory_of(uri)
    if directory is None or not is_folder(directory):
        return None
    folders = (directory, *directory.parents)
    # Unlike the method of `Path`, this says no to what cannot be looked at.
    root = next((folder for folder in folders if os.path.exists(folder / ".git")), directory)  # noqa: PTH110 - see above
    return ProjectInfo(uri=root.as_uri(), display_name=root.name or "/")
