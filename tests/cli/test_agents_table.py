"""The table of agents, at the width of a terminal."""

from __future__ import annotations

from serai.acp.capabilities import AgentCapabilities, McpCapabilities, PromptCapabilities
from serai.acp.process.connection import Launch
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import FoundAgent
from serai.agents.catalogue.introduction import Remembered
from serai.cli.agents import table_of

ALL = AgentCapabilities(
    load_session=True,
    fork_session=True,
    resume_session=True,
    close_session=True,
    list_sessions=True,
    additional_directories=True,
    mcp=McpCapabilities(http=True, sse=True),
    prompt=PromptCapabilities(image=True, audio=True, embedded_context=True),
)


def found(
    name: str, version: str | None = "1.2.3", *, installed: bool = True, install: str = ""
) -> FoundAgent:
    definition = AgentDefinition(id=name, label=name, ways=(Way(program=name),), install=install)
    launch = Launch((name,)) if installed else None
    return FoundAgent(definition, installed=installed, version=version, launch=launch)


def told(capabilities: AgentCapabilities | None, *, signed_in: bool | None = None) -> Remembered:
    return Remembered(capabilities=capabilities, signed_in=signed_in)


def test_all_that_an_agent_can_do_fits_into_80_columns() -> None:
    head, _demo, first, more, last = table_of([(found("one"), told(ALL)), (found("two"), told(None))], 80)
    assert head == "AGENT  INSTALLED  VERSION  SIGNED IN   CAN"
    assert first == "one    yes        1.2.3    unknown     load resume fork list close dirs · http"
    assert more.split() == ["sse", "·", "image", "audio", "context"]
    assert more.index("sse") == head.index("CAN")
    assert last.split() == ["two", "yes", "1.2.3", "unknown", "unknown"]
    assert max(map(len, (head, first, more, last))) <= 80


def test_nothing_is_guessed_of_what_is_not_there_and_little_is_said_of_what_can_little() -> None:
    rows = [
        (found("absent", None, installed=False, install="get it"), None),
        (found("least"), told(AgentCapabilities(), signed_in=True)),
    ]
    _, _demo, absent, least, _, title, advice = table_of(rows, 80)
    assert absent.split() == ["absent", "no", "-", "unknown", "-"]
    assert least.split() == ["least", "yes", "1.2.3", "yes", "the", "least"]
    assert (title, advice.split()) == ("To install them, or to sign in:", ["absent", "get", "it"])


def test_a_long_version_is_cut_and_nothing_can_move_the_cursor() -> None:
    _, _demo, row = table_of([(found("one", "2026.10.01-0123456789\x1b[2J"), None)], 80)
    assert "2026.10.01-0123…" in row
    assert "\x1b" not in row
