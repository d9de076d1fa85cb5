"""Where programs and packages are looked for, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.machine import Machine
from serai.agents.catalogue.programs import Surroundings, find_program, module_folders, program_folders


def found(machine: Machine, name: str = "agent-x") -> list[Path]:
    return list(find_program(name, machine.surroundings))


@pytest.mark.parametrize(
    "folder",
    [
        ".local/bin",
        ".npm-global/bin",
        ".bun/bin",
        ".opencode/bin",
        ".volta/bin",
        ".cargo/bin",
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


def test_homebrew_and_the_system_come_last(machine: Machine, tmp_path: Path) -> None:
    brewed = machine.program(tmp_path / "homebrew" / "bin" / "agent-x")
    usual = machine.program(machine.home / ".local/bin/agent-x")
    surroundings = Surroundings(home=machine.home, environ={}, system=(brewed.parent,))
    assert list(find_program("agent-x", surroundings)) == [usual, brewed]
    assert Path("/opt/homebrew/bin") in Surroundings(home=machine.home).system


def test_the_newest_node_of_a_version_manager_comes_first(machine: Machine) -> None:
    for version in ("v9.0.0", "v22.10.0", "v22.9.1"):
        machine.program(machine.home / ".nvm/versions/node" / version / "bin/agent-x")
    versions = [path.parents[1].name for path in found(machine)]
    assert versions == ["v22.10.0", "v22.9.1", "v9.0.0"]


def test_a_relative_folder_of_path_is_left_out(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.program(machine.root / "work" / "tools" / "agent-x")
    monkeypatch.chdir(machine.root / "work")
    machine.environ["PATH"] = f"tools::.:{machine.bin}"
    assert found(machine) == []
    assert machine.surroundings.path == (machine.bin,)


def test_a_project_counts_only_when_it_is_given(machine: Machine) -> None:
    project = machine.root / "work" / "deep"
    program = machine.program(machine.root / "work" / "node_modules" / ".bin" / "agent-x")
    assert found(machine) == []
    machine.project = project
    assert found(machine) == [program]
    assert machine.root / "work" / "node_modules" in module_folders(machine.surroundings)


def test_npm_is_followed_where_it_was_told_to_install(machine: Machine) -> None:
    machine.file(machine.home / ".npmrc", "registry=x\nprefix = ${HOME}/elsewhere\n")
    machine.environ["NPM_CONFIG_PREFIX"] = str(machine.root / "other")
    folders = module_folders(machine.surroundings)
    assert machine.home / "elsewhere" / "lib" / "node_modules" in folders
    assert machine.root / "other" / "lib" / "node_modules" in folders
    assert machine.home / "elsewhere" / "bin" in program_folders(machine.surroundings)


def test_a_variable_names_further_packages(machine: Machine) -> None:
    modules = machine.root / "cache" / "node_modules"
    machine.environ["SERAI_NODE_MODULES"] = f"{modules}:relative"
    assert modules in module_folders(machine.surroundings)
    assert modules / ".bin" in program_folders(machine.surroundings)
    assert Path("relative") not in module_folders(machine.surroundings)


def test_what_cannot_be_run_is_no_program(machine: Machine) -> None:
    machine.file(machine.bin / "agent-x").chmod(0o644)
    (machine.home / ".local/bin/agent-x").mkdir(parents=True)
    assert found(machine) == []


def test_a_path_is_taken_as_it_is(machine: Machine) -> None:
    program = machine.program(machine.home / "tools" / "agent-x")
    assert found(machine, "~/tools/agent-x") == [program]
    assert found(machine, str(program)) == [program]
    assert found(machine, "tools/agent-x") == []
    assert found(machine, "~/tools/agent-y") == []


def test_variables_in_paths_have_defaults(machine: Machine) -> None:
    machine.environ["NAMED"] = "/named"
    expand = machine.surroundings.expand
    assert expand("${NAMED:-~/x}/file") == Path("/named/file")
    assert expand("${OTHER:-~/x}/file") == machine.home / "x" / "file"
    assert expand("${OTHER}/file") is None
    assert expand("~") == machine.home
