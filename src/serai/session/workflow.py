"""Workflows: agents that work one after the other. They are read from files, or made of sessions.

    input ─→ agent ─→ … ─→ agent ─→ output

A file has `schema_version`, `workflow`, `nodes`, `edges`, and perhaps `agents` and `metadata`. Other fields
are errors, because a misspelt one would otherwise be ignored.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, field

from serai.contract.record import to_wire
from serai.errors import Mismatch
from serai.session import yaml
from serai.session.agent_file import AgentFile, Known, Problem, agent_problems, covers
from serai.session.messages import AgentSessionRecord, SessionMessage
from serai.session.transcript import LogicalTurn, logical_turns
from serai.session.yaml import Document

_NO_TITLE = "exported-session"
_NOT_IN_AN_ID = re.compile(r"[^a-z0-9]+")

KebabId: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class _StrictPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of all parts of a workflow: unknown fields are errors."""


class WorkflowHead(_StrictPart, frozen=True, kw_only=True):
    """The name of a workflow."""

    id: KebabId
    name: str
    description: str = ""


class NodeType(StrEnum):
    """The purpose of a node."""

    INPUT = "input"
    AGENT = "agent"
    OUTPUT = "output"


class Node(_StrictPart, frozen=True, kw_only=True):
    """A node. All fields but `id` and `type` are for agents."""

    id: KebabId
    type: NodeType
    agent_ref: str = ""
    """The agent's slug."""
    prompt_template: str = ""
    """The agent's prompt, with references such as `{{input}}`; absent, the output of the node before it."""
    tools: tuple[str, ...] | None = None
    """The tools that the agent may use here; absent, all that it has."""


class Edge(_StrictPart, frozen=True, kw_only=True):
    """A connection from one node to the next."""

    source: str = field(name="from")
    target: str = field(name="to")


class Workflow(_StrictPart, frozen=True, kw_only=True):
    """A workflow, as its file describes it."""

    schema_version: Literal[1]
    workflow: WorkflowHead
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    agents: tuple[AgentFile, ...] = ()
    metadata: dict[str, Any] = {}


def read_workflow(document: Document, known: Known = Known()) -> Workflow:  # noqa: B008 - it never changes
    """Return the workflow of a document, checked.

    Raises:
        DocumentInvalid: It does not describe one that could run, or names what is not known.
    """
    workflow = document.read(Workflow)
    for place, what in problems(workflow, known):
        raise document.error(what, *place)
    return workflow


def serialize(workflow: Workflow) -> str:
    """Return the text of a workflow's file: the same text for the same workflow."""
    return yaml.dump(msgspec.to_builtins(workflow))


def chain(workflow: Workflow) -> list[Node]:
    """Return the nodes from the input to the output. No node has two edges to it, or from it."""
    nodes = {node.id: node for node in workflow.nodes}
    following = {edge.source: edge.target for edge in workflow.edges}
    here = next(node for node in workflow.nodes if node.type is NodeType.INPUT)
    found = [here]
    while here.id in following:
        here = nodes[following[here.id]]
        found.append(here)
    return found


# -- references in prompts ---------------------------------------------------------------------------------

# These are `{{input}}`, `{{ctx.name}}` and `{{turn-1.output}}`. Text that only looks like one is neutralised:
# each opener gets one space more between its braces, and rendering takes one away: it comes back.

_OPENER = re.compile(r"\{(?= *\{)")
# A reference; an opener that was neutralised; an opener that is neither.
_TOKEN = re.compile(r"\{\{ *(input|ctx\.[\w-]+|[a-z0-9-]+\.output) *\}\}|\{ (?= *\{)|\{\{")


def neutralise(text: str) -> str:
    """Return text in which nothing is a reference, and which renders as the original text."""
    return _OPENER.sub("{ ", text)


def references(template: str) -> Iterator[str]:
    """Yield the names of a template's references, in order: `input`, `ctx.name`, `turn-1.output`.

    Raises:
        Mismatch: Something opens like a reference and is none.
    """
    for token in _TOKEN.finditer(template):
        if token[1]:
            yield token[1]
        elif token[0] == "{{":
            raise Mismatch(
                f"{template[token.start() : token.start() + 24]!r} is no reference; those are {{{{input}}}}, "
                "{{ctx.name}} and {{turn-1.output}}, and other braces have a space between them",
                field="",
            )


def render(template: str, values: Mapping[str, str]) -> str:
    """Return a template with the values of its references. Values are inserted as they are.

    Raises:
        Mismatch: A reference has no value, or is none.
    """
    missing = [name for name in references(template) if name not in values]
    if missing:
        raise Mismatch(f"{{{{{missing[0]}}}}} has no value", field="")
    return _TOKEN.sub(lambda token: values[token[1]] if token[1] else "{", template)


# -- problems of a workflow --------------------------------------------------------------------------------


def problems(workflow: Workflow, known: Known) -> Iterator[Problem]:
    """Yield the problems of a workflow that has the right shape. Later ones may follow from the first."""
    yield from _wrong_ids(workflow)
    yield from _wrong_edges(workflow)
    yield from _wrong_agents(workflow, known)
    yield from _wrong_nodes(workflow, known)


def _wrong_ids(workflow: Workflow) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, node in enumerate(workflow.nodes):
        if node.id in seen:
            yield ("nodes", number, "id"), f"there is a node {node.id!r} already"
        seen.add(node.id)
    for kind in (NodeType.INPUT, NodeType.OUTPUT):
        places = [number for number, node in enumerate(workflow.nodes) if node.type is kind]
        if not places:
            yield ("nodes",), f"there is no {kind.value} node"
        elif len(places) > 1:
            yield ("nodes", places[1], "type"), f"there is an {kind.value} node already; there may be one"


def _wrong_edges(workflow: Workflow) -> Iterator[Problem]:
    """Yield branches, joins, cycles and unconnected nodes: so far a workflow is one line."""
    types = {node.id: node.type for node in workflow.nodes}
    left: set[str] = set()
    entered: set[str] = set()
    for number, edge in enumerate(workflow.edges):
        for end, name in (("from", edge.source), ("to", edge.target)):
            if name not in types:
                yield ("edges", number, end), f"there is no node {name!r}"
        if edge.source in left or types[edge.source] is NodeType.OUTPUT:
            yield ("edges", number), f"{edge.source!r} leads nowhere else: a workflow is one line"
        if edge.target in entered or types[edge.target] is NodeType.INPUT:
            yield ("edges", number), f"nothing else leads to {edge.target!r}: a workflow is one line"
        left.add(edge.source)
        entered.add(edge.target)
    line = [node.id for node in chain(workflow)]
    for number, node in enumerate(workflow.nodes):
        if node.id not in line:
            yield ("nodes", number), f"no way leads from the input to {node.id!r}: it ends at {line[-1]!r}"


def _wrong_agents(workflow: Workflow, known: Known) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, agent in enumerate(workflow.agents):
        if agent.slug in seen:
            yield ("agents", number, "slug"), f"there is an agent {agent.slug!r} already"
        seen.add(agent.slug)
        yield from ((("agents", number, *place), what) for place, what in agent_problems(agent, known))


def _wrong_nodes(workflow: Workflow, known: Known) -> Iterator[Problem]:
    places = {node.id: ("nodes", number) for number, node in enumerate(workflow.nodes)}
    agents = {agent.slug: agent for agent in workflow.agents}
    before: set[str] = {"input"}
    for node in chain(workflow):
        place = places[node.id]
        if node.type is NodeType.AGENT:
            yield from _wrong_agent_node(node, place, agents, known)
            yield from _wrong_references(node, place, before)
            before.add(f"{node.id}.output")
        elif node.agent_ref or node.prompt_template or node.tools is not None:
            yield place, f"only an agent has agent_ref, prompt_template and tools; {node.id!r} is none"


def _wrong_agent_node(
    node: Node, place: tuple[str, int], agents: Mapping[str, AgentFile], known: Known
) -> Iterator[Problem]:
    agent = agents.get(node.agent_ref)
    if not node.agent_ref:
        yield place, f"agent_ref: is required, to say which agent {node.id!r} is"
    elif agent is None and not known.agents(node.agent_ref):
        yield (*place, "agent_ref"), f"there is no agent {node.agent_ref!r}"
    for number, tool in enumerate(node.tools or ()):
        if agent is not None and agent.tools is not None:
            if not any(covers(name, tool) for name in agent.tools):
                yield (*place, "tools", number), f"the agent {agent.slug!r} does not have the tool {tool!r}"
        elif not known.tools(tool):
            yield (*place, "tools", number), f"there is no tool {tool!r}"


def _wrong_references(node: Node, place: tuple[str, int], before: set[str]) -> Iterator[Problem]:
    try:
        for name in references(node.prompt_template):
            if name not in before and not name.startswith("ctx."):
                yield (*place, "prompt_template"), f"{{{{{name}}}}} is not known yet at {node.id!r}"
    except Mismatch as error:
        yield (*place, "prompt_template"), error.problem


# -- a workflow made of a session ------------------------------------------------------------------------


def workflow_of(
    session: AgentSessionRecord,
    messages: Sequence[SessionMessage],
    *,
    truncated: Container[int] = frozenset[int](),
) -> Workflow:
    """Return a session as a workflow: each completed turn a step, and the whole transcript beside them.

    It is a scaffold for a person to look through. The same session gives the same text at any time.

    Args:
        session: The session.
        messages: All its messages, by ascending `sequence_number`.
        truncated: The `sequence_number`s of truncated messages: they are no step, but stay in the transcript.
    """
    turns = [turn for turn in logical_turns(messages, truncated=truncated) if turn.is_completed]
    steps = [_step(f"turn-{number}", session.agent_slug, turn) for number, turn in enumerate(turns, 1)]
    nodes = (Node(id="input", type=NodeType.INPUT), *steps, Node(id="output", type=NodeType.OUTPUT))
    return Workflow(
        schema_version=1,
        workflow=WorkflowHead(id=workflow_id(session.title or ""), name=session.title or _NO_TITLE),
        nodes=nodes,
        edges=tuple(Edge(source=one.id, target=other.id) for one, other in pairwise(nodes)),
        agents=() if session.agent_snapshot is None else (session.agent_snapshot,),
        metadata={"relaviumExport": _transcript(session, messages)},
    )


def workflow_id(title: str) -> str:
    """Return a title as an id: letters and digits of ASCII, and one dash for all between them."""
    plain = title.encode("ascii", "ignore").decode().lower()
    return _NOT_IN_AN_ID.sub("-", plain).strip("-") or _NO_TITLE


def _step(name: str, agent: str, turn: LogicalTurn) -> Node:
    return Node(
        id=name,
        type=NodeType.AGENT,
        agent_ref=agent,
        prompt_template=neutralise(turn.prompt),
        tools=turn.tools or None,
    )


def _transcript(session: AgentSessionRecord, messages: Sequence[SessionMessage]) -> dict[str, Any]:
    known = to_wire(session)
    return {
        "source": "session",
        "sessionId": session.id,
        **{name: known[name] for name in ("agentSlug", "title", "createdAt", "updatedAt") if name in known},
        "messages": msgspec.json.decode(msgspec.json.encode(messages)),
    }
