"""The commands of clients: which function serves which, and most of these functions.

What needs more room has files of its own: `handshake`, `subscriptions`, `actions`, `resources`.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from serai import jsonrpc
from serai.ahp import commands as c
from serai.ahp.channels import ChannelKind, kind_of, problem_with_choice
from serai.ahp.extensions import (
    AGENTS,
    INSTALL_AGENT,
    SIGN_IN,
    SIGN_IN_METHODS,
    InstallAgentParams,
    SignInMethodsParams,
    SignInParams,
)
from serai.errors import InvalidParams
from serai.host.agents import LimitedHarness
from serai.host.host import Host
from serai.host.session.creation import resolved_config
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, folders_in, problem_with_folder
from serai.serve.ahp import handshake, resources, subscriptions
from serai.serve.ahp.actions import dispatched, unreadable
from serai.serve.ahp.peer import AhpPeer, Command, Service
from serai.serve.ahp.subscriptions import unknown
from serai.serve.websocket import WebSocket
from serai.uris import uri_of

_MAX_TURNS = 200


def list_sessions(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """All sessions, the last modified one first; with the filter `{"kind": "run"}` all workflow runs."""
    params: c.ListSessionsParams = request.params
    runs = (params.filter or {}).get("kind") == "run"
    peer.respond(request, c.ListSessionsResult(items=peer.host.sessions.summaries(runs=runs)))


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
    provider = params.provider or await host.provider_for(params.working_directory)
    harness = await host.agent_list.find(provider)
    if isinstance(harness, LimitedHarness):
        await harness.learn()
    config = resolved_config(harness, params.config or {})
    result = c.ResolveSessionConfigResult(schema=harness.schema, values=config.values if config else {})
    peer.respond(request, result)


async def complete_config(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """The values of a setting that contain what was typed."""
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
    peer.respond(request, c.SessionConfigCompletionsResult(items=items))


def authenticate(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Take a token for a protected resource of an agent."""
    del peer
    raise InvalidParams(
        f"no agent of this host has a protected resource {request.params.resource!r}",
        field="params.resource",
    )


async def invoke_operation(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Do something with a changeset: stage, discard, open."""
    params: c.InvokeChangesetOperationParams = request.params
    if kind_of(params.channel) is not ChannelKind.CHANGESET:
        raise InvalidParams("a changeset's URI begins with ahp-changeset:/", field="params.channel")
    peer.respond(
        request, await peer.host.changesets.invoke(params.channel, params.operation_id, params.target)
    )


async def complete(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """What could stand where the cursor is."""
    params: c.CompletionsParams = request.params
    if params.kind != c.CompletionItemKind.USER_MESSAGE:
        raise InvalidParams(f"there are no completions of kind {params.kind!r}", field="params.kind")
    session = await peer.host.sessions.bring(params.channel)
    if session is None:
        raise unknown(params.channel)
    items = await peer.host.completions.complete(session, params.text, params.offset)
    peer.respond(request, c.CompletionsResult(items=items))


async def create_terminal(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Start a shell in a terminal under the URI that the client chose."""
    params: c.CreateTerminalParams = request.params
    if kind_of(params.channel) is not ChannelKind.TERMINAL:
        raise InvalidParams("a terminal's URI begins with ahp-terminal:/", field="params.channel")
    await peer.host.terminals.create(params, peer.client_id)
    peer.respond(request)


async def dispose_terminal(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """End a terminal, with all that runs in it."""
    await peer.host.terminals.dispose(request.params.channel, peer.client_id, peer)
    peer.respond(request)


async def sign_in_methods(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """How one signs in to an agent, and whether someone is. The agent may have to be asked."""
    params: SignInMethodsParams = request.params
    peer.respond(request, await peer.host.agent_list.sign_in_methods(params.provider))


async def sign_in(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Begin to sign in: in a terminal, which the client then has, or by the agent itself."""
    params: SignInParams = request.params
    peer.respond(request, await peer.host.agent_list.sign_in(params, peer.client_id))


async def list_agents(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """All agents that are known, installed or not."""
    peer.respond(request, await peer.host.agent_list.list())


async def install_agent(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Begin to install an agent, in a terminal, which the client then has."""
    params: InstallAgentParams = request.params
    peer.respond(request, await peer.host.agent_list.install(params, peer.client_id))


COMMANDS: dict[str, Command] = {
    "ping": Command(handshake.ping, for_responders=True, is_first=True),
    "initialize": Command(handshake.initialize, for_responders=True, is_first=True),
    "reconnect": Command(handshake.reconnect, for_responders=True, is_first=True),
    "subscribe": Command(subscriptions.subscribe, only_asks=True, for_responders=True),
    "listSessions": Command(list_sessions, only_asks=True, for_responders=True),
    "createSession": Command(create),
    "disposeSession": Command(dispose),
    "fetchTurns": Command(fetch_turns, only_asks=True, for_responders=True),
    "resolveSessionConfig": Command(resolve_config, alongside=True, only_asks=True),
    "sessionConfigCompletions": Command(complete_config, only_asks=True),
    "authenticate": Command(authenticate),
    "completions": Command(complete, alongside=True, only_asks=True, for_responders=True),
    "createTerminal": Command(create_terminal),
    "disposeTerminal": Command(dispose_terminal, alongside=True),
    "invokeChangesetOperation": Command(invoke_operation, alongside=True),
    "resourceRead": Command(resources.read, alongside=True, only_asks=True, for_responders=True),
    "resourceWrite": Command(resources.write, alongside=True),
    "resourceList": Command(resources.list_entries, alongside=True, only_asks=True, for_responders=True),
    "resourceCopy": Command(resources.copy, alongside=True),
    "resourceMove": Command(resources.move, alongside=True),
    "resourceDelete": Command(resources.delete, alongside=True),
    "resourceResolve": Command(resources.resolve, alongside=True, only_asks=True, for_responders=True),
    "resourceMkdir": Command(resources.make_directory, alongside=True),
    "resourceRequest": Command(resources.request, alongside=True),
    "createResourceWatch": Command(resources.watch, alongside=True),
    SIGN_IN_METHODS: Command(sign_in_methods, alongside=True, only_asks=True, for_responders=True),
    SIGN_IN: Command(sign_in, alongside=True),
    AGENTS: Command(list_agents, alongside=True, only_asks=True, for_responders=True),
    INSTALL_AGENT: Command(install_agent, alongside=True),
}

_SERVICE = Service(COMMANDS, dispatched, unreadable, subscriptions.unsubscribe)


def ahp_peer(host: Host, link: WebSocket) -> AhpPeer:
    """A client of a host, which speaks AHP over a connection."""
    return AhpPeer(host, link, _SERVICE)
