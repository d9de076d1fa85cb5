"""What was said in a session, what it has cost, and what it becomes, over HTTP below `/sessions/ID`.

- `GET …/messages`: the transcript: `{"messages": […]}`, all of it.
- `GET …/cost`: `{"spentMicrocents", "unpricedRequests", "maxCostMicrocents"?}`.
- `GET …/export`: the session as a workflow file; of a run, its workflow. With `?as=json` its nodes and edges.
- `GET …/grants`: what may run without asking; `DELETE …/grants?grant=…` takes one back.

Sessions of every kind of agent have all of them. All of it is for the owner's tokens.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from serai.ahp.channels import is_run
from serai.ahp.extensions import SESSION_COST
from serai.contract.record import decode
from serai.harness.model.runs import RunRecord
from serai.harness.model.transcript import messages_of
from serai.harness.model.turn import RAISED
from serai.host.host import Host
from serai.host.project import directory_of
from serai.host.session.session import Session
from serai.host.turn import GRANTS
from serai.serve.sessions import session_endpoint
from serai.session.ahp_turns import messages_of_turns
from serai.session.messages import AgentSessionRecord, SessionContext, SessionMessage
from serai.session.workflow import serialize, workflow_of


class Transcribed(NamedTuple):
    """A session with all that was said in it."""

    record: AgentSessionRecord
    messages: list[SessionMessage]
    truncated: frozenset[int]
    """The numbers of the messages that were taken back."""
    spent: int | None = None
    """Microcents; `None` where nobody counts them."""
    unpriced: int = 0


class TranscriptRoutes:
    """What a host answers about the transcripts of its sessions."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        endpoint = partial(session_endpoint, self._host)
        return [
            Route("/sessions/{name:path}/messages", endpoint(self._messages)),
            Route("/sessions/{name:path}/cost", endpoint(self._cost)),
            Route("/sessions/{name:path}/export", endpoint(self._export)),
            Route("/sessions/{name:path}/grants", endpoint(self._grants), methods=["GET", "DELETE"]),
        ]

    async def _messages(self, session: Session, _request: Request) -> Response:
        found = await transcribed(self._host, session)
        return Response(msgspec.json.encode({"messages": found.messages}), media_type="application/json")

    async def _cost(self, session: Session, _request: Request) -> Response:
        told: dict[str, int | None] = {"spentMicrocents": _told_by_agent(session), "unpricedRequests": 0}
        kind = "workflow_run" if is_run(session.uri) else "agent_session"
        for data, spent, unpriced in await self._host.journal.store.relay(kind, session.uri):
            told = {"spentMicrocents": spent, "unpricedRequests": unpriced}
            agent = None if is_run(session.uri) else decode(data, AgentSessionRecord).agent_snapshot
            if agent is not None and agent.budget is not None:
                told["maxCostMicrocents"] = session.seat.noted(RAISED) or agent.budget.max_cost_microcents
        return JSONResponse(told)

    async def _export(self, session: Session, request: Request) -> Response:
        if is_run(session.uri):
            ((data, *_),) = await self._host.journal.store.relay("workflow_run", session.uri)
            workflow = decode(data, RunRecord).workflow
        else:
            found = await transcribed(self._host, session)
            workflow = workflow_of(found.record, found.messages, truncated=found.truncated)
        if request.query_params.get("as") == "json":
            return Response(
                msgspec.json.encode(replace(workflow, metadata={})), media_type="application/json"
            )
        return Response(serialize(workflow), media_type="application/yaml")

    async def _grants(self, session: Session, request: Request) -> Response:
        grants: list[str] = session.seat.noted(GRANTS) or []
        if request.method == "DELETE":
            gone = request.query_params.get("grant")
            grants = [grant for grant in grants if grant != gone]
            session.core.note(GRANTS, grants or None)
            await self._host.journal.committed(patient=False)
        return JSONResponse({"grants": grants})


def _told_by_agent(session: Session) -> int | None:
    """Microcents that an agent says its session has cost; `None` where it says nothing, or no dollars."""
    state = session.live.snapshot()
    for usage in (turn.usage for turn in (state.active_turn, *reversed(state.turns)) if turn is not None):
        cost = ((usage.meta if usage else None) or {}).get(SESSION_COST)
        if cost is not None:
            return round(cost["amount"] * 1e8) if cost["currency"] == "USD" else None
    return None


async def transcribed(host: Host, session: Session) -> Transcribed:
    """What was said in a session: as its tables have it, or as its turns show it."""
    state = session.live.snapshot()
    summary = state.summary
    created, modified = (
        datetime.fromtimestamp(moment / 1000, UTC) for moment in (summary.created_at, summary.modified_at)
    )
    rows = await host.journal.store.relay("agent_session", session.uri)
    if rows:
        ((data, spent, unpriced),) = rows
        kept = messages_of(session.uri, await host.journal.store.relay("session_messages", session.uri))
        counting = {turn.id for turn in state.turns}
        if state.active_turn is not None:
            counting.add(state.active_turn.id)
        record = replace(
            decode(data, AgentSessionRecord),
            title=summary.title or None,
            created_at=created,
            updated_at=modified,
        )
        truncated = frozenset(message.sequence_number for turn, message in kept if turn not in counting)
        return Transcribed(record, [message for _, message in kept], truncated, spent, unpriced)
    record = AgentSessionRecord(
        id=session.uri,
        agent_slug=summary.provider,
        title=summary.title or None,
        context=SessionContext(working_dir=str(directory_of(summary.working_directory) or "")),
        created_at=created,
        updated_at=modified,
    )
    if is_run(session.uri):
        rows = await host.journal.store.relay("workflow_run", session.uri)
        spent, unpriced = rows[0][1:] if rows else (0, 0)
        kept = messages_of(session.uri, await host.journal.store.relay("run_messages", session.uri))
        return Transcribed(record, [message for _, message in kept], frozenset(), spent, unpriced)
    messages = messages_of_turns(session.uri, state.turns, created)
    return Transcribed(record, messages, frozenset())
