"""The commands of clients: the function that serves each, and most of these functions.

A function returns the result of its command, or raises the error for the client. Larger ones are in
`handshake`, `subscriptions` and `resources`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from serai import jsonrpc
from serai.ahp import commands as c
from serai.ahp.channels import ChannelKind, kind_of, problem_with_choice
from serai.ahp.extensions import AGENTS, INSTALL_AGENT, SIGN_IN, SIGN_IN_METHODS
from serai.errors import InvalidParams
from serai.host.agents import LimitedHarness
from serai.host.host import Host
from serai.host.session.creation import resolved_config
from serai.host.session.session import Session
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, folders_in, problem_with_folder
from serai.machine import files
from serai.serve.ahp import handshake, resources, subscriptions
from serai.serve.ahp.resources import serving
from serai.serve.ahp.subscriptions import unknown
from serai.uris import uri_of

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer
    from serai.serve.websocket import WebSocket

_Serve: TypeAlias = "Callable[[AhpPeer, jsonrpc.Request], Any]"

_MAX_TURNS = 200


def list_sessions(peer: AhpPeer, request: jsonrpc.Request) -> c.ListSessionsResult:
    """List all sessions, the last modified first; with the filter `{"kind": "run"}` all workflow runs."""
    params: c.ListSessionsParams = request.params
    runs = (params.filter or {}).get("kind") == "run"
    return c.ListSessionsResult(items=peer.host.sessions.summaries(runs=runs))


async def create(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Make a session under the URI that the client chose."""
    params: c.CreateSessionParams = request.params
    _check_kind(params.channel, ChannelKind.SESSION)
    if problem := problem_with_choice(params.channel):
        raise InvalidParams(f"a session's URI {problem}", field="params.channel")
    await _check_folders(params)
    if not peer.host.clients.is_connected(peer.client_id):
        params = replace(params, active_client=None)  # a client that is gone cannot be the active one
    await peer.host.create(params, peer.client_id)


def _check_kind(channel: str, kind: ChannelKind) -> None:
    if kind_of(channel) is not kind:
        name = kind.value.removeprefix("ahp-")
        raise InvalidParams(f"a {name}'s URI begins with {kind.value}:/", field="params.channel")


async def _check_folders(params: c.CreateSessionParams | c.ResolveSessionConfigParams) -> None:
    """Check the folders that a client has named. A folder that does not exist yet is accepted.

    Raises:
        InvalidParams: One of them cannot be a folder.
    """
    if params.working_directory is not None:
        problem = await asyncio.to_thread(problem_with_folder, params.working_directory, may_be_missing=True)
        if problem is not None:
            raise InvalidParams(problem, field="params.workingDirectory")
    for folder in folders_in(params.config or {}):
        uri = uri_of(folder) if folder.startswith("/") else folder
        problem = await asyncio.to_thread(problem_with_folder, uri, may_be_missing=True)
        if problem is not None:
            field = f"config.{ADDITIONAL_DIRECTORIES}"
            raise InvalidParams(f"{field}: {folder[:200]!a}: {problem}", field=f"params.{field}")


async def _session(peer: AhpPeer, channel: str) -> Session:
    session = await peer.host.sessions.bring(channel)
    if session is None:
        raise unknown(channel)
    return session


async def dispose(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """End a session."""
    await peer.host.dispose(request.params.channel)


async def fetch_turns(peer: AhpPeer, request: jsonrpc.Request) -> c.FetchTurnsResult:
    """Return a page of a session's turns, oldest first."""
    params: c.FetchTurnsParams = request.params
    session = await _session(peer, params.channel)
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
    return c.FetchTurnsResult(turns=turns[start:end], has_more=start > 0)


async def resolve_config(peer: AhpPeer, request: jsonrpc.Request) -> c.ResolveSessionConfigResult:
    """Return the settings that a session would have, with their values. May have to ask the agent."""
    params: c.ResolveSessionConfigParams = request.params
    host = peer.host
    await _check_folders(params)
    provider = params.provider or await host.provider_for(params.working_directory)
    harness = await host.agent_list.find(provider)
    if isinstance(harness, LimitedHarness):
        await harness.learn()
    config = resolved_config(harness, params.config or {})
    return c.ResolveSessionConfigResult(schema=harness.schema, values=config.values if config else {})


async def complete_config(peer: AhpPeer, request: jsonrpc.Request) -> c.SessionConfigCompletionsResult:
    """Return the values of a setting that contain what was typed."""
    params: c.SessionConfigCompletionsParams = request.params
    host = peer.host
    await _check_folders(params)
    harness = await host.agent_list.find(params.provider or await host.provider_for(params.working_directory))
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
    return c.SessionConfigCompletionsResult(items=items)


def authenticate(_peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Refuse a token for a protected resource: no agent has one."""
    problem = f"no agent of this host has a protected resource {request.params.resource!r}"
    raise InvalidParams(problem, field="params.resource")


async def invoke_operation(peer: AhpPeer, request: jsonrpc.Request) -> Any:
    """Run an operation of a changeset: stage, discard, open."""
    params: c.InvokeChangesetOperationParams = request.params
    _check_kind(params.channel, ChannelKind.CHANGESET)
    return await peer.host.changesets.invoke(params.channel, params.operation_id, params.target)


async def complete(peer: AhpPeer, request: jsonrpc.Request) -> c.CompletionsResult:
    """Return completions for the place of the cursor."""
    params: c.CompletionsParams = request.params
    if params.kind != c.CompletionItemKind.USER_MESSAGE:
        raise InvalidParams(f"there are no completions of kind {params.kind!r}", field="params.kind")
    session = await _session(peer, params.channel)
    completions = peer.host.completions
    found = await completions.complete(session, session.prompts, params.text, params.offset)
    return c.CompletionsResult(items=found)


async def create_terminal(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Start a shell in a terminal under the URI that the client chose."""
    _check_kind(request.params.channel, ChannelKind.TERMINAL)
    await peer.host.terminals.create(request.params, peer.client_id)


class ServedCommand(NamedTuple):
    """The function of a command, and the rules for serving it."""

    serve: _Serve
    """Returns the result, or a coroutine that does. An error that it raises is the answer, too."""
    alongside: bool = False
    """True when later messages need not wait for it: it may take long, and nothing depends on it."""
    only_asks: bool = False
    """True when it changes nothing, so that it may be refused at any time until it is answered."""
    for_responders: bool = False
    """True when devices that only read and answer may use it. Their actions are checked in `actions`."""
    is_first: bool = False
    """True when it may come before the handshake, or is the handshake."""
    answers_itself: bool = False
    """True when its function sends the answer."""


def _first(serve: _Serve) -> ServedCommand:
    return ServedCommand(serve, for_responders=True, is_first=True, answers_itself=True)


def _errand(serve: _Serve) -> ServedCommand:
    return ServedCommand(serve, alongside=True)


def _question(serve: _Serve, *, in_line: bool = False, answers_itself: bool = False) -> ServedCommand:
    return ServedCommand(
        serve, alongside=not in_line, only_asks=True, for_responders=True, answers_itself=answers_itself
    )


COMMANDS: dict[str, ServedCommand] = {
    "ping": _first(handshake.ping),
    "initialize": _first(handshake.initialize),
    "reconnect": _first(handshake.reconnect),
    "subscribe": _question(subscriptions.subscribe, in_line=True, answers_itself=True),
    "listSessions": _question(list_sessions, in_line=True),
    "createSession": ServedCommand(create),
    "disposeSession": ServedCommand(dispose),
    "fetchTurns": _question(fetch_turns, in_line=True),
    "resolveSessionConfig": ServedCommand(resolve_config, alongside=True, only_asks=True),
    "sessionConfigCompletions": ServedCommand(complete_config, only_asks=True),
    "authenticate": ServedCommand(authenticate),
    "completions": _question(complete),
    "createTerminal": ServedCommand(create_terminal),
    "disposeTerminal": _errand(
        lambda peer, request: peer.host.terminals.dispose(request.params.channel, peer.client_id, peer)
    ),
    "invokeChangesetOperation": _errand(invoke_operation),
    "resourceRead": _question(resources.read, answers_itself=True),
    "resourceWrite": _errand(serving(files.write)),
    "resourceList": _question(serving(files.list_directory)),
    "resourceCopy": _errand(serving(files.copy)),
    "resourceMove": _errand(serving(files.move)),
    "resourceDelete": _errand(serving(files.delete)),
    "resourceResolve": _question(serving(files.resolve)),
    "resourceMkdir": _errand(serving(files.make_directory)),
    "resourceRequest": _errand(resources.request),
    "createResourceWatch": _errand(resources.watch),
    SIGN_IN_METHODS: _question(
        lambda peer, request: peer.host.agent_list.sign_in_methods(request.params.provider)
    ),
    SIGN_IN: _errand(lambda peer, request: peer.host.agent_list.sign_in(request.params, peer.client_id)),
    AGENTS: _question(lambda peer, _request: peer.host.agent_list.list()),
    INSTALL_AGENT: _errand(
        lambda peer, request: peer.host.agent_list.install(request.params, peer.client_id)
    ),
}
"""The commands that a client may send."""


def ahp_peer(host: Host, link: WebSocket) -> AhpPeer:
    """Return a client of a host that speaks AHP over a connection."""
    from serai.serve.ahp.peer import AhpPeer  # noqa: PLC0415 - it needs this table

    return AhpPeer(host, link)
