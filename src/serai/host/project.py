"""Which project a working directory belongs to."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from serai.ahp.types import ProjectInfo

__all__ = ["directory_of", "project_of"]


def directory_of(uri: str | None) -> Path | None:
    """The folder that a `file:` URI names; `None` for anything else, and for what is not on this machine."""
    if uri is None:
        return None
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
        return None
    return Path(unquote(parts.path))


def project_of(uri: str | None) -> ProjectInfo | None:
    """The repository that a working directory is in, or else the directory itself. Reads the disk."""
    directory = directory_of(uri)
    if directory is None or not directory.is_dir():
        return None
    root = next(
        (folder for folder in (directory, *directory.parents) if (folder / ".git").exists()), directory
    )
    return ProjectInfo(uri=root.as_uri(), display_name=root.name or "/")
