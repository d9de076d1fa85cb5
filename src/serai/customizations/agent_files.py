"""Agents of Serai itself: lists `.agent.yaml` files, and finds the agent of a session."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from serai.ahp.types import AgentCustomization, CustomizationType
from serai.customizations.containers import (
    Contents,
    Definition,
    Origin,
    clean,
    identity,
    in_one_line,
    read_text,
)
from serai.customizations.places import PLACES, Where
from serai.customizations.trees import DiskTree, matching
from serai.errors import AgentUnknown, DocumentInvalid, FileUnreadable
from serai.session.agent_file import AgentFile, Known, read_agent
from serai.session.yaml import MAX_BYTES, load
from serai.uris import path_of

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def read_agent_file(origin: Origin, path: str, into: Contents) -> None:
    """Read one file into `into`. A missing file is skipped.

    Raises:
        FileUnreadable: The file is broken; the message names it, and the line.
    """
    text = read_text(origin, path)
    if text is None:
        return
    try:
        agent = read_agent(load(text.encode(), origin.tree.shown(path)))
    except DocumentInvalid as error:
        raise FileUnreadable(error.message) from None
    child = AgentCustomization(
        id=identity(CustomizationType.AGENT, origin.container, path),
        uri=origin.tree.uri(path),
        name=in_one_line(agent.name or agent.slug),
        description=clean(agent.description) or None,
    )
    fields = msgspec.to_builtins(agent)
    into.definitions.append(Definition(child, origin.container, path, origin.trusted, fields, origin.tree))


def find_agent(
    named: str,
    directory: Path | None,
    settings: Path | None,
    *,
    trusted: bool,
    known: Known = Known(),  # noqa: B008 - it never changes
) -> AgentFile:
    """Find an agent by the `file:` URI or the path of its file, or by its slug.

    A slug is looked for in the project, and then in the person's settings. Reads the disk.

    Args:
        named: The URI, the path or the slug.
        directory: The working directory. Its agents count only when it is trusted.
        settings: The folder of the person's `serai.toml`.
        trusted: The working directory is trusted.
        known: The names that the file may use.

    Raises:
        AgentUnknown: There is no such agent, or its folder is not trusted.
        DocumentInvalid: The file is invalid.
        FileUnreadable: The file cannot be read.
        ProtocolError: The URI is not one of a file.
    """
    if _SLUG.fullmatch(named):
        return _by_slug(named, directory if trusted else None, settings, known)
    path = path_of(named) if named.startswith("file:") else (directory or Path()) / named
    real = Path(os.path.realpath(path))
    if directory is not None and not trusted and real.is_relative_to(os.path.realpath(directory)):
        raise AgentUnknown(
            f"{path} is in a folder that is not trusted", remedy=f"Run 'serai config trust {directory}'"
        )
    return _read(DiskTree(real.parent, prefix=f"{path.parent}/", confined=False), real.name, known)


def _by_slug(slug: str, directory: Path | None, settings: Path | None, known: Known) -> AgentFile:
    roots = {Where.DIRECTORY: directory, Where.SETTINGS: settings}
    for place in PLACES:
        root = roots.get(place.where)
        if not place.is_of_serai or root is None:
            continue
        tree = DiskTree(root, prefix=f"{root}/", confined=place.where is Where.DIRECTORY)
        for path in matching(tree, place.folder, place.pattern).files:
            try:
                agent = _read(tree, path, known)
            except (DocumentInvalid, FileUnreadable):
                if path.endswith(f"/{slug}.agent.yaml"):
                    raise
                continue  # another file is broken
            if agent.slug == slug:
                return agent
    raise AgentUnknown(
        f"there is no agent {slug!r}",
        remedy="Put it into .serai/agents/ of a trusted folder, or into agents/ beside your serai.toml",
    )


def _read(tree: DiskTree, path: str, known: Known) -> AgentFile:
    data = tree.read(path, MAX_BYTES)
    if data is None:
        raise AgentUnknown(f"there is no file {tree.shown(path)}")
    return read_agent(load(data, tree.shown(path)), known)
