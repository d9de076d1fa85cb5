"""Programs and npm packages on the disk: where they are found, and what a program says when it is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agents.machine import Machine
from machine.processes.watching import runs, until, written_pid
from serai.agents.catalogue.definitions import Way
from serai.agents.catalogue.programs import (
    ask_program,
    find_package,
    find_program,
    version_in,
)


def found(machine: Machine, name: str = "agent-x") -> list[Path]:
    return list(find_program(name, machine.surroundings))


@pytest.mark.parametrize(
    "folder",
    [
        ".local/bin",
        ".local/share/pnpm",
        ".nvm/versions/node/v22.3.0/bin",
        ".local/share/fnm/node-versions/v20.1.0/installation/bin",
    ],
)
def test_programs_are_found_in_the_usual_places_of_a_home(machine: Machine, folder: str) -> None:
    program = machine.program(machine.home / folder / "agent-x")
    assert found(machine) == [program]


def test_path_comes_before_the_usual_places(machine: Machine) -> None:
    usual = machine.program(machine.home / ".local/bin/agent-x")
    first = machine.program("agent-x")
    assert found(machine) == [first, usual]


def test_the_newest_node_of_a_version_manager_comes_first(machine: Machine) -> None:
    for version in ("v9.0.0", "v22.10.0", "v22.9.1"):
        machine.program(machine.home / ".nvm/versions/node" / version / "bin/agent-x")
    versions = [path.parents[1].name for path in found(machine)]
    assert versions == ["v22.10.0", "v22.9.1", "v9.0.0"]


def test_a_project_counts_only_when_it_is_given(machine: Machine) -> None:
    project = machine.root / "work" / "deep"
    program = machine.program(machine.root / "work" / "node_modules" / ".bin" / "agent-x")
    assert found(machine) == []
    machine.project = project
    assert found(machine) == [program]
    assert machine.root / "work" / "node_modules" in machine.surroundings.module_folders()


def test_a_variable_names_further_packages(machine: Machine) -> None:
    modules = machine.root / "cache" / "node_modules"
    machine.environ["SERAI_NODE_MODULES"] = f"{modules}:relative"
    assert modules in machine.surroundings.module_folders()
    assert modules / ".bin" in machine.surroundings.program_folders()
    assert Path("relative") not in machine.surroundings.module_folders()


def test_a_path_is_taken_as_it_is(machine: Machine) -> None:
    program = machine.program(machine.home / "tools" / "agent-x")
    assert found(machine, "~/tools/agent-x") == [program]
    assert found(machine, str(program)) == [program]
    assert found(machine, "tools/agent-x") == []
    assert found(machine, "~/tools/agent-y") == []


@pytest.fixture
def modules(machine: Machine) -> Path:
    return machine.global_modules


def entry_of(machine: Machine, *, entry: str = "") -> Path | None:
    found = find_package(Way(package="@scope/agent", entry=entry), machine.surroundings)
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
        ({"one": "a.js", "two": "b.js"}, {}, None),
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


@pytest.mark.parametrize("manifest", ["", '{"name": 3}', '{"a":' + "[" * 100_000])
def test_a_broken_manifest_is_no_package(machine: Machine, modules: Path, manifest: str) -> None:
    machine.file(modules / "@scope/agent/package.json", manifest)
    assert entry_of(machine) is None


@pytest.mark.parametrize(
    ("engines", "oldest"),
    [(">= 18.17.0", 18), ("^20.19.0 || >=22.12.0", 20), ("*", 0)],
)
def test_the_oldest_node_that_a_package_names(
    machine: Machine, modules: Path, engines: str, oldest: int
) -> None:
    machine.package(modules, "agent", engines=engines)
    found = find_package(Way(package="agent"), machine.surroundings)
    assert found is not None
    assert found[0].node == oldest


DEAF = "trap '' TERM;"


async def gone(pid_file: Path) -> None:
    """Wait until the process whose pid is in a file is gone."""
    pid = await written_pid(pid_file)
    await until(lambda: not runs(pid))


async def test_a_program_gets_its_environment_without_the_hosts_secrets(machine: Machine) -> None:
    path = machine.program("x", body='echo "$A-$SERAI_TOKEN-$NO_COLOR-$CI"; read line || echo end; pwd')
    answer = await ask_program([str(path)], {"A": "1", "SERAI_TOKEN": "secret"}, seconds=5)
    assert answer is not None
    assert answer.splitlines() == ["1--1-1", "end", "/"]


async def test_what_cannot_be_started_does_not_answer(machine: Machine) -> None:
    assert await ask_program([str(machine.bin / "nowhere")], {}, seconds=5) is None
    assert await ask_program([str(machine.file(machine.bin / "x"))], {}, seconds=5) is None
    assert await ask_program([str(machine.program("x")), "a\0b"], {}, seconds=5) is None


async def test_one_that_takes_too_long_is_ended_with_its_children(machine: Machine) -> None:
    pids = [machine.root / "first", machine.root / "second"]
    child = machine.program(
        machine.root / "child", body=f"{DEAF} echo $$ > {pids[1]}; while :; do sleep 1; done"
    )
    path = machine.program("x", body=f"{child} & {DEAF} echo $$ > {pids[0]}; while :; do sleep 1; done")
    assert await ask_program([str(path)], dict(os.environ), seconds=0.2) is None
    for pid in pids:
        await gone(pid)


async def test_what_it_leaves_running_does_not_hold_the_answer_up(machine: Machine) -> None:
    pid = machine.root / "pid"
    path = machine.program("x", body=f"sleep 60 & echo $! > {pid}; echo 4.5.6")
    try:
        answer = await ask_program([str(path)], {}, seconds=5)
        assert answer is not None
        assert answer == "4.5.6\n"
    finally:
        os.kill(int(pid.read_text()), 9)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v22.1.0\n", "22.1.0"),
        ("2026.10.01-e373342", "2026.10.01-e373342"),
        ("0.3.0-beta.1+build", "0.3.0-beta.1+build"),
        ("warning at 10:30\nx 4.5", "4.5"),
        ("no version", None),
    ],
)
def test_versions_in_texts(text: str, version: str | None) -> None:
    assert version_in(text) == version
