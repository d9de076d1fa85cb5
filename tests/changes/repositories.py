"""Repositories made for a test, and changes seen in them."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import TypeAlias

from serai.changes.diff import Change
from serai.changes.git import Git, find_git

PERSON = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


class Repo:
    """A work tree with its repository, and the person who uses it."""

    def __init__(self, top: Path, *options: str) -> None:
        self.top = top
        top.mkdir(parents=True, exist_ok=True)
        if not (top / ".git").exists():
            self.git("init", "-q", "--template=", *options)
            (top / ".git/info").mkdir(parents=True, exist_ok=True)

    def git(self, *arguments: str, accept: tuple[int, ...] = (0,), data: bytes | None = None) -> bytes:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        done = subprocess.run(
            ["git", *PERSON, *arguments],  # noqa: S607 - the git of whoever runs the tests
            cwd=self.top,
            env=environment,
            input=data,
            capture_output=True,
            check=False,
        )
        assert done.returncode in accept, done.stderr.decode(errors="replace")
        return done.stdout

    def write(self, path: str, content: str | bytes = "", *, executable: bool = False) -> Path:
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        file.chmod(0o755 if executable else 0o644)
        return file

    def commit(self, message: str = "a commit") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def conflict(self) -> None:
        """Merge two branches that have changed `a.txt`, each in its own way."""
        self.git("branch", "theirs")
        self.write("a.txt", "ours\n")
        self.commit()
        self.git("checkout", "-q", "theirs")
        self.write("a.txt", "theirs\n")
        self.commit()
        self.git("merge", "main", accept=(1,))

    def add_submodule(self, library: Path, path: str) -> None:
        """Commit a submodule, from a library that has `lib.txt`."""
        source = Repo(library)
        source.write("lib.txt", "1\n")
        source.commit()
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), path)
        self.commit()

    def status(self) -> list[str]:
        return self.git("status", "--porcelain", "-z", "-uall").decode(errors="replace").split("\0")[:-1]


Seen: TypeAlias = dict[str, tuple[int, bytes, int]]


def everything(top: Path) -> Seen:
    """All files below a folder: their modes, contents and times of change.

    git sets the time of an object anew when it meets content that is stored already, and does no more.
    """
    seen: Seen = {}
    for folder, folders, files in os.walk(top):
        for name in (*files, *folders):
            path = Path(folder, name)
            found = path.lstat()
            content = b""
            if stat.S_ISLNK(found.st_mode):
                content = os.fsencode(path.readlink())
            elif stat.S_ISREG(found.st_mode):
                content = path.read_bytes()
            is_object = ".git/objects/" in str(path) and path.is_file()
            seen[str(path)] = (found.st_mode, content, 0 if is_object else found.st_mtime_ns)
    return seen


async def the_git() -> Git:
    """The git of whoever runs the tests, looked for once."""
    if not _GIT:
        _GIT.append(await find_git())
    return _GIT[0]


_GIT: list[Git] = []


def brief(changes: tuple[Change, ...]) -> list[str]:
    """Each change in a few words: `modified a.txt +1 -0`."""
    words: list[str] = []
    for change in changes:
        name = change.path
        if change.kind == "renamed" and change.before is not None:
            name = f"{change.before.path} -> {change.path}"
        lines = "binary" if change.binary else f"+{change.added} -{change.removed}"
        words.append(f"{change.kind} {name} {lines}")
    return words
