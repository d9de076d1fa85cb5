"""Programs and npm packages on the disk: their usual folders, and the output of programs.

To search another folder, add it to the tables.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from asyncio.subprocess import STDOUT
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from serai.acp.shapes import is_object
from serai.agents.catalogue.definitions import Way
from serai.machine.processes.environment import inheritable
from serai.machine.processes.processes import brief

MODULES_VARIABLE = "SERAI_NODE_MODULES"
"""Variable with further folders of packages, separated as in `PATH`."""

SYSTEM = tuple(map(Path, ("/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin", "/snap/bin")))
_IN_HOME = (
    *(".local/bin", "bin", ".npm-global/bin", ".npm-packages/bin", ".bun/bin", ".deno/bin", ".cargo/bin"),
    *(".volta/bin", ".opencode/bin", ".local/share/pnpm", "Library/pnpm", ".yarn/bin", ".linuxbrew/bin"),
)
_NODE_VERSIONS = (
    # Folders of version managers, and the folder of programs in that of a version.
    (".nvm/versions/node", "bin"),
    (".local/share/fnm/node-versions", "installation/bin"),
    (".fnm/node-versions", "installation/bin"),
    ("Library/Application Support/fnm/node-versions", "installation/bin"),
    (".local/share/mise/installs/node", "bin"),
    (".asdf/installs/nodejs", "bin"),
)
_REFERENCE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_AT_LEAST = re.compile(r"\s*(?:>=?\s*|[\^~])?v?(\d+)")
_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:[-+][\w.+-]*\w)?)")
_LARGEST = 1024 * 1024
"""Largest part of a file or an output that is read, in bytes."""
_GRACE = 0.5
"""Time between TERM and KILL, in seconds."""


@dataclass(frozen=True)
class Surroundings:
    """The places to search: a home, an environment, perhaps a project, and the system's folders.

    Give a project only if its folder is trusted: then its own programs are found.
    """

    home: Path
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    project: Path | None = None
    system: tuple[Path, ...] = SYSTEM

    @classmethod
    def here(cls, *, project: Path | None = None) -> Surroundings:
        """Return this machine's, for the user of this process."""
        return cls(home=Path.home(), environ=dict(os.environ), project=project, system=SYSTEM)

    def expand(self, text: str) -> Path | None:
        """Replace `~` and `${NAME:-default}` in a path; `None` when a variable has no value."""
        values = [self.environ.get(name) or default for name, default in _REFERENCE.findall(text)]
        if not all(values):
            return None
        full = _REFERENCE.sub(lambda _: values.pop(0), text)
        return self.home / full[2:] if full == "~" or full.startswith("~/") else Path(full)

    @property
    def path(self) -> tuple[Path, ...]:
        """The folders of `PATH`. Relative ones are left out: they would differ from session to session."""
        return tuple(_absolute(self.environ.get("PATH", "").split(os.pathsep)))

    def program_folders(self) -> tuple[Path, ...]:
        """Return the folders of programs, those with priority first."""
        folders = [each / ".bin" for each in self._own_modules()]
        folders += self.path
        folders += [self.home / each for each in _IN_HOME]
        folders += _node_versions(self.home)
        return tuple(dict.fromkeys((*folders, *self.system)))

    def module_folders(self) -> tuple[Path, ...]:
        """Return the folders of npm packages, those with priority first."""
        folders = self._own_modules()
        # The npm in a folder of programs installs global packages beside that folder.
        folders += [each.parent / "lib/node_modules" for each in self.program_folders() if each.name == "bin"]
        folders += [self.home / ".bun/install/global/node_modules", self.home / "node_modules"]
        return tuple(dict.fromkeys(folders))

    def _own_modules(self) -> list[Path]:
        """Return the folders of packages of the project, and those in the variable."""
        parents = (self.project, *self.project.parents) if self.project is not None else ()
        named = _absolute(self.environ.get(MODULES_VARIABLE, "").split(os.pathsep))
        return [*(each / "node_modules" for each in parents), *named]


class NpmPackage(msgspec.Struct):
    """The `package.json` of an npm package."""

    name: str = ""
    version: str = ""
    bin: str | dict[str, str] = {}
    engines: Any = None

    @property
    def node(self) -> int:
        """The oldest suitable node by its `engines`, as a major version; 0 without any."""
        wanted = self.engines.get("node") if is_object(self.engines) else None
        found = map(_AT_LEAST.match, wanted.split("||")) if isinstance(wanted, str) else ()
        return min((int(match[1]) for match in found if match), default=0)


def find_program(name: str, surroundings: Surroundings) -> Iterator[Path]:
    """Yield all programs of a name, the best first. A path is taken as it is, if it is a program."""
    if os.sep in name:
        path = surroundings.expand(name)
        candidates = [path] if path is not None and path.is_absolute() else []
    else:
        candidates = [folder / name for folder in surroundings.program_folders()]
    for path in candidates:
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - it never raises
            yield path


def find_package(way: Way, surroundings: Surroundings) -> tuple[NpmPackage, Path] | None:
    """Return the package of a way to start, and its file to run; `None` when it is not installed."""
    for modules in surroundings.module_folders():
        folder = modules / way.package
        try:
            package = msgspec.json.decode(_head(folder / "package.json"), type=NpmPackage)
        except (ValueError, RecursionError):
            continue
        if package.name == way.package and (entry := _entry(folder, package, way)):
            return package, entry
    return None


def is_script(path: Path) -> bool:
    """Tell by a file's suffix or first line whether node has to run it."""
    if path.suffix in {".js", ".mjs", ".cjs"}:
        return True
    first = _head(path, 128).split(b"\n", 1)[0]
    return first.startswith(b"#!") and re.search(rb"\bnode\b", first) is not None


async def ask_program(argv: Sequence[str], environ: Mapping[str, str], *, seconds: float) -> str | None:
    """Return a program's output, with its errors; `None` when it fails, takes too long or cannot be started.

    It runs in a group of its own, without the host's secrets. After the time-out, or when this is cancelled,
    the group gets TERM, and half a second later KILL.
    """
    # The output goes to a file: a pipe would be held open by processes that the program leaves running.
    with tempfile.TemporaryFile() as output:
        try:
            async with (
                brief(
                    *argv,
                    folder=Path(argv[0]).anchor or None,  # a neutral folder: some programs write into theirs
                    environment={**inheritable(environ), "NO_COLOR": "1", "CI": "1"},
                    stdout=output,
                    stderr=STDOUT,
                    grace=_GRACE,
                ) as process,
                asyncio.timeout(seconds),
            ):
                code = await process.wait()
        except (OSError, ValueError):  # a time-out is an `OSError`
            return None
        output.seek(0)
        return None if code else output.read(_LARGEST).decode("utf-8", "replace")


def version_in(text: str) -> str | None:
    """Return the first version in a text, such as `1.2.3` or `1.2.3-beta.1`."""
    match = _VERSION.search(text)
    return match[1] if match else None


def _node_versions(home: Path) -> list[Path]:
    """Return the folders of version managers, the newest version first."""
    found = [
        ([int(number) for number in re.findall(r"\d+", version.name)], version / programs)
        for relative, programs in _NODE_VERSIONS
        for version in (home / relative).glob("*")
    ]
    return [folder for _, folder in sorted(found, reverse=True)]


def _entry(folder: Path, package: NpmPackage, way: Way) -> Path | None:
    """Return the file of a package to run; `None` when it is missing, or outside the package."""
    name = package.name.rpartition("/")[2]
    bins = {name: package.bin} if isinstance(package.bin, str) else package.bin
    wanted = way.entry or bins.get(name)
    if wanted is None and len(set(bins.values())) == 1:
        wanted = next(iter(bins.values()))
    path = Path(os.path.normpath(folder / (wanted or "")))
    return path if path.is_relative_to(folder) and os.path.isfile(path) else None  # noqa: PTH113 - it never raises


def _head(path: Path, size: int = _LARGEST) -> bytes:
    """Return the beginning of a file; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def _absolute(texts: Iterable[str]) -> Iterator[Path]:
    return (Path(text) for text in texts if text.startswith(os.sep))
