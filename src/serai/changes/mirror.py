"""The private side of a repository: a git directory of our own, beside the person's.

It has its own index and its own objects, and reads the person's objects as *alternates*. Commands that look
at the work tree run here. So the person's index, objects and refs are never written, and the repository's
own configuration is never obeyed: `repository.Settings` says which few settings are carried over.

Filters (`filter.*.clean`, `.smudge`, `.process`) are programs that a repository names for some of its
files, and storing a file's content runs them. They are carried over only when the folder is trusted. In any
other folder a file is stored as it is; such a file may then show as changed where git with its filter would
see none.

The private index begins as a copy of the person's, with the same time of change: git compares that time
with the times of files to know which it must read again. It is copied anew when the person's index, or
anything that says what is ignored, has changed.

The host's own folder may be in the work tree. It is no part of the private side, not even where it is part of
the repository: git is told to look past it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from serai.changes.closed import Closed
from serai.changes.drafts import RUN
from serai.changes.git import Answer, Git
from serai.changes.repository import Repository, Settings, read_settings
from serai.errors import GitFailed

__all__ = ["Mirror", "in_variables", "is_of_same_place", "prefix_of"]

_MAX_SMALL = 4 << 20
"""The most that is read of a list of ignored files or attributes."""

_SHARED_INDEX = "sharedindex."
_PREFIX = "prefix"
_ALTERNATES = "objects/info/alternates"

Signature = tuple[object, ...]


class Mirror:
    """The private git directory of one session, for one repository.

    Not for several tasks at once: whoever owns it takes turns.

    Args:
        git: The git to run.
        repository: The person's repository.
        folder: Where the private side is kept. It is made when it is needed, for its owner alone.
        trusted: Whether the person trusts the working directory now.
        closed: The host's own folder.
    """

    def __init__(
        self, git: Git, repository: Repository, folder: Path, trusted: Callable[[], bool], closed: Closed
    ) -> None:
        self.git = git
        self.repository = repository
        self.folder = folder
        self.settings = Settings({}, {})
        self.closed = closed
        self.closed_paths: tuple[str, ...] = ()
        """Where the host's own folder is in the work tree; as it was at the last renewal."""
        self._is_trusted = trusted
        self.trusted = False
        """Whether filters run; as it was when the index was copied."""
        self._signature: Signature | None = None

    @property
    def index(self) -> Path:
        """The private index."""
        return self.folder / "index"

    @property
    def scope(self) -> tuple[str, ...]:
        """The arguments that limit a command to the directory, without the host's own folder."""
        if not self.closed_paths:
            return self.repository.scope
        words = "exclude,icase" if self.settings.carried.get("core.ignorecase") == "true" else "exclude"
        directory = self.repository.prefix.rstrip("/")
        return (
            *("--", f":(literal){directory}" if directory else "."),
            *(f":({words},literal){path}" for path in self.closed_paths),
        )

    def environment(self, index: Path | None = None) -> dict[str, str]:
        """What makes git use the private side, and no configuration but what is carried over."""
        carried = dict(self.settings.carried)
        if self.trusted:
            carried |= self.settings.filters
        environment = {
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": self.repository.top,
            "GIT_INDEX_FILE": str(index or self.index),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        if self.closed_paths:
            environment["GIT_LITERAL_PATHSPECS"] = "0"  # what `scope` says is not literal then
        return environment | in_variables({**carried, "core.looseCompression": "1"})

    def reading_environment(self, index: Path | None = None) -> dict[str, str]:
        """The same, for bringing stored content back into its form as a file.

        In a trusted folder that is the person's own repository with our objects beside it: a filter such as
        Git LFS finds the rest of the content only there.
        """
        if not self.trusted:
            return self.environment(index)
        return {
            **self.repository.environment,
            "GIT_INDEX_FILE": str(index or self.index),
            "GIT_OBJECT_DIRECTORY": str(self.folder / "objects"),
        }

    async def run(
        self,
        *arguments: str,
        doing: str,
        data: bytes = b"",
        accept: tuple[int, ...] = (0,),
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
    ) -> Answer:
        """Run a command on the private side, from the root of the work tree if no other folder is named."""
        if environment is None:
            environment = self.environment()
        try:
            return await self.git.run(
                *arguments,
                doing=doing,
                folder=folder or self.repository.top,
                environment=environment,
                data=data,
                accept=accept,
            )
        except BaseException:
            # A command that was ended leaves its lock. Nobody else uses this folder.
            with suppress(OSError):
                os.unlink(f"{environment['GIT_INDEX_FILE']}.lock")  # noqa: PTH108 - text, not a Path
            raise

    async def open(self) -> None:
        """Make the folder, or take one up that an earlier run of the host left.

        Raises:
            GitFailed: It cannot be made.
        """
        try:
            await asyncio.to_thread(self._make)
        except OSError as error:
            raise GitFailed(f"the private folder of the changes cannot be made: {error.strerror}") from None

    async def renew(self, *, force: bool = False) -> bool:
        """Copy the person's index when it, or what else decides about files, has changed. Says if so.

        Raises:
            GitFailed: The index cannot be read, or not be copied.
        """
        trusted = self._is_trusted()
        closed, stamps = await asyncio.to_thread(self._look)
        if (trusted, closed, stamps) == self._signature and not force:
            return False
        self._signature = None
        self.closed_paths = closed
        self.settings = await read_settings(self.git, self.repository, os.environ)
        self.trusted = trusted
        # Only now is it known where the person's list of ignored files is.
        _, stamps = await asyncio.to_thread(self._look)
        try:
            await asyncio.to_thread(self._copy)
        except OSError as error:
            if not await asyncio.to_thread(os.path.isdir, self.repository.git_dir):
                raise GitFailed("the repository is gone") from None
            raise GitFailed(f"the repository's index cannot be copied: {error.strerror}") from None
        self._signature = (trusted, closed, stamps)
        return True

    @asynccontextmanager
    async def copied_index(self) -> AsyncGenerator[Path]:
        """A copy of the private index, for the length of a block."""
        index = self.folder / "index.once"
        with suppress(FileNotFoundError):  # there is none before there are files
            await asyncio.to_thread(shutil.copy2, self.index, index)
        try:
            yield index
        finally:
            index.unlink(missing_ok=True)

    def scratch(self, kind: str) -> tempfile.TemporaryDirectory[str]:
        """A folder for the length of a block. What a host that is killed leaves of it, the next one deletes.

        Args:
            kind: What its name begins with.
        """
        return tempfile.TemporaryDirectory(dir=self.folder, prefix=f"{kind}-{RUN}-")

    def forget_index(self) -> None:
        """Have the next renewal copy the index, whatever it looks like."""
        self._signature = None

    # -- on the disk ---------------------------------------------------------------------------------------

    def _make(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("objects/info", "refs", "info"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob("*.lock"):
            left.unlink()
        is_plain = self.repository.object_format == "sha1"
        config = f"[core]\n\trepositoryformatversion = {0 if is_plain else 1}\n\tbare = false\n"
        if not is_plain:
            config += f"[extensions]\n\tobjectFormat = {self.repository.object_format}\n"
        (self.folder / "config").write_text(config)
        (self.folder / "HEAD").write_text("ref: refs/heads/none\n")
        objects = os.fsencode(f"{self.repository.common_dir}/objects")
        (self.folder / _ALTERNATES).write_bytes(_quoted(objects) + b"\n")
        (self.folder / _PREFIX).write_bytes(os.fsencode(self.repository.prefix))
        self.closed_paths = self.closed.names_below(self.repository.top)

    def _look(self) -> tuple[tuple[str, ...], Signature]:
        """Where the host's folder is, and all else that makes the copy stale, as the file system tells it."""
        stamps = tuple(_stamp(path) for path in (*self._small(), *self._outside()))
        return self.closed.names_below(self.repository.top), stamps

    def _small(self) -> dict[str, str]:
        """The person's files that say what is ignored or converted, and our names of them."""
        common, own = self.repository.common_dir, self.repository.git_dir
        return {
            f"{common}/info/exclude": "info/exclude",
            f"{common}/info/attributes": "info/attributes",
            f"{own}/info/sparse-checkout": "info/sparse-checkout",
        }

    def _outside(self) -> list[str]:
        common, own = self.repository.common_dir, self.repository.git_dir
        files = [f"{own}/index", f"{common}/config", f"{own}/config.worktree"]
        return files + [
            self.settings.carried.get(f"core.{name}file", "") for name in ("excludes", "attributes")
        ]

    def _copy(self) -> None:
        for source, name in self._small().items():
            target = self.folder / name
            target.unlink(missing_ok=True)
            _copy_regular(source, target, _MAX_SMALL)
        for left in self.folder.glob("*.lock"):
            left.unlink()
        # A split index names the other part of it; that part never changes under its name.
        for entry in os.scandir(self.repository.git_dir):
            if entry.name.startswith(_SHARED_INDEX) and not (self.folder / entry.name).exists():
                _copy_regular(entry.path, self.folder / entry.name, None)
        self.index.unlink(missing_ok=True)
        _copy_regular(f"{self.repository.git_dir}/index", self.index, None)


def in_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as the variables in which git takes them: no value needs to be quoted there."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def prefix_of(folder: Path) -> str | None:
    """Where in its repository the directory is, or was, that a private side is of. Reads the disk.

    It is `None` when there is no private side, or when it does not tell.
    """
    try:
        return os.fsdecode((folder / _PREFIX).read_bytes())
    except OSError:
        return None


def is_of_same_place(one: Path, other: Path) -> bool:
    """Whether two private sides are of the same directory of the same repository. Reads the disk."""
    names = (_ALTERNATES, _PREFIX)
    try:
        return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)
    except OSError:
        return False


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)  # noqa: PTH116 - text, not a Path
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _copy_regular(source: str, target: Path, max_bytes: int | None) -> None:
    """Copy a file with its times, if it is one: never a device or a pipe, which would not end."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or (max_bytes is not None and found.st_size > max_bytes):
            return
        with target.open("wb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _quoted(path: bytes) -> bytes:
    """A path for a list with one on each line, as git quotes them."""
    if not path.startswith((b'"', b"#")) and b"\n" not in path:
        return path
    escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'
