"""Commands about sessions: making, ending and listing them, their turns and their settings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from serai import jsonrpc
from serai.ahp import commands as c
from serai.ahp.channels import ChannelKind, kind_of, problem_with_choice
from serai.errors import InvalidParams
from serai.host.agents import Learning
from serai.host.creating import resolved_config
from serai.host.project import problem_with_folder
from serai.journal.sessions import ADDITIONAL_DIRECTORIES, folders_in
from serai.serve.ahp.following import unknown
from serai.uris import uri_of

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

__all__ = [
    "authenticate",
    "complete_config",
    "create",
    "dispose",
    "fetch_turns",
    "list_sessions",
    "resolve_config",
]

_MAX_TURNS = 200


def list_sessions(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """All sessions, the last modified one first."""
    peer.respond(request, c.ListSessionsResult(items=peer.host.sessions.summaries()))


async def create(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Make a session under the URI that the client chose."""
    params: c.CreateSessionParams = request.params
    if kind_of(params.channel) is not ChannelKind.SESSION:
        raise InvalidParams("a session's URI begins with ahp-session:/", field="params.channel")
    if problem := problem_with_choice(params.channel):
        raise InvalidParams(f"a session's URI {problem}", field="params.channel")
    await _check_folders(params)
    if not peer.host.clients.is_connected(peer.client_id):
        params = replace(params, active_client=None)  # nobody would hear any more that it is the active one
    await peer.host.create(params, peer.client_id)
    peer.respond(request)


async def _check_folders(params: c.CreateSessionParams | c.ResolveSessionConfigParams) -> None:
    """See that a client has named no folder that cannot be. One that is not there yet may come.

    Raises:
        InvalidParams: It cannot be.
    """
    if params.working_directory is not None:
        problem = await asyncio.to_thread(problem_with_folder, params.working_directory, may_be_missing=True)
        if problem is not None:
            raise InvalidParams(problem, field="params.workingDirectory")
    more = folders_in(params.config or {})
    problem = await asyncio.to_thread(_problem_with_folders, more) if more else None
    if problem is not None:
        field = f"params.config.{ADDITIONAL_DIRECTORIES}"
        raise InvalidParams(f"config.{ADDITIONAL_DIRECTORIES}: {problem}", field=field)


def _problem_with_folders(folders: list[str]) -> str | None:
    """The same for several, which may be paths as well."""
    for folder in folders:
        uri = uri_of(folder) if folder.startswith("/") else folder
        if problem := problem_with_folder(uri, may_be_missing=True):
            return f"{folder[:200]!a}: {problem}"
    return None


async def dispose(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """End a session."""
    await peer.host.dispose(request.params.channel)
    peer.respond(request)


async def fetch_turns(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """A page of a session's turns, oldest first."""
    params: c.FetchTurnsParams = request.params
    session = await peer.host.sessions.bring(params.channel)
    if session is None:
        raise unknown(params.channel)
    turns = session.live.head.turns
    end = len(turns)
    if params.before is not None:
        place = session.kept.turn_at(params.before)
        if place is None:
            raise InvalidParams(f"there is no turn {params.before!r}", field="params.before")
        end = place
    limit = _MAX_TURNS if params.limit is None else params.limit
    if limit < 1:
        raise InvalidParams("must be at least 1", field="params.limit")
    start = max(0, end - min(limit, _MAX_TURNS))
    peer.respond(request, c.FetchTurnsResult(turns=turns[start:end], has_more=start > 0))


async def resolve_config(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Which settings a session has, and which values with those given. An agent may have to be asked."""
    params: c.ResolveSessionConfigParams = request.params
    host = peer.host
    await _check_folders(params)
    provider = params.provider or await host.sessions.provider_for(params.working_directory)
    harness = await host.sought(provider)
    if isinstance(harness, Learning):
        await harness.learn()
    config = resolved_config(harness, params.config or {})
    result = c.ResolveSessionConfigResult(schema=harness.schema, values=config.values if config else {})
    peer.respond(request, result)


async def complete_config(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """The values of a setting that contain what was typed."""
    params: c.SessionConfigCompletionsParams = request.params
    host = peer.host
    await _check_folders(params)
    harness = host.harness(params.provider or await host.sessions.provider_for(params.working_directory))
    known = harness.schema.properties.get(params.property)
    if known is None:
        raise InvalidParams(f"there is no setting {params.property!r}", field="params.property")
    query = (params.query or "").casefold()
    labels = known.enum_labels or known.enum or []
    items = [
        c.SessionConfigValueItem(value=value, label=label)
        for value, label in zip(known.enum or [], labels, strict=False)
        if query in value.casefold() or query in label.casefold()
    ]
    peer.respond(request, c.SessionConfigCompletionsResult(items=items))


def authenticate(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Take a token for a protected resource of an agent."""
    del peer
    raise InvalidParams(
        f"no agent of this host has a protected resource {request.params.resource!r}",
        field="params.resource",
    )
