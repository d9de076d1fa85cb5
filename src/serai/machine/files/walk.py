"""From a URI to a place on the disk, so that nothing can be slipped in between.

A path is walked one name at a time, from `/`, each directory opened relative to the one before and never
through a link. A link is read and its text walked in the same way, so what is held at the end is where the
name really leads: a *place*, which is an open directory and a name in it. Only then is it judged whether that
is inside a root. Whatever is done afterwards is done relative to the open directory. So a directory that
someone replaces by a link meanwhile changes nothing: the walk meets the link and follows it before it judges,
or holds the directory that was there before.

The way may lead outside and come back, as it does with every absolute link; where it ends is what counts. Of
what is outside nothing is told, not even whether it is there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from serai.errors import ProtocolError
from serai.machine.files.handles import (
    Identity,
    identities,
    identity,
    is_one_of,
    open_directory,
    open_regular,
    refuse_deep,
    refuse_unusual,
    refuse_window,
    walker,
)
from serai.machine.files.refusals import denied, exists, not_found, outside, told, translated, wrong_kind
from serai.machine.files.roots import Access, Roots
from serai.uris import path_of

__all__ = ["MAX_LINKS", "Place", "find", "make_directories"]

MAX_LINKS = 40
"""So many links are followed on one way, as the kernel does."""


class Place:
    """A name in a directory that is held open. Use it in a `with`, which closes the directory."""

    def __init__(
        self,
        uri: str,
        path: str,
        directory: int,
        name: str,
        info: os.stat_result | None,
        above: tuple[Identity, ...],
        *,
        pipes: bool = False,
    ) -> None:
        self.uri = uri
        """As it was asked for."""
        self.path = path
        """Where it really is."""
        self.directory = directory
        self.name = name
        self.info = info
        """What was found there, a link not followed; `None` when there was nothing."""
        self.above = above
        """The directories that it is in, from `/` on."""
        self._pipes = pipes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the directory. Doing it again does nothing."""
        if self.directory >= 0:
            os.close(self.directory)
            self.directory = -1

    def look(self) -> os.stat_result | None:
        """What is there now, a link not followed; `None` when there is nothing.

        Raises:
            ProtocolError: It is a device, a pipe or a socket.
            OSError: The system does not say.
        """
        try:
            self.info = os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            self.info = None
        else:
            refuse_unusual(self.info, self.uri, pipes=self._pipes)
        return self.info

    @property
    def is_directory(self) -> bool:
        """Whether a directory was found there."""
        return self.info is not None and stat.S_ISDIR(self.info.st_mode)

    def open(self, *, flags: int = os.O_RDONLY) -> tuple[int, os.stat_result]:
        """Open the regular file that is there, and say what it is. The caller closes it.

        Raises:
            ProtocolError: It is not there, is no regular file, has several names, or may not be opened.
        """
        with told(self.uri):
            return open_regular(self.directory, self.name, self.uri, flags=flags)

    def open_directory(self) -> int:
        """Open the directory that is there, to list it. The caller closes it.

        Raises:
            ProtocolError: It is not there, is no directory, or may not be read.
        """
        if self.info is not None and not self.is_directory:
            raise wrong_kind(self.uri, "is no directory")
        with told(self.uri):
            return open_directory(self.directory, self.name)


def find(
    uri: str,
    roots: Roots,
    access: Access,
    *,
    follow: bool = True,
    itself: bool = True,
    whole: bool = False,
    pipes: bool = False,
) -> Place:
    """Where a URI leads, when that may be had. The last name need not be there, all before it must.

    Args:
        uri: A `file:` URI.
        roots: What may be had.
        access: How it is to be had.
        follow: Whether a link at the very end is followed. Other links always are.
        itself: Whether a directory may be had that is a root and in no other; otherwise it must be below one.
        whole: Whether a directory is meant with all that is in it; then nothing closed may be there.
        pipes: Whether a pipe or a socket may be there: for who does not open it.

    Raises:
        ProtocolError: `PERMISSION_DENIED` when it ends outside, passes through `/proc` or the like, has a
            name that is not UTF-8 or too long, follows too many links or ends at a device, a pipe or a
            socket; `NOT_FOUND` when it is inside and a directory on the way is missing.
    """
    with _Walk(uri, roots, access) as walk:
        walk.go(follow=follow)
        return walk.arrived(itself=itself, whole=whole, pipes=pipes)


def make_directories(uri: str, roots: Roots) -> Place:
    """The same for a directory that is to be written. It is made, with those above it, where it is missing.

    Raises:
        ProtocolError: As `find`; `ALREADY_EXISTS` when something on the way is no directory.
    """
    with _Walk(uri, roots, Access.WRITE) as walk:
        walk.go(follow=True, missing=walk.make, blocked=exists)
        place = walk.arrived(itself=True)
    if not place.is_directory:
        place.close()
        raise exists(uri)
    return place


@dataclass(frozen=True, slots=True)
class _Step:
    """A directory on the way."""

    descriptor: int
    name: str
    identity: Identity


class _Walk:
    def __init__(self, uri: str, roots: Roots, access: Access) -> None:
        self._uri = uri
        self._roots = roots
        self._access = access
        self._ahead = list(reversed(path_of(uri).parts[1:]))
        """The names that are still to be walked, the next one last."""
        self._steps: list[_Step] = []
        self._links = 0
        self._last: tuple[str, os.stat_result | None] | None = None
        """The name at the end and what is there, when it was reached."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for step in self._steps:
            os.close(step.descriptor)
        self._steps.clear()

    # -- walking -------------------------------------------------------------------------------------------

    def go(
        self,
        *,
        follow: bool,
        missing: Callable[[str], bool] | None = None,
        blocked: Callable[[str], ProtocolError] = not_found,
    ) -> None:
        """Walk to the end.

        Args:
            follow: Whether a link at the end is followed.
            missing: Called with a name that is not there; says whether to look again.
            blocked: The error for something on the way that is no directory.
        """
        self._enter("/")
        while self._ahead:
            name = self._ahead.pop()
            if name == "..":
                self._leave()
                continue
            self._check_name(name)
            info = self._look(name)
            if info is None:
                if missing is not None and missing(name):
                    self._ahead.append(name)
                elif self._ahead:
                    raise self._unless_outside(name, not_found)
                else:
                    self._last = name, None
            elif stat.S_ISLNK(info.st_mode) and (follow or self._ahead):
                self._follow(name)
            elif not self._ahead:
                self._last = name, info
            elif not stat.S_ISDIR(info.st_mode):
                raise self._unless_outside(name, blocked)
            else:
                self._enter(name)

    def make(self, name: str) -> bool:
        """Make a directory, where that may be."""
        if not self._allowed(name):
            raise outside(self._uri, self._access)
        self._refuse_closed(None, whole=False)
        try:
            os.mkdir(name, dir_fd=self._here)
        except FileExistsError:
            self._count()  # someone else made it: look again, but not for ever
        except OSError as error:
            raise self._failed(name, error) from error
        return True

    @property
    def _here(self) -> int:
        return self._steps[-1].descriptor

    def _check_name(self, name: str) -> None:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise denied(self._uri, "a name on the way is not UTF-8") from None

    def _look(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._here, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed(name, error) from error

    def _enter(self, name: str) -> None:
        refuse_deep(len(self._steps), self._uri)
        try:
            descriptor = walker(name, self._here if self._steps else None)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENOENT}:
                self._count()  # it was a directory just now: look again
                self._ahead.append(name)
                return
            raise self._failed(name, error) from error
        step = _Step(descriptor, name, identity(os.fstat(descriptor)))
        crossed = not self._steps or step.identity[0] != self._steps[-1].identity[0]
        self._steps.append(step)
        if crossed:
            refuse_window(descriptor, self._uri)

    def _leave(self) -> None:
        if len(self._steps) > 1:
            os.close(self._steps.pop().descriptor)

    def _follow(self, name: str) -> None:
        self._count()
        try:
            target = os.readlink(name, dir_fd=self._here)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOENT}:
                raise self._failed(name, error) from error
            self._ahead.append(name)  # it is no link any more: look again
            return
        if target.startswith("/"):
            while len(self._steps) > 1:
                self._leave()
        self._ahead.extend(part for part in reversed(target.split("/")) if part not in {"", "."})

    def _count(self) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise denied(self._uri, "it leads through too many links")

    # -- judging -------------------------------------------------------------------------------------------

    def arrived(self, *, itself: bool, whole: bool = False, pipes: bool = False) -> Place:
        """The place at the end, which takes the last directory over."""
        if self._last is None:  # the way ended with `..` or at `/`: the place is a directory that is held
            last = self._steps[-1]
            info = os.fstat(last.descriptor)
            if len(self._steps) > 1:
                self._leave()
                self._last = last.name, info
            else:
                self._last = ".", info
        name, info = self._last
        is_directory = info is not None and stat.S_ISDIR(info.st_mode)
        itself = itself or not is_directory
        if (name == "." and not itself) or not self._allowed(name, info, itself=itself):
            if not itself and self._allowed(name, info):
                why = "only what is in it can be moved or deleted: it is a session's folder, or was granted"
                raise denied(self._uri, why)
            raise outside(self._uri, self._access)
        self._refuse_closed(info, whole=whole)
        if info is not None:
            refuse_unusual(info, self._uri, pipes=pipes)
            self._refuse_window(name, info)
        above = tuple(step.identity for step in self._steps)
        path = self._path(name)
        return Place(self._uri, path, self._steps.pop().descriptor, name, info, above, pipes=pipes)

    def _refuse_closed(self, info: os.stat_result | None, *, whole: bool) -> None:
        way = {step.identity for step in self._steps}
        here = identity(info) if info is not None else None
        for closed in self._roots.closed:
            above, itself = identities(closed)
            if itself in way or (here is not None and (here == itself or (whole and here in above))):
                raise denied(self._uri, "it belongs to the host itself")

    def _refuse_window(self, name: str, info: os.stat_result) -> None:
        """A directory at the end may be one where a view of the system begins."""
        if not stat.S_ISDIR(info.st_mode) or info.st_dev == self._steps[-1].identity[0]:
            return
        with told(self._uri):
            descriptor = walker(name, self._here)
        try:
            refuse_window(descriptor, self._uri)
        finally:
            os.close(descriptor)

    def _path(self, *names: str) -> str:
        parts = [step.name for step in self._steps[1:]]
        return "/" + "/".join([*parts, *(name for name in names if name != ".")])

    def _allowed(self, name: str, info: os.stat_result | None = None, *, itself: bool = True) -> bool:
        path = self._path(name)
        return all(
            self._roots.allow(path, one, itself=itself) or self._allowed_by_handle(one, info, itself=itself)
            for one in self._access
        )

    def _allowed_by_handle(self, access: Access, info: os.stat_result | None, *, itself: bool) -> bool:
        """The same, by asking the disk: a root may be written in another case, or be mounted twice."""
        held = {step.identity for step in self._steps}
        if itself and info is not None and stat.S_ISDIR(info.st_mode):
            held.add(identity(info))
        return any(is_one_of(root.path, held) for root in self._roots.that_allow(access))

    def _unless_outside(self, name: str, error: Callable[[str], ProtocolError]) -> ProtocolError:
        ahead = () if ".." in self._ahead else tuple(reversed(self._ahead))
        inside = self._roots.allow(self._path(name, *ahead), self._access) or self._allowed(name)
        return error(self._uri) if inside else outside(self._uri, self._access)

    def _failed(self, name: str, error: OSError) -> ProtocolError:
        if not self._allowed(name):
            return outside(self._uri, self._access)
        return translated(error, self._uri)
