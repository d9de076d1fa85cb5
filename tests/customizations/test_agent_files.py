"""Agents of Serai itself: how they are listed, and how one is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from customizations.conftest import Look, Write, child_names, containers, message
from serai.ahp.types import CustomizationDegradedState
from serai.customizations.agent_files import find_agent
from serai.errors import AgentUnknown, DocumentInvalid, FileUnreadable
from serai.machine.watch.events import SeenPaths

MINE = "slug: {slug}\nname: {name}\nmodel: local:small\n"


def agent(slug: str, name: str = "") -> str:
    return MINE.format(slug=slug, name=name or slug)


def test_agents_of_the_project_and_of_the_person_are_listed(
    work: Path, settings: Path, look: Look, write: Write
) -> None:
    write(work, ".serai/agents/a.agent.yaml", agent("a", "Reviewer"))
    write(settings, "agents/b.agent.yaml", agent("b"))
    write(settings, "agents/notes.yaml", "none of them")
    assert [child_names(item) for item in containers(look()).values()] == [["Reviewer"], ["b"]]


def test_an_agent_of_a_folder_that_is_not_trusted_is_listed_and_off(
    work: Path, look: Look, write: Write
) -> None:
    write(work, ".serai/agents/a.agent.yaml", agent("a"))
    write(work, ".claude/agents/b.md", "x")
    found = look(trusted=False)
    mine, other = containers(found).values()
    assert (mine.enabled, other.enabled) == (False, True)
    assert found.locked == {mine.id}
    assert "not trusted" in message(mine)


def test_a_broken_agent_is_told_with_its_line(work: Path, look: Look, write: Write) -> None:
    write(work, ".serai/agents/a.agent.yaml", agent("a"))
    write(work, ".serai/agents/b.agent.yaml", "slug: b\nlimits: many\n")
    [container] = containers(look()).values()
    assert isinstance(container.load, CustomizationDegradedState)
    assert message(container).startswith(".serai/agents/b.agent.yaml:2: ")
    assert child_names(container) == ["a"]


def test_an_agent_of_the_person_is_noticed_and_no_other_file_beside_their_settings(
    settings: Path, look: Look, write: Write
) -> None:
    look(seen=(seen := SeenPaths()))
    write(settings, "history.db", "x")
    assert seen.are_unchanged()
    write(settings, "agents/a.agent.yaml", agent("a"))
    assert not seen.are_unchanged()


# -- finding one -------------------------------------------------------------------------------------------


def test_an_agent_is_found_by_its_slug_the_project_first(work: Path, settings: Path, write: Write) -> None:
    write(work, ".serai/agents/anything.agent.yaml", agent("a", "of the project"))
    write(settings, "agents/a.agent.yaml", agent("a", "of the person"))
    assert find_agent("a", work, settings, trusted=True).name == "of the project"
    assert find_agent("a", work, settings, trusted=False).name == "of the person"
    assert find_agent("a", None, settings, trusted=False).name == "of the person"


def test_an_agent_in_a_folder_that_is_not_trusted_is_refused_also_through_a_link(
    work: Path, tmp_path: Path, write: Write
) -> None:
    file = write(work, ".serai/agents/a.agent.yaml", agent("a"))
    link = tmp_path / "link.agent.yaml"
    link.symlink_to(file)
    for named in ("a", file.as_uri(), str(link), ".serai/agents/a.agent.yaml"):
        with pytest.raises(AgentUnknown):
            find_agent(named, work, None, trusted=False)


def test_the_broken_file_of_another_agent_keeps_none_from_being_found(work: Path, write: Write) -> None:
    write(work, ".serai/agents/a.agent.yaml", "slug: [")
    write(work, ".serai/agents/b.agent.yaml", agent("b"))
    assert find_agent("b", work, None, trusted=True).slug == "b"
    with pytest.raises(DocumentInvalid):
        find_agent("a", work, None, trusted=True)


@pytest.mark.parametrize("named", ["nobody", "no/such.agent.yaml", "file:///no/such.agent.yaml", "/dev/zero"])
def test_what_is_no_agent_is_refused(work: Path, named: str) -> None:
    with pytest.raises((AgentUnknown, FileUnreadable)):
        find_agent(named, work, None, trusted=True)
