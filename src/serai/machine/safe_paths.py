"""Opens paths safely below a root, from one directory handle to the next.

    open_below(root, path)       a descriptor of the file or directory that is there
    parent_below(root, path)     the open directory that a path is in, and the name in it, for whoever writes
    remove_tree(directory, name) removes a directory with all that is in it, and nothing outside

A path is walked one name at a time, each directory opened relative to the one before and never through a
link. A link is read and its text walked in the same way, or refused. So a directory that someone swaps for a
link meanwhile leads nowhere else: there is no moment between a check and its use. A path never leaves its
root. Devices, pipes, sockets and views of the kernel (`/proc`, `/sys`) are refused.

All errors are `OSError`s. What the opener itself refuses is a `PathRefused`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self, TypeAlias

Identity: TypeAlias = tuple[int, int]
"""Device and inode. They identify a file while someone holds it open, whatever its name is."""

MAX_LINKS = 40
"""Most links that one path may lead through, as in the kernel."""
MAX_DEPTH = 256
"""Most directories on one path. Each is held open meanwhile, and the host has a limited number of handles."""

_SAFELY = os.O_NOFOLLOW | os.O_CLOEXEC
# Passing through a directory needs permission to search it, not to read it. Where the system cannot open a
# directory for that alone, it must be readable, too.
_TO_WALK = _SAFELY | os.O_DIRECTORY | getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_TO_LIST = _SAFELY | os.O_DIRECTORY | os.O_RDONLY
# Opening a pipe or a device must neither block nor make it the host's terminal.
_TO_USE = _SAFELY | os.O_NONBLOCK | os.O_NOCTTY
_MAYBE_LINK = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})


class PathRefused(OSError):
    """A path that this module does not open, although the system might. `strerror` says why, from "it" on."""

    def __init__(self, why: str) -> None:
        super().__init__(errno.EPERM, why)


def open_below(
    root: str | os.PathLike[str],
    path: str,
    flags: int = os.O_RDONLY,
    *,
    links: bool = True,
) -> int:
    """Open a regular file or a directory below a root. The caller closes the descriptor.

    Args:
        root: A directory.
        path: A path relative to the root, with `/`. An absolute path counts from the root, too.
        flags: Flags for opening it; `O_NOFOLLOW`, `O_CLOEXEC` and `O_NONBLOCK` are added.
        links: Follow links that stay inside the root. Otherwise they are refused.

    Raises:
        PathRefused: The path leads out of the root, through a link that may not be followed, or ends at a
            device, a pipe, a socket or in a view of the kernel.
        OSError: It is not there, or cannot be opened.
    """
    with Walk(root, path, links=links) as walk:
        walk.go(follow=links)
        return open_safely(walk.here, walk.name, flags)


@contextmanager
def parent_below(root: str | os.PathLike[str], path: str) -> Generator[tuple[int, str]]:
    """Hold the parent directory of a path below a root open; yields its handle and the last name.

    No link is followed, and the name itself need not be there. The handle is good for everything relative to
    it (`dir_fd`), not for listing; see `open_directory`.

    Raises:
        PathRefused: As `open_below`.
        OSError: A directory on the way is not there, or cannot be entered.
    """
    with Walk(root, path, links=False) as walk:
        walk.go(follow=False)
        yield walk.here, walk.name


@dataclass(frozen=True, slots=True)
class _Step:
    name: str
    handle: int
    identity: Identity


class Walk:
    """A walk down from a root, one name at a time. Use it in a `with`, which closes every directory on it.

    When a step fails, all that was walked before is still held, so that the caller can judge where it failed
    (`path`), make the directory that is missing, and go on. An absolute link must begin with the root's path.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        path: str,
        *,
        links: bool = True,
        avoid: Collection[Identity] = (),
    ) -> None:
        self.name = "."
        """The last name, once the walk has ended; `.` stands for the root itself."""
        self.info: os.stat_result | None = None
        """The status of the file with that name; `None` when there is none."""
        self._root = os.fspath(root)
        self._links = links
        self._avoid = avoid
        self._followed = 0
        self._steps: list[_Step] = []
        self._ahead: list[str] = []  # the next name last
        self._push(path)

    def __enter__(self) -> Self:
        try:
            self._hold("", os.open(self._root, _TO_WALK & ~os.O_NOFOLLOW))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        while self._steps:
            os.close(self._steps.pop().handle)

    @property
    def here(self) -> int:
        """The handle of the directory that was reached."""
        return self._steps[-1].handle

    @property
    def above(self) -> tuple[Identity, ...]:
        """The identities of the directories that are held, from the root on."""
        return tuple(step.identity for step in self._steps)

    @property
    def path(self) -> str:
        """The real path from the root, with the names that are still ahead, up to a `..` among them."""
        done = [step.name for step in self._steps[1:]]
        ahead = self._ahead[-1:] if ".." in self._ahead else self._ahead[::-1]
        last = [self.name] if not self._ahead and self.name != "." else []
        return "/".join([*done, *ahead, *last])

    def go(self, *, follow: bool) -> None:
        """Walk to the last name, which need not be there; with `follow`, also follow a link of this name.

        Raises:
            FileNotFoundError: A directory on the way is not there. `make` can make it; then go on.
            PathRefused: As `open_below`.
            OSError: Something on the way cannot be entered.
        """
        while self._ahead:
            name = self._ahead[-1]
            if name == "..":
                self._leave()
            elif len(self._ahead) > 1:
                self._enter(name)
            else:
                self.info = look(self.here, name)
                if self.info is not None and stat.S_ISLNK(self.info.st_mode) and follow:
                    self._follow(name)
                else:
                    self.name = self._ahead.pop()
                    return self._check_end()
        if len(self._steps) > 1:  # the path ended with `..`: its end is a directory that is held
            last = self._steps.pop()
            self.name, self.info = last.name, os.fstat(last.handle)
            os.close(last.handle)
        else:
            self.name, self.info = ".", os.fstat(self.here)
        return None

    def make(self) -> None:
        """Make the directory that is missing, unless someone else has made it meanwhile."""
        self._count()
        self._followed -= make_folder(self.here, self._ahead[-1])

    def _push(self, path: str) -> None:
        if "\0" in path:
            raise PathRefused("it has a NUL in it")
        self._ahead.extend(part for part in reversed(path.split("/")) if part not in {"", "."})

    def _hold(self, name: str, handle: int) -> None:
        crosses = not self._steps or os.fstat(handle).st_dev != self._steps[-1].identity[0]
        self._steps.append(_Step(name, handle, identity(os.fstat(handle))))  # now `__exit__` closes it
        if self._steps[-1].identity in self._avoid:
            raise PathRefused("it belongs to the host itself")
        if crosses:
            _refuse_kernel_view(handle)
        if len(self._steps) > MAX_DEPTH:
            raise PathRefused(f"it is more than {MAX_DEPTH} directories deep")

    def _enter(self, name: str) -> None:
        try:
            handle = os.open(name, _TO_WALK, dir_fd=self.here)
        except OSError as error:
            if error.errno not in _MAYBE_LINK:
                raise
            self._follow(name)
            return
        self._hold(name, handle)
        self._ahead.pop()

    def _leave(self) -> None:
        self._ahead.pop()
        if len(self._steps) > 1:
            os.close(self._steps.pop().handle)
        elif self._root != "/":
            raise PathRefused("it leads out of the folder")

    def _follow(self, name: str) -> None:
        try:
            target = os.readlink(name, dir_fd=self.here)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            if len(self._ahead) > 1 and not _is_directory(self.here, name):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from None
            return self._count()  # it is no link any more: look again
        if not self._links:
            raise PathRefused("it is behind a symbolic link")
        self._count()
        if target.startswith("/"):
            target = self._from_root(target)
        self._ahead.pop()
        return self._push(target)

    def _from_root(self, target: str) -> str:
        for root in (self._root.rstrip("/"), os.path.realpath(self._root).rstrip("/")):
            if target == root or target.startswith(f"{root}/"):
                while len(self._steps) > 1:
                    os.close(self._steps.pop().handle)
                return target[len(root) :]
        raise PathRefused("it leads out of the folder")

    def _count(self) -> None:
        self._followed += 1
        if self._followed > MAX_LINKS:
            raise PathRefused("it leads through too many links")

    def _check_end(self) -> None:
        if self.info is None:
            return
        if identity(self.info) in self._avoid:
            raise PathRefused("it belongs to the host itself")
        if stat.S_ISDIR(self.info.st_mode) and self.info.st_dev != self._steps[-1].identity[0]:
            handle = os.open(self.name, _TO_WALK, dir_fd=self.here)  # a view of the kernel may begin here
            try:
                _refuse_kernel_view(handle)
            finally:
                os.close(handle)


# -- one name in a directory that is held open ---------------------------------------------------------------


def identity(info: os.stat_result) -> Identity:
    """Return what identifies a file or directory, whatever its name is."""
    return info.st_dev, info.st_ino


def look(directory: int, name: str) -> os.stat_result | None:
    """Return the status of a name in a directory, a link not followed; `None` when there is no such name."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def open_safely(directory: int, name: str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file or a directory by its name in an open directory, and nothing else.

    Raises:
        PathRefused: It is a link, a device, a pipe, a socket, or a view of the kernel.
        OSError: It is not there, or cannot be opened.
    """
    _refuse_unusual(os.stat(name, dir_fd=directory, follow_symlinks=False))  # opening a device may act
    handle = os.open(name, _TO_USE | flags, dir_fd=directory)
    try:
        _refuse_unusual(os.fstat(handle))
        _refuse_kernel_view(handle)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _refuse_unusual(info: os.stat_result) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise PathRefused("it is a link")
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
        raise PathRefused("it is a device, a pipe or a socket")


def _refuse_kernel_view(handle: int) -> None:
    if is_kernel_view(handle):
        raise PathRefused("it is a view of the system, not on a disk")


def _is_directory(directory: int, name: str) -> bool:
    info = look(directory, name)
    return info is not None and stat.S_ISDIR(info.st_mode)


def open_directory(directory: int, name: str = ".") -> int:
    """Open a directory to list it. A link is not followed.

    Raises:
        OSError: There is none, or it may not be read.
    """
    return os.open(name, _TO_LIST, dir_fd=directory)


def sync_directory(directory: int) -> None:
    """Make the names in a directory durable, where the system allows it."""
    with suppress(OSError):
        handle = open_directory(directory)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_tree(directory: int, name: str) -> None:
    """Remove a directory and all that is in it. Links are not followed.

    After an error some of the content is gone.

    Raises:
        PathRefused: Something is mounted in it. It is left alone.
        OSError: Something cannot be removed, or others keep adding to the directory.
    """
    device = os.stat(name, dir_fd=directory, follow_symlinks=False).st_dev
    _empty(directory, name, device, 1)


def _empty(directory: int, name: str, device: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise PathRefused(f"it is more than {MAX_DEPTH} directories deep")
    handle = open_directory(directory, name)
    try:
        if os.fstat(handle).st_dev != device:
            raise PathRefused(f"something is mounted there, at {name!r}")
        for entry in os.listdir(handle):  # noqa: PTH208 - by its handle
            with suppress(FileNotFoundError):  # someone else removed it
                if _is_directory(handle, entry):
                    _empty(handle, entry, device, depth + 1)
                else:
                    os.unlink(entry, dir_fd=handle)
    finally:
        os.close(handle)
    with suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=directory)


# -- permissions ---------------------------------------------------------------------------------------------
#
# There are two umasks: the host's own, which keeps all private, and the person's. So whatever the host makes
# is private by default. Programs that it starts for the person get the person's umask (`persons_umask`), and
# so do files and folders that clients make in the person's folders (`share`).

_PRIVATE = 0o077
_persons_umask = -1


def keep_private() -> None:
    """Make all that this process makes from now on private to its owner. For a program, not for a library."""
    global _persons_umask  # noqa: PLW0603 - it is the process that has one
    before = os.umask(_PRIVATE)
    if _persons_umask < 0:
        _persons_umask = before


def persons_umask() -> int:
    """Return the person's umask, as `subprocess` takes it; -1 when the process still has it."""
    return _persons_umask


def share(handle: int, mode: int) -> None:
    """Give a new file or folder the permissions that it would have had under the person's umask."""
    if _persons_umask >= 0:
        special = stat.S_IMODE(os.fstat(handle).st_mode) & ~0o777  # a folder inherits its group, for instance
        os.fchmod(handle, special | (mode & ~_persons_umask))


def make_folder(directory: int, name: str) -> bool:
    """Make a folder in an open directory; return `False` when something has that name already."""
    try:
        os.mkdir(name, dir_fd=directory)
    except FileExistsError:
        return False
    if _persons_umask >= 0:
        handle = open_directory(directory, name)
        try:
            share(handle, 0o777)
        finally:
            os.close(handle)
    return True


# -- views of the kernel -------------------------------------------------------------------------------------

# proc, sysfs, devpts, cgroup, cgroup2; configfs, debugfs, tracefs, securityfs, bpf; efivarfs, pstore,
# fusectl, selinuxfs, smackfs; binfmt_misc, nsfs, mqueue, resctrl
_KERNEL_VIEWS = frozenset(
    (
        *(0x9FA0, 0x62656572, 0x1CD1, 0x27E0EB, 0x63677270),
        *(0x62656570, 0x64626720, 0x74726163, 0x73636673, 0xCAFE4A11),
        *(0xDE5E81E4, 0x6165676C, 0x65735543, 0xF97CFF8C, 0x43415D53),
        *(0x42494E4D, 0x6E736673, 0x19800202, 0x7655821),
    )
)
_fstatfs = getattr(ctypes.CDLL(None), "fstatfs", None) if sys.platform == "linux" else None


def is_kernel_view(handle: int) -> bool:
    """Tell whether a file or directory is a view of the kernel: `/proc`, `/sys` and their like.

    Reading one tells about processes, writing one changes the machine, and its files say that they are
    regular.
    """
    if _fstatfs is None:
        return False
    buffer = ctypes.create_string_buffer(512)
    if _fstatfs(handle, buffer) != 0:
        return True  # a file of an unknown kind is not read
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF in _KERNEL_VIEWS
