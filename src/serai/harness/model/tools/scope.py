"""Which files the tools of a session reach: by its tier, and never what is Serai's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from serai.harness.model.tool import ToolContext
from serai.host.project import project_of
from serai.machine.files import Root, Roots
from serai.session.agent_file import FsScopeTier
from serai.uris import path_of, uri_of

P = ParamSpec("P")
T = TypeVar("T")


def uri_in(context: ToolContext, path: str) -> str:
    """The URI of a path that a model names, from the working directory on."""
    return uri_of(os.path.normpath(context.folder / path))


def shown_path(path: str) -> str:
    """The path as one writes it, without what leads nowhere: two ways to write it are one."""
    return os.path.normpath(path)


async def with_files(
    context: ToolContext, do: Callable[Concatenate[Roots, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Do something with the files that the session reaches, in a thread. Cancelling stops the waiting.

    Raises:
        ProtocolError: The files may not be had, are not there, or are not what they should be.
    """
    seat = context.seat
    roots = await seat.roots()
    return await seat.file_threads.run(lambda: do(_widened(roots, context), *args, **kwargs))


def _widened(roots: Roots, context: ToolContext) -> Roots:
    """The session's folders, and what its tier adds. What is closed stays closed. Reads the disk."""
    match context.situation.fs_scope_tier:
        case FsScopeTier.SANDBOXED:
            return roots
        case FsScopeTier.PROJECT:
            project = project_of(uri_of(context.folder))
            return roots | ([Root.of(path_of(project.uri), writable=True)] if project else [])
        case FsScopeTier.FULL:
            return roots | [Root("/", writable=True)]
