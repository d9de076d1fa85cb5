"""A session as a workflow: each completed turn a step, and the whole transcript beside them.

It is a scaffold for a person to look through. The same session gives the same text at any time.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from serai.contract.record import to_wire
from serai.session.messages import AgentSessionRecord, SessionMessage
from serai.session.transcript import LogicalTurn, logical_turns
from serai.session.workflow import Edge, Node, NodeType, Workflow, WorkflowHead, neutralise

_NO_TITLE = "exported-session"
_OTHER = re.compile(r"[^a-z0-9]+")


def export(
    session: AgentSessionRecord,
    messages: Sequence[SessionMessage],
    *,
    truncated: Container[int] = frozenset[int](),
) -> Workflow:
    """The workflow of a session. `serai.session.workflow.serialize` writes it.

    Args:
        session: The session.
        messages: All its messages, by ascending `sequence_number`.
        truncated: The `sequence_number`s of what was taken back: no step, but kept in the transcript.
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
    """A title as an id: what is not ASCII is left out, and all between letters and digits is one dash."""
    plain = title.encode("ascii", "ignore").decode().lower()
    return _OTHER.sub("-", plain).strip("-") or _NO_TITLE


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
