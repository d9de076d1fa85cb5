"""The catalogue: what it holds, what configuration changes, and what a registry adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.machine import Machine
from serai.agents.catalogue.agents import Catalogue, built_in, make_catalogue
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import Finder
from serai.config.agents import AgentSettings
from serai.config.toml import is_name
from serai.errors import AgentUnknown, ConfigInvalid

TWELVE = (
    *("claude", "codex", "cursor", "copilot", "gemini", "opencode"),
    *("droid", "pi", "cline", "kilo", "qwen", "auggie"),
)

# What each agent is started with: rows A2 to A10.
PACKAGES = [
    ("claude", "@agentclientprotocol/claude-agent-acp", "dist/index.js", []),
    ("codex", "@zed-industries/codex-acp", "bin/codex-acp.js", []),
    ("codex", "@agentclientprotocol/codex-acp", "", []),
    ("copilot", "@github/copilot", "", ["--acp"]),
    ("gemini", "@google/gemini-cli", "", ["--acp"]),
    ("pi", "pi-acp", "", []),
]
PROGRAMS = [
    ("claude", "claude-agent-acp", []),
    ("codex", "codex-acp", []),
    ("cursor", "agent", ["acp"]),
    ("cursor", "cursor-agent", ["acp"]),
    ("copilot", "copilot", ["--acp"]),
    ("gemini", "gemini", ["--acp"]),
    ("opencode", "opencode", ["acp"]),
    ("droid", "droid", ["exec", "--output-format", "acp"]),
    ("pi", "pi-acp", []),
    ("cline", "cline", ["--acp"]),
    ("kilo", "kilo", ["acp"]),
    ("qwen", "qwen", ["--acp", "--experimental-skills"]),
    ("auggie", "auggie", ["--acp"]),
    ("goose", "goose", ["acp"]),
    ("mistral-vibe", "vibe-acp", []),
    ("fast-agent", "fast-agent-acp", ["-x"]),
]


def definition(name: str, *aliases: str, program: str = "x") -> AgentDefinition:
    return AgentDefinition(id=name, label=name, aliases=aliases, ways=(Way(program=program),))


def test_the_twelve_are_there_and_three_more() -> None:
    assert built_in().ids == (*TWELVE, "goose", "mistral-vibe", "fast-agent")
    assert built_in().resolve("Claude-Code") == "claude"


def test_each_is_started_as_its_makers_say() -> None:
    ways = [(one.id, way) for one in built_in() for way in one.ways if way.is_acp]
    packages = [(name, way.package, way.entry, list(way.args)) for name, way in ways if way.package]
    assert packages == PACKAGES
    assert [(name, way.program, list(way.args)) for name, way in ways if way.program] == PROGRAMS


async def test_pi_alone_is_found_and_cannot_be_used(machine: Machine) -> None:
    path = machine.program("pi")
    found = await Finder(machine.surroundings).find(built_in().definition_for("pi"))
    assert (found.installed, found.path, found.launch) == (True, path, None)
    assert "does not speak ACP" in found.reason
    way = built_in().definition_for("pi").ways[-1]
    assert (way.program, way.args, way.is_acp) == ("pi", ("--mode", "rpc"), False)


def test_configuration_says_how_an_agent_counts_its_tokens() -> None:
    entries = {
        "mine": AgentSettings(command="mine", cumulative_tokens=True),
        "copilot": AgentSettings(cumulative_tokens=False),
        "codex": AgentSettings(fs=True),
    }
    catalogue = make_catalogue(entries)
    assert [one.id for one in catalogue if one.cumulative_tokens] == ["mine"]


def test_every_entry_says_what_people_need() -> None:
    for one in built_in():
        assert all(is_name(name) for name in one.names), one
        assert all((one.label, one.description, one.install)), one
        assert one.homepage.startswith("https://"), one
        assert any(way.is_acp for way in one.ways), one
        assert all(bool(way.program) != bool(way.package) for way in one.ways), one


def test_a_codex_is_started_with_a_model_and_an_effort() -> None:
    way = built_in().definition_for("codex").ways[0]
    assert way.choosing(model="gpt-5.5:fast", effort="high") == (
        *("-c", 'model="gpt-5.5:fast"'),
        *("-c", 'model_reasoning_effort="high"'),
    )
    assert way.choosing() == ()
    assert built_in().definition_for("claude").ways[0].choosing(model="opus") == ()


@pytest.mark.parametrize("value", ["", 'x" -c y="z', "a/b"])
def test_a_value_that_could_mean_more_is_refused(value: str) -> None:
    way = built_in().definition_for("codex").ways[0]
    with pytest.raises(ConfigInvalid, match="cannot be a model"):
        way.choosing(model=value)
    with pytest.raises(ConfigInvalid, match="cannot be an effort"):
        way.choosing(effort=value)


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(AgentUnknown) as caught:
        built_in().definition_for("cloude")
    assert "cloude" in caught.value.message
    assert str(caught.value.remedy).startswith("Did you mean claude? ")
    for name in built_in().ids:
        assert name in str(caught.value.remedy)
    assert built_in().resolve("cloude") is None


@pytest.mark.parametrize("typed", ["Cloude ", "codx"])
def test_a_name_is_guessed_where_little_is_wrong_with_it(typed: str) -> None:
    with pytest.raises(AgentUnknown, match="Did you mean "):
        built_in().definition_for(typed)


def test_two_agents_cannot_share_a_name() -> None:
    with pytest.raises(ConfigInvalid, match="two agents are called 'openai'"):
        built_in().adding(definition("mine", "openai"))
    with pytest.raises(ConfigInvalid, match="two agents are called 'b'"):
        Catalogue([definition("a", "b"), definition("b")])


# -- configuration -----------------------------------------------------------------------------------------


def test_configuration_describes_a_new_agent() -> None:
    entry = AgentSettings(
        command="/opt/mine", args=("acp",), env={"A": "b"}, label="Mine", aliases=("own",), fs=True
    )
    mine = make_catalogue({"mine": entry}).definition_for("own")
    assert (mine.id, mine.label, dict(mine.env), mine.fs) == ("mine", "Mine", {"A": "b"}, True)
    assert mine.ways == (Way(program="/opt/mine", args=("acp",)),)
    assert make_catalogue({"mine": AgentSettings(command="x")}).definition_for("mine").label == "mine"


def test_a_new_agent_needs_a_command() -> None:
    with pytest.raises(ConfigInvalid, match="mine has no command"):
        make_catalogue({"mine": AgentSettings(label="Mine")})


def test_configuration_changes_the_binary_and_keeps_the_arguments() -> None:
    qwen = make_catalogue({"qwen": AgentSettings(command="/opt/qwen")}).definition_for("qwen")
    assert qwen.ways == (Way(program="/opt/qwen", args=("--acp", "--experimental-skills")),)
    assert qwen.label == "Qwen Code"
    codex = make_catalogue({"openai": AgentSettings(command="/opt/codex")}).definition_for("codex")
    assert codex.ways[0].choosing(model="o3") == ("-c", 'model="o3"')


def test_configuration_changes_arguments_and_adds_variables() -> None:
    entry = AgentSettings(args=("--acp", "-v"), env={"B": "2"}, terminal=True, aliases=("aug",))
    auggie = make_catalogue({"auggie": entry}).definition_for("aug")
    assert [way.args for way in auggie.ways] == [("--acp", "-v")]
    assert dict(auggie.env) == {"AUGMENT_DISABLE_AUTO_UPDATE": "1", "B": "2"}
    assert auggie.terminal
    assert make_catalogue({"auggie": entry}).resolve("augment") is None
    assert built_in().definition_for("auggie").ways[0].args == ("--acp",)


@pytest.mark.parametrize(("args", "version"), [(("agent.py",), None), (None, "3.11.7")])
async def test_a_program_with_arguments_of_ones_own_is_not_asked_for_its_version(
    args: tuple[str, ...] | None, version: str | None, machine: Machine, tmp_path: Path
) -> None:
    """It may be an interpreter, or start agents in another way: its version is not theirs."""
    program = machine.program(tmp_path / "opt" / "python", "Python 3.11.7")
    catalogue = make_catalogue({"mine": AgentSettings(command=str(program), args=args)})
    found = await Finder(machine.surroundings).find(catalogue.definition_for("mine"))
    assert (found.version, found.reason) == (version, "")


# -- a registry --------------------------------------------------------------------------------------------


def test_a_registry_adds_agents_and_leaves_known_ones_alone() -> None:
    known = AgentDefinition(
        id="claude-acp", label="x", ways=(Way(package="@agentclientprotocol/claude-agent-acp"),)
    )
    registry = [definition("new"), definition("gemini"), definition("factory-droid"), known]
    catalogue = make_catalogue(registry=registry)
    assert catalogue.ids == (*built_in().ids, "new")
    assert catalogue.definition_for("gemini").label == "Gemini CLI"


def test_configuration_changes_what_a_registry_has_added() -> None:
    catalogue = make_catalogue({"new": AgentSettings(env={"A": "1"})}, [definition("new")])
    assert dict(catalogue.definition_for("new").env) == {"A": "1"}
    assert catalogue.definition_for("new").ways == (Way(program="x"),)
