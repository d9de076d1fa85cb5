"""`serai workflow`: files are checked, written in their one form, and drawn."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cli.programs import Done, run
from serai.config.paths import find_paths
from serai.config.trust import Trust
from serai.session.yaml import MAX_BYTES

FILE = """\
workflow: {name: A review, id: review}
schema_version: 1
nodes:
  - {id: input, type: input}
  - id: look
    type: agent
    agent_ref: reviewer
    prompt_template: Look at {{input}}
    tools: [read_file]
  - {id: sum-up, type: agent, agent_ref: writer}
  - {id: output, type: output}
edges:
  - {from: input, to: look}
  - {from: look, to: sum-up}
  - {from: sum-up, to: output}
agents:
  - slug: reviewer
    model: local:small
"""
SETTINGS = '[models.local]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\nids = ["small"]\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A home with a model, and a project with an agent and a workflow."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "serai.toml").write_text(SETTINGS)
    agents = tmp_path / "project" / ".serai" / "agents"
    agents.mkdir(parents=True)
    (agents / "writer.agent.yaml").write_text("slug: writer\nmodel: local:small\n")
    (tmp_path / "project" / "w.yaml").write_text(FILE)
    Trust(find_paths(tmp_path / "home", {}).trust).trust(tmp_path / "project")
    return tmp_path


async def workflow(place: Path, *words: str) -> Done:
    return await run("workflow", *words, home=place / "home", cwd=place / "project")


async def test_a_workflow_that_can_run_is_told_to_be_so(place: Path) -> None:
    assert await workflow(place, "check", "w.yaml") == Done(0, "w.yaml: review can run: 2 steps\n", "")


async def test_agents_of_the_person_are_known_in_every_project(place: Path) -> None:
    (place / "project" / ".serai" / "agents").rename(place / "home" / "agents")
    assert (await workflow(place, "check", "w.yaml")).code == 0


async def test_agents_of_a_folder_that_is_not_trusted_are_not_known(place: Path) -> None:
    Trust(find_paths(place / "home", {}).trust).distrust(place / "project")
    done = await workflow(place, "check", "w.yaml")
    assert done.err == "serai: w.yaml:10: there is no agent 'writer' [document_invalid]\n"


async def test_a_file_is_written_in_its_one_form_and_then_stays(place: Path) -> None:
    file = place / "project" / "w.yaml"
    file.chmod(0o640)
    assert await workflow(place, "fmt", "w.yaml") == Done(0, "", "")
    written = file.read_text()
    assert written.startswith(
        'agents:\n  - model: "local:small"\n    slug: reviewer\nedges:\n  - from: input\n'
    )
    assert file.stat().st_mode & 0o777 == 0o640
    before = file.stat()
    assert (await workflow(place, "fmt", "w.yaml")).code == 0
    assert (file.read_text(), file.stat().st_ino) == (written, before.st_ino)
    assert (await workflow(place, "check", "w.yaml")).code == 0


async def test_a_file_behind_a_link_is_written_where_it_is(place: Path) -> None:
    (place / "project" / "link.yaml").symlink_to("w.yaml")
    assert (await workflow(place, "fmt", "link.yaml")).code == 0
    assert (place / "project" / "link.yaml").is_symlink()
    assert (place / "project" / "w.yaml").read_text().startswith("agents:")


async def test_no_link_that_lies_beside_a_file_leads_what_is_written_elsewhere(place: Path) -> None:
    precious = place / "precious"
    precious.write_text("mine")
    before = set((place / "project").iterdir())
    for name in (".w.yaml.new", ".w.yaml.tmp", "w.yaml~"):
        (place / "project" / name).symlink_to(precious)
    assert (await workflow(place, "fmt", "w.yaml")).code == 0
    assert precious.read_text() == "mine"
    assert not (place / "project" / "w.yaml").is_symlink()
    assert before <= set((place / "project").iterdir())


async def test_a_comment_is_not_lost(place: Path) -> None:
    file = place / "project" / "w.yaml"
    file.write_text(FILE.replace("nodes:", "# The steps:\nnodes:"))
    done = await workflow(place, "fmt", "w.yaml")
    assert done.code == 1
    assert done.err.startswith("serai: w.yaml:3: this comment would be lost")
    assert file.read_text().startswith("workflow:")
    assert (await workflow(place, "check", "w.yaml")).code == 0


async def test_a_workflow_is_drawn_as_text_and_as_svg(place: Path) -> None:
    done = await workflow(place, "show", "w.yaml")
    assert done.out.splitlines()[0] == "review: A review"
    assert "look · reviewer\n  Look at {{input}}\n  tools: read_file\n  ↓\n" in done.out
    assert await workflow(place, "show", "w.yaml", "-o", "w.svg") == Done(0, "", "")
    root = ET.fromstring((place / "project" / "w.svg").read_text())  # noqa: S314 - we wrote it
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"
COMMANDS = [["check", "w.yaml"], ["fmt", "w.yaml"], ["show", "w.yaml", "-o", "w.svg"]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(BOMB, 1, id="alias bomb"),
        pytest.param(FILE + "metadata: *a\n", 19, id="alias"),
        pytest.param(FILE + "agents: []\n", 19, id="duplicate key"),
        pytest.param(FILE.replace("edges:\n", "edges:\n  - [a]\n"), 13, id="wrong type"),
        pytest.param(FILE.replace("schema_version: 1", "schema_version: one"), 2, id="wrong version"),
        pytest.param(FILE.replace("to: output", "to: look"), 15, id="cycle"),
        pytest.param(FILE.replace("from: look", "from: gone"), 14, id="dangling edge"),
        pytest.param(FILE + "metadata: " + "x" * MAX_BYTES, 1, id="over 16 MiB"),
        pytest.param("\x1b]0;title\x07: 1\n", 1, id="control characters"),
    ],
)
async def test_a_bad_file_is_told_with_its_line(place: Path, text: str, line: int) -> None:
    await is_told(place, COMMANDS[0], text, line)


@pytest.mark.parametrize("words", COMMANDS[1:], ids=lambda words: words[0])
async def test_of_a_bad_file_nothing_is_written(place: Path, words: list[str]) -> None:
    await is_told(place, words, BOMB, 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(FILE.replace("tools: [read_file]", "tools: [fly]"), 9, id="tool"),
        pytest.param(FILE.replace("local:small", "local:large"), 18, id="model"),
        pytest.param(FILE.replace("local:small", "far:small"), 18, id="server of models"),
        pytest.param(FILE.replace("ref: writer", "ref: poet"), 10, id="agent"),
    ],
)
async def test_what_is_unknown_is_told_with_its_line(place: Path, text: str, line: int) -> None:
    await is_told(place, ["check", "w.yaml"], text, line)


async def is_told(place: Path, words: list[str], text: str, line: int) -> None:
    file = place / "project" / "w.yaml"
    file.write_text(text)
    before = set(file.parent.iterdir())
    done = await workflow(place, *words)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"serai: w.yaml:{line}: ")
    assert done.err.endswith(" [document_invalid]\n")
    assert done.err.count("\n") == 1
    assert "\x1b" not in done.err
    assert file.read_text() == text
    assert set(file.parent.iterdir()) == before


async def test_a_file_that_is_not_there_is_named(place: Path) -> None:
    (place / "project" / "w.yaml").unlink()
    done = await workflow(place, "check", "w.yaml")
    assert (done.code, done.out) == (1, "")
    assert done.err == "serai: w.yaml cannot be read: No such file or directory [file_unreadable]\n"


async def test_an_agent_file_that_is_wrong_is_told_with_its_line(place: Path) -> None:
    (place / "project" / ".serai" / "agents" / "writer.agent.yaml").write_text("slug: writer\nmodell: x\n")
    done = await workflow(place, "check", "w.yaml")
    assert done.code == 1
    assert "writer.agent.yaml:2: " in done.err
