"""What is found of an agent: installed, version, signed in, and how it is started."""

from __future__ import annotations

import msgspec
import pytest

from agents.machine import Machine
from serai.agents.catalogue.agents import built_in
from serai.agents.catalogue.definitions import AgentDefinition, Evidence, Way
from serai.agents.catalogue.finder import Finder, FoundAgent, is_signed_in
from serai.errors import AgentNotInstalled, ConfigInvalid

PACKAGE = AgentDefinition(
    id="packed",
    label="Packed",
    ways=(Way(package="packed-acp", node=22), Way(program="packed", args=("--acp",))),
    env={"A": "1"},
    mcp_env={"B": "2"},
    install="npm install -g packed-acp",
    folders=("~/.packed",),
)
PROGRAM = AgentDefinition(id="plain", label="Plain", ways=(Way(program="plain", args=("acp",)),))


async def find(machine: Machine, definition: AgentDefinition) -> FoundAgent:
    return await Finder(machine.surroundings).find(definition)


def argv(found: FoundAgent) -> list[str]:
    assert found.launch is not None
    return list(found.launch.argv)


async def test_what_is_nowhere_is_not_installed(machine: Machine) -> None:
    found = await find(machine, PACKAGE)
    assert (found.installed, found.path, found.version, found.launch) == (False, None, None, None)
    assert found.reason == "packed-acp or packed was not found"
    (machine.home / ".packed").mkdir()
    found = await find(machine, PACKAGE)
    assert found.reason.endswith(f"though {machine.home / '.packed'} is there")


async def test_the_best_way_wins(machine: Machine) -> None:
    program = machine.program("packed")
    assert argv(await find(machine, PACKAGE)) == [str(program), "--acp"]
    node = machine.node()
    folder = machine.package(machine.global_modules, "packed-acp")
    found = await find(machine, PACKAGE)
    assert argv(found) == [str(node), str(folder / "index.js")]
    assert found.launch is not None
    assert found.launch.name == "packed"
    assert dict(found.launch.env) == {"A": "1"}


async def test_a_package_whose_node_is_too_old_is_installed_and_cannot_be_used(machine: Machine) -> None:
    machine.node(version="v20.20.2")
    machine.package(machine.global_modules, "packed-acp")
    found = await find(machine, PACKAGE)
    assert (found.installed, found.version, found.launch) == (True, "3.2.1", None)
    assert found.reason == "it needs node 22 or newer; there is node 20.20.2"
    with pytest.raises(AgentNotInstalled, match="node 22 or newer") as caught:
        found.launching()
    assert caught.value.remedy == "To install it: npm install -g packed-acp"


async def test_a_newer_node_is_found_elsewhere(machine: Machine) -> None:
    machine.node(version="v20.20.2")
    entry = machine.package(machine.global_modules, "packed-acp") / "index.js"
    managed = machine.node(machine.home / ".nvm/versions/node/v22.3.0/bin/node", "v22.3.0")
    found = await find(machine, PACKAGE)
    assert argv(found) == [str(managed), str(entry)]
    assert found.launch is not None
    assert found.launch.env["PATH"].split(":") == [str(managed.parent), str(machine.bin)]


async def test_what_a_script_asks_for_by_name_is_not_found_in_the_folder_of_a_session(
    machine: Machine,
) -> None:
    root = machine.home / ".nvm/versions/node/v22.3.0"
    machine.node(root / "bin/node")
    folder = machine.package(root / "lib/node_modules", "plain", bin={"plain": "cli.js"}, version="7.8.9")
    (root / "bin/plain").symlink_to(folder / "cli.js")
    machine.environ["PATH"] = f":.:{machine.bin}:"
    found = await find(machine, PROGRAM)
    assert found.launch is not None
    assert found.launch.env["PATH"].split(":") == [str(root / "bin"), str(machine.bin)]


async def test_a_common_name_counts_by_its_real_path_or_the_agents_folder(machine: Machine) -> None:
    cursor = built_in().definition_for("cursor")
    other = machine.program("agent")
    assert not (await find(machine, cursor)).installed
    real = machine.program(machine.home / ".local/share/cursor-agent/versions/1/cursor-agent")
    link = machine.home / ".local/bin/agent"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    assert argv(await find(machine, cursor)) == [str(link), "acp"]
    (machine.home / ".cursor").mkdir()
    assert argv(await find(machine, cursor)) == [str(other), "acp"]


async def test_launching_adds_what_a_session_needs(machine: Machine) -> None:
    machine.node()
    machine.package(machine.global_modules, "@zed-industries/codex-acp", bin={"x": "bin/codex-acp.js"})
    found = await find(machine, built_in().definition_for("codex"))
    launch = found.launching(model="gpt-5", effort="low")
    assert list(launch.argv[2:]) == ["-c", 'model="gpt-5"', "-c", 'model_reasoning_effort="low"']
    with pytest.raises(ConfigInvalid):
        found.launching(model='"')
    assert not launch.cumulative_tokens
    machine.package(machine.global_modules, "packed-acp")
    packed = await find(machine, msgspec.structs.replace(PACKAGE, cumulative_tokens=True))
    assert packed.launching().cumulative_tokens
    assert dict(packed.launching().env) == {"A": "1"}
    assert dict(packed.launching(with_mcp=True).env) == {"A": "1", "B": "2"}


async def test_models_are_listed_where_a_program_can(machine: Machine) -> None:
    machine.program(
        "opencode",
        body='[ "$1" = models ] && printf "a/one\\n b/two - Two (2)\\nTwo words\\n\\n" || echo 1.0.0',
    )
    finder = Finder(machine.surroundings)
    found = await finder.find(built_in().definition_for("opencode"))
    assert await finder.list_models(found) == ["a/one", "b/two"]
    machine.program("plain")
    assert await finder.list_models(await finder.find(PROGRAM)) == []


# -- signed in ---------------------------------------------------------------------------------------------


def test_a_variable_or_a_file_shows_that_someone_is_signed_in(machine: Machine) -> None:
    evidence = Evidence(env=("X_KEY",), files=("${X_HOME:-~/.x}/auth.json",))
    assert is_signed_in(evidence, machine.surroundings) is None
    assert is_signed_in(evidence, machine.surroundings, {"X_KEY": "k"}) is True
    machine.environ["X_KEY"] = ""
    assert is_signed_in(evidence, machine.surroundings) is None
    machine.environ["X_KEY"] = "k"
    assert is_signed_in(evidence, machine.surroundings) is True
    del machine.environ["X_KEY"]
    machine.file(machine.home / ".x/auth.json", "{}")
    assert is_signed_in(evidence, machine.surroundings) is None
    machine.file(machine.home / ".x/auth.json", '{"token": "t"}')
    assert is_signed_in(evidence, machine.surroundings) is True
    machine.environ["X_HOME"] = str(machine.root / "elsewhere")
    assert is_signed_in(evidence, machine.surroundings) is None


def test_only_where_evidence_is_conclusive_is_its_absence_a_no(machine: Machine) -> None:
    assert is_signed_in(Evidence(), machine.surroundings) is None
    assert is_signed_in(Evidence(conclusive=True), machine.surroundings) is False


async def test_secrets_are_in_no_representation(machine: Machine) -> None:
    machine.program("plain")
    found = await find(machine, msgspec.structs.replace(PROGRAM, env={"KEY": "sk-secret"}))
    assert found.launch is not None
    assert found.launch.env["KEY"] == "sk-secret"
    assert "sk-secret" not in repr(found)
