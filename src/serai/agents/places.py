"""Where programs and packages usually are. Everything here is found by reading the disk."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "MODULES_VARIABLE",
    "Surroundings",
    "find_program",
    "is_program",
    "module_folders",
    "program_folders",
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
_LARGEST = 64 * 1024


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
            told += [line.strip("\"'") for line in _PREFIX.findall(file.read(_LARGEST))]
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
