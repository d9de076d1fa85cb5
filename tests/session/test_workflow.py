"""Workflow files: what is read, what is wrong with them and where."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st

from requirements import proves
from serai.errors import DocumentInvalid
from serai.session.agent_file import FsScopeTier, Known, Narrowing, narrow, read_agent
from serai.session.diagram import as_svg
from serai.session.workflow import (
    NodeType,
    Workflow,
    chain,
    read_workflow,
    serialize,
)
from serai.session.yaml import dump, load

FILE = """\
schema_version: 1
workflow:
  id: review
  name: A review
nodes:
  - id: input
    type: input
  - id: look
    type: agent
    agent_ref: reviewer
    prompt_template: "Look at {{input}} for {{ctx.who}}"
    tools: [read_file]
  - id: sum-up
    type: agent
    agent_ref: writer
    prompt_template: "Sum up: {{look.output}}"
  - id: output
    type: output
edges:
  - {from: input, to: look}
  - {from: look, to: sum-up}
  - {from: sum-up, to: output}
agents:
  - slug: reviewer
    model: local:small
    tools: [read_file]
metadata:
  any: [thing, 1]
"""
KNOWN = Known({"read_file", "edit_file"}.__contains__, {"local:small"}.__contains__, {"writer"}.__contains__)


def read(text: str, known: Known = KNOWN) -> Workflow:
    return read_workflow(load(text.encode(), "w.yaml"), known)


def test_a_workflow_is_read_and_its_nodes_follow_each_other() -> None:
    workflow = read(FILE)
    assert [node.id for node in chain(workflow)] == ["input", "look", "sum-up", "output"]
    assert workflow.nodes[1].type is NodeType.AGENT
    assert workflow.metadata == {"any": ["thing", 1]}
    assert read(serialize(workflow)) == workflow
    assert serialize(read(serialize(workflow))) == serialize(workflow)


@pytest.mark.parametrize(
    ("old", "new", "at", "what"),
    [
        ("schema_version: 1", "schema_version: 2", "schema_version", "schema_version: "),
        ("id: review", "id: A review", "id: A review", "workflow.id: "),
        ("    tools: [read_file]\n  - id", "    temperature: 1\n  - id", "temperature", "unknown field"),
        ("- id: sum-up", "- id: look", "- id: look\n    type: agent\n    agent_ref: writer", "already"),
        ("    type: output", "    type: input", "type: input # 2", "input node already"),
        ("to: output", "to: nowhere", "to: nowhere", "no node 'nowhere'"),
        ("from: look, to: sum-up", "from: look, to: look", "to: look}\n  - {from: sum", "one line"),
        ("from: look", "from: input", "from: input, to: sum-up", "one line"),
        ("  - {from: look, to: sum-up}\n", "", "- id: sum-up", "it ends at 'look'"),
        ("agent_ref: writer", "agent_ref: poet", "poet", "no agent 'poet'"),
        ("    agent_ref: writer\n", "", "- id: sum-up", "agent_ref: is required"),
        ("type: input", "type: input\n    agent_ref: writer", "- id: input", "only an agent"),
        (
            "    tools: [read_file]\n  - id",
            "    tools:\n    - edit_file\n  - id",
            "- edit_file",
            "does not have",
        ),
        ("agent_ref: writer", "agent_ref: writer\n    tools: [fly]", "tools: [fly]", "no tool 'fly'"),
        ("model: local:small", "model: local:large", "local:large", "no model"),
        ("look.output", "sum-up.output", "sum-up.output", "not known yet"),
        ("look.output", "what", "{{what}}", "no reference"),
        ("agents:\n", "agents:\n  - slug: reviewer\n", "- slug: reviewer\n    model", "already"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, at: str, what: str) -> None:
    assert old in FILE
    text = FILE.replace(old, new, 1)
    if at.endswith("# 2"):
        line = text.count("\n", 0, text.rindex("type: input")) + 1
    else:
        line = text.count("\n", 0, text.index(at)) + 1
    with pytest.raises(DocumentInvalid) as caught:
        read(text)
    assert caught.value.message.startswith(f"w.yaml:{line}: ")
    assert what in caught.value.message


def test_without_someone_who_knows_names_are_taken_as_they_are() -> None:
    text = FILE.replace("writer", "poet").replace("read_file", "fly").replace("local:small", "far:away")
    assert read(text, Known())


@proves("session:SessionContext/same-tiers-as-workflows")
@pytest.mark.parametrize("tier", list(FsScopeTier))
def test_an_agent_in_a_workflow_is_what_it_is_in_a_file_of_its_own(tier: FsScopeTier) -> None:
    own = f"slug: reviewer\nfs_scope: {tier.value}\nallowed_commands: [git log *]\n"
    agent = read_agent(load(own.encode(), "a.agent.yaml"))
    lines = f"slug: reviewer\n    fs_scope: {tier.value}\n    allowed_commands: [git log *]"
    assert read(
        FILE.replace("slug: reviewer", lines).replace("    model: local:small\n    tools: [read_file]\n", "")
    ).agents == (agent,)
    narrower = narrow(
        agent, Narrowing(fs_scope_tier=FsScopeTier.SANDBOXED, allowed_commands=("git log x",)), lambda _: True
    )
    assert narrower.fs_scope is FsScopeTier.SANDBOXED


IDS = st.sampled_from(["a", "b", "input", "output"])


@given(st.lists(st.tuples(IDS, IDS), max_size=5), st.permutations(["a", "b", "input", "output"]))
def test_only_one_line_through_all_nodes_is_taken(edges: list[tuple[str, str]], order: list[str]) -> None:
    nodes = [
        {"id": name, "type": name}
        if name in {"input", "output"}
        else {"id": name, "type": "agent", "agent_ref": "x"}
        for name in order
    ]
    file = {
        "schema_version": 1,
        "workflow": {"id": "w", "name": "w"},
        "nodes": nodes,
        "edges": [{"from": one, "to": other} for one, other in edges],
    }
    lines = [[("input", one), (one, other), (other, "output")] for one, other in (("a", "b"), ("b", "a"))]
    try:
        workflow = read(dump(file), Known())
    except DocumentInvalid:
        assert sorted(edges) not in [sorted(line) for line in lines]
    else:
        assert sorted(edges) in [sorted(line) for line in lines]
        assert len(chain(workflow)) == 4


@given(st.text())
def test_an_svg_is_xml_whatever_the_prompts_say(text: str) -> None:
    workflow = read(FILE.replace('"Look at {{input}} for {{ctx.who}}"', dump(text.replace("{", "<")).strip()))
    root = ET.fromstring(as_svg(workflow))  # noqa: S314 - we wrote it
    heads = [it.text for it in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [it for it in heads if it in {"input", "output", "look · reviewer"}] == [
        "input",
        "look · reviewer",
        "output",
    ]
