"""Agent files and workflow files on the disk: how they are read, and where agents are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from serai.config.paths import Paths
from serai.errors import FileUnreadable
from serai.session.yaml import MAX_BYTES, Document, load

__all__ = ["agent_documents", "read_document"]


def read_document(path: Path) -> Document:
    """Read a document.

    Raises:
        DocumentInvalid: It is no document, or too large.
        FileUnreadable: It is not there, or may not be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileUnreadable(f"{path} cannot be read: {error.strerror}") from None
    return load(data, str(path))


def agent_documents(paths: Paths, project: Path | None) -> Iterator[Document]:
    """The agent files of a project, then the person's own. What they say is not checked.

    Whether the project is trusted is looked at by whoever lets its agents do something.

    Raises:
        DocumentInvalid: One of them is no document, or too large.
        FileUnreadable: One of them may not be read.
    """
    folders = [] if project is None else [project / ".serai" / "agents"]
    for folder in (*folders, paths.user_config.parent / "agents"):
        for path in sorted(folder.glob("*.agent.yaml")):
            yield read_document(path)
