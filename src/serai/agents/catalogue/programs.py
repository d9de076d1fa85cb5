"""Programs and npm packages on the disk: where they usually are, and what a program prints when asked."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from asyncio.subprocess import STDOUT
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from serai.agents.catalogue.definitions import Way
from serai.machine.processes.brief import brief
from serai.machine.processes.environment import inheritable

__all__ = [
    "MODULES_VARIABLE",
    "Answer",
    "Package",
    "Surroundings",
    "ask_program",
    "find_package",
    "find_program",
    "is_program",
    "is_script",
    "module_folders",
    "node_needed",
    "nodes_in_packages",
    "package_of",
    "program_folders",
    "version_in",
]

MODULES_VARIABLE = "SERAI_NODE_MODULES"
"""Names further folders with packages, separated as in `PATH`."""

SYSTEM = (
    Path("/usr/local/bin"),
    Path("/opt/homebrew/bin"),
    Path("/home/linuxbrew/.linuxbrew/bin"),
    Path("/usr/bin"),
    Path("/bin"),
    Path("/snap/bin"),
)
_OF_THE_PERSON = (
    ".local/bin",
    "bin",
    ".npm-global/bin",
    ".npm-packages/bin",
    ".bun/bin",
    ".deno/bin",
    ".cargo/bin",
    ".volta/bin",
    ".opencode/bin",
    ".local/share/pnpm",
    "Library/pnpm",
    ".yarn/bin",
    ".linuxbrew/bin",
)
_NODE_VERSIONS = (
    # Folders of version managers, and where in a version's folder the programs are.
    (".nvm/versions/node", "bin"),
    (".local/share/fnm/node-versions", "installation/bin"),
    (".fnm/node-versions", "installation/bin"),
    ("Library/Application Support/fnm/node-versions", "installation/bin"),
    (".local/share/mise/installs/node", "bin"),
    (".asdf/installs/nodejs", "bin"),
)
_REFERENCE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_PREFIX = re.compile(r"^\s*prefix\s*=\s*(.+?)\s*$", re.MULTILINE)
_LARGEST_NPMRC = 64 * 1024


@dataclass(frozen=True)
class Surroundings:
    """Where to look: a home, an environment, perhaps a project, and the folders of the system.

    A project's own programs are looked for only if it is given: give it when its folder is trusted.
    """

    home: Path
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    project: Path | None = None
    system: tuple[Path, ...] = SYSTEM

    @classmethod
    def here(cls, *, project: Path | None = None) -> Surroundings:
        """This machine, for whoever runs this process."""
        return cls(home=Path.home(), environ=dict(os.environ), project=project, system=SYSTEM)

    def expand(self, text: str) -> Path | None:
        """A path with `~` and `${NAME:-default}` replaced; `None` when a variable has no value."""
        missing: list[str] = []

        def replaced(match: re.Match[str]) -> str:
            value = self.environ.get(match[1]) or match[2]
            if value is None:
                missing.append(match[1])
                return ""
            return value

        full = _REFERENCE.sub(replaced, text)
        if missing:
            return None
        if full == "~" or full.startswith("~/"):
            return self.home / full[2:]
        return Path(full)

    @property
    def path(self) -> tuple[Path, ...]:
        """The folders of `PATH`. A relative one would be another in every session, and is left out."""
        return tuple(_absolute(self.environ.get("PATH", "").split(os.pathsep)))


def program_folders(surroundings: Surroundings) -> tuple[Path, ...]:
    """The folders that programs are looked for in, the first to win first."""
    return tuple(dict.fromkeys(_program_folders(surroundings)))


def module_folders(surroundings: Surroundings) -> tuple[Path, ...]:
    """The folders that packages of npm are looked for in, the first to win first."""
    return tuple(dict.fromkeys(_module_folders(surroundings)))


def find_program(name: str, surroundings: Surroundings) -> Iterator[Path]:
    """All programs of a name, the one to take first. A path is taken as it is, if it is a program."""
    if "/" in name or os.sep in name:
        path = surroundings.expand(name)
        if path is not None and path.is_absolute() and is_program(path):
            yield path
        return
    for folder in program_folders(surroundings):
        for ending in _endings(surroundings):
            path = folder / f"{name}{ending}"
            if is_program(path):
                yield path
                break


def is_program(path: Path) -> bool:
    """Whether a path is a file that can be run."""
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - it never raises


def _program_folders(surroundings: Surroundings) -> Iterator[Path]:
    if surroundings.project is not None:
        for folder in (surroundings.project, *surroundings.project.parents):
            yield folder / "node_modules" / ".bin"
    for modules in _named_modules(surroundings):
        yield modules / ".bin"
    yield from surroundings.path
    for name in ("PNPM_HOME", "BUN_INSTALL", "VOLTA_HOME"):
        for folder in _absolute([surroundings.environ.get(name, "")]):
            yield folder if name == "PNPM_HOME" else folder / "bin"
    for folder in _npm_prefixes(surroundings):
        yield folder / "bin"
    for relative in _OF_THE_PERSON:
        yield surroundings.home / relative
    yield from _node_versions(surroundings)
    yield from surroundings.system


def _module_folders(surroundings: Surroundings) -> Iterator[Path]:
    if surroundings.project is not None:
        for folder in (surroundings.project, *surroundings.project.parents):
            yield folder / "node_modules"
    yield from _named_modules(surroundings)
    for prefix in _npm_prefixes(surroundings):
        yield prefix / "lib" / "node_modules"
    # Beside each folder of programs is what npm, run from there, installs for all.
    for folder in program_folders(surroundings):
        if folder.name == "bin":
            yield folder.parent / "lib" / "node_modules"
    yield surroundings.home / ".bun" / "install" / "global" / "node_modules"
    yield surroundings.home / "node_modules"


def _named_modules(surroundings: Surroundings) -> Iterator[Path]:
    return _absolute(surroundings.environ.get(MODULES_VARIABLE, "").split(os.pathsep))


def _npm_prefixes(surroundings: Surroundings) -> Iterator[Path]:
    """Where npm installs for all, when it was told so."""
    environ = surroundings.environ
    told = [environ.get(name, "") for name in ("npm_config_prefix", "NPM_CONFIG_PREFIX", "PREFIX")]
    try:
        with (surroundings.home / ".npmrc").open(encoding="utf-8", errors="replace") as file:
            told += [line.strip("\"'") for line in _PREFIX.findall(file.read(_LARGEST_NPMRC))]
    except OSError:
        pass
    for text in told:
        path = surroundings.expand(text.replace("${HOME}", "~")) if text else None
        if path is not None and path.is_absolute():
            yield path


def _node_versions(surroundings: Surroundings) -> Iterator[Path]:
    """The folders of version managers, the newest version first."""
    found: list[tuple[tuple[int, ...], Path]] = []
    for relative, programs in _NODE_VERSIONS:
        root = surroundings.home / relative
        try:
            names = sorted(os.listdir(root))  # noqa: PTH208 - only the names are wanted
        except OSError:
            continue
        for name in names:
            numbers = tuple(int(number) for number in re.findall(r"\d+", name)[:3])
            found.append((numbers, root / name / programs))
    for _, folder in sorted(found, key=lambda one: one[0], reverse=True):
        yield folder


def _absolute(texts: Iterable[str]) -> Iterator[Path]:
    for text in texts:
        if text and os.path.isabs(text):  # noqa: PTH117 - it is text still
            yield Path(text)


def _endings(surroundings: Surroundings) -> tuple[str, ...]:
    if sys.platform != "win32":
        return ("",)
    return ("", *surroundings.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").lower().split(";"))


_LARGEST_MANIFEST = 1024 * 1024
_AT_LEAST = re.compile(r"\s*>=?\s*v?(\d+)")
_NODE_PACKAGE = re.compile(r"node(?:-bin)?|node-(?:linux|darwin|win)-\w+")


class _Manifest(msgspec.Struct):
    name: str = ""
    version: str = ""
    bin: str | dict[str, str] = {}
    engines: Any = None


@dataclass(frozen=True, slots=True)
class Package:
    """A package that is there and is what it says."""

    folder: Path
    name: str
    version: str | None
    bins: dict[str, str]
    node: int
    """The oldest node that its `engines` names; 0 when it names none."""


def find_package(way: Way, surroundings: Surroundings) -> tuple[Package, Path] | None:
    """The package of a way to start, and the file of it to run; `None` when it is nowhere."""
    for modules in module_folders(surroundings):
        package = read_package(modules / way.package)
        if package is None or package.name != way.package:
            continue
        entry = _entry(package, way)
        if entry is not None:
            return package, entry
    return None


def read_package(folder: Path) -> Package | None:
    """The package in a folder, if there is one that can be read."""
    try:
        with (folder / "package.json").open("rb") as file:
            manifest = msgspec.json.decode(file.read(_LARGEST_MANIFEST), type=_Manifest)
    except (OSError, ValueError, RecursionError):
        return None
    bins = manifest.bin
    if isinstance(bins, str):
        bins = {manifest.name.rpartition("/")[2]: bins}
    engines = manifest.engines.get("node") if isinstance(manifest.engines, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - anything can stand there
    return Package(folder, manifest.name, manifest.version or None, bins, _oldest(engines))


def package_of(program: Path) -> Package | None:
    """The package that a program belongs to, when npm has put it where it is."""
    real = Path(os.path.realpath(program))
    for folder in real.parents:
        if folder.parent.name == "node_modules" or folder.parent.parent.name == "node_modules":
            package = read_package(folder)
            if package is not None and (folder.parent.name + "/" + folder.name).endswith(package.name):
                return package
    return None


def is_script(path: Path) -> bool:
    """Whether node has to run a file: by its ending, or by its first line."""
    if path.suffix in {".js", ".mjs", ".cjs"}:
        return True
    try:
        with path.open("rb") as file:
            first = file.read(128).split(b"\n", 1)[0]
    except OSError:
        return False
    return first.startswith(b"#!") and re.search(rb"\bnode\b", first) is not None


def node_needed(package: Package | None, way: Way) -> int:
    """The oldest node that will do."""
    return max(way.node, package.node if package is not None else 0)


def nodes_in_packages(surroundings: Surroundings) -> Iterator[tuple[Path, tuple[int, ...]]]:
    """Nodes that npm has installed as packages, with their versions."""
    for modules in module_folders(surroundings):
        try:
            names = sorted(os.listdir(modules))  # noqa: PTH208 - only the names are wanted
        except OSError:
            continue
        for name in names:
            package = read_package(modules / name) if _NODE_PACKAGE.fullmatch(name) else None
            if package is not None and package.version:
                program = _inside(package.folder, package.bins.get("node", "bin/node"))
                if program is not None and is_program(program):
                    numbers = tuple(int(number) for number in re.findall(r"\d+", package.version)[:3])
                    yield program, numbers


def _entry(package: Package, way: Way) -> Path | None:
    if way.entry:
        return _inside(package.folder, way.entry)
    short = package.name.rpartition("/")[2]
    wanted = package.bins.get(way.bin) if way.bin else package.bins.get(short)
    if wanted is None and not way.bin and len(set(package.bins.values())) == 1:
        wanted = next(iter(package.bins.values()))
    return _inside(package.folder, wanted) if wanted else None


def _inside(folder: Path, relative: str) -> Path | None:
    """A file of a package; `None` when it is not there, or leads out of the package."""
    path = Path(os.path.normpath(folder / relative))
    if not path.is_relative_to(folder) or not os.path.isfile(path):  # noqa: PTH113 - it never raises
        return None
    return path


def _oldest(engines: Any) -> int:
    """The oldest major version of a range; of several ranges the oldest of all."""
    if not isinstance(engines, str):
        return 0
    found = [_AT_LEAST.match(part) or re.match(r"\s*[\^~]?v?(\d+)", part) for part in engines.split("||")]
    return min((int(match[1]) for match in found if match), default=0)


_SECONDS = 5.0
_GRACE = 0.5
_LARGEST_OUTPUT = 256 * 1024
_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:[-+][\w.+-]*\w)?)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed, and how it ended."""

    text: str
    code: int


async def ask_program(
    argv: Sequence[str], environ: Mapping[str, str], *, seconds: float = _SECONDS
) -> Answer | None:
    """What a program prints, errors too; `None` when it does not end in time, or cannot be started.

    It runs in a group of its own. When the time is over, or this is cancelled, the group gets TERM and half a
    second later KILL.

    Args:
        argv: The program, with its whole path, and its arguments.
        environ: Its environment; the host's own secrets are taken out of it.
        seconds: How long it may take.
    """
    # A file takes the output: a pipe would be held open by whatever the program leaves running.
    with tempfile.TemporaryFile() as output:
        try:
            async with (
                brief(
                    *argv,
                    folder=Path(argv[0]).anchor
                    or None,  # no folder of anyone: some programs write into theirs
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
        return Answer(output.read(_LARGEST_OUTPUT).decode("utf-8", "replace"), code)


def version_in(text: str) -> str | None:
    """The first version in a text, as `1.2.3` or `1.2.3-beta.1`."""
    match = _VERSION.search(text)
    return match[1] if match else None
