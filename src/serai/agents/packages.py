"""Packages of npm on the disk: which file of them is to be run, and by which node."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from serai.agents.definitions import Way
from serai.agents.places import Surroundings, is_program, module_folders

__all__ = ["Package", "find_package", "is_script", "node_needed", "nodes_in_packages", "package_of"]

_LARGEST = 1024 * 1024
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
            manifest = msgspec.json.decode(file.read(_LARGEST), type=_Manifest)
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
