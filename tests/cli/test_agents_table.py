"""The table of agents, at the width of a terminal."""

from __future__ import annotations

from serai.acp import Launch
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import FoundAgent
from serai.cli.agents import table_of


def found(
    name: str,
    version: str | None = "1.2.3",
    *,
    installed: bool = True,
    install: str = "",
    signed_in: bool | None = None,
) -> FoundAgent:
    definition = AgentDefinition(id=name, label=name, ways=(Way(program=name),), install=install)
    launch = Launch((name,)) if installed else None
    return FoundAgent(definition, installed=installed, version=version, launch=launch, signed_in=signed_in)


def test_nothing_is_guessed_of_what_is_not_there() -> None:
    rows = [found("absent", None, installed=False, install="get it"), found("there", signed_in=True)]
    head, _demo, absent, there, _, title, advice = table_of(rows, 80)
    assert head.split() == ["AGENT", "INSTALLED", "VERSION", "SIGNED", "IN"]
    assert absent.split() == ["absent", "no", "-", "unknown"]
    assert there.split() == ["there", "yes", "1.2.3", "yes"]
    assert (title, advice.split()) == ("To install them, or to sign in:", ["absent", "get", "it"])


def test_a_long_version_is_cut_and_nothing_can_move_the_cursor() -> None:
    _, _demo, row = table_of([found("one", "2026.10.01-0123456789\x1b[2J")], 80)
    assert "2026.10.01-0123…" in row
    assert "\x1b" not in row


def test_who_has_to_sign_in_without_a_known_command_is_led_to_the_host() -> None:
    *_, advice = table_of([found("one", signed_in=False)], 80)
    assert advice == "  one  sign in: serai agents signin one"
