"""Every method of AHP 0.2 and of Serai's extensions with its types, and the codec for its messages."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, NamedTuple

from serai.ahp import commands as c, extensions as x, notifications as n, wire
from serai.ahp.actions import ActionEnvelope
from serai.jsonrpc import StrictCodec


class RequestMethod(NamedTuple):
    """A command: the types of its parameters and of its result."""

    params: Any
    result: Any


RESOURCE_REQUESTS: Mapping[str, RequestMethod] = {
    "resourceRead": RequestMethod(c.ResourceReadParams, c.ResourceReadResult),
    "resourceWrite": RequestMethod(c.ResourceWriteParams, c.EmptyResult),
    "resourceList": RequestMethod(c.ResourceListParams, c.ResourceListResult),
    "resourceCopy": RequestMethod(c.ResourceCopyParams, c.EmptyResult),
    "resourceMove": RequestMethod(c.ResourceMoveParams, c.EmptyResult),
    "resourceDelete": RequestMethod(c.ResourceDeleteParams, c.EmptyResult),
    "resourceResolve": RequestMethod(c.ResourceResolveParams, c.ResourceResolveResult),
    "resourceMkdir": RequestMethod(c.ResourceMkdirParams, c.EmptyResult),
    "resourceRequest": RequestMethod(c.ResourceRequestParams, c.EmptyResult),
    "createResourceWatch": RequestMethod(c.CreateResourceWatchParams, c.CreateResourceWatchResult),
}
"""The commands that either side may send: a client publishes resources too."""

REQUESTS: Mapping[str, RequestMethod] = {
    "initialize": RequestMethod(c.InitializeParams, c.InitializeResult),
    "ping": RequestMethod(c.PingParams, NoneType),
    "reconnect": RequestMethod(c.ReconnectParams, c.ReconnectResult),
    "subscribe": RequestMethod(c.SubscribeParams, c.SubscribeResult),
    "listSessions": RequestMethod(c.ListSessionsParams, c.ListSessionsResult),
    "resolveSessionConfig": RequestMethod(c.ResolveSessionConfigParams, c.ResolveSessionConfigResult),
    "sessionConfigCompletions": RequestMethod(
        c.SessionConfigCompletionsParams, c.SessionConfigCompletionsResult
    ),
    "authenticate": RequestMethod(c.AuthenticateParams, c.EmptyResult),
    "createSession": RequestMethod(c.CreateSessionParams, NoneType),
    "disposeSession": RequestMethod(c.DisposeSessionParams, NoneType),
    "fetchTurns": RequestMethod(c.FetchTurnsParams, c.FetchTurnsResult),
    "completions": RequestMethod(c.CompletionsParams, c.CompletionsResult),
    "createTerminal": RequestMethod(c.CreateTerminalParams, NoneType),
    "disposeTerminal": RequestMethod(c.DisposeTerminalParams, NoneType),
    "invokeChangesetOperation": RequestMethod(
        c.InvokeChangesetOperationParams, c.InvokeChangesetOperationResult
    ),
    **RESOURCE_REQUESTS,
}
"""All commands of AHP, by name."""

EXTENSIONS: Mapping[str, RequestMethod] = {
    x.SIGN_IN_METHODS: RequestMethod(x.SignInMethodsParams, x.SignInMethodsResult),
    x.SIGN_IN: RequestMethod(x.SignInParams, x.SignInResult),
    x.AGENTS: RequestMethod(x.AgentsParams, x.AgentsResult),
    x.INSTALL_AGENT: RequestMethod(x.InstallAgentParams, x.InstallAgentResult),
}
"""Commands that Serai has and AHP 0.2 does not. Another host answers them with -32601."""

NOTIFICATIONS: Mapping[str, Any] = {
    "unsubscribe": n.UnsubscribeParams,
    "dispatchAction": n.DispatchActionParams,
    "action": ActionEnvelope,
    "root/sessionAdded": n.SessionAddedParams,
    "root/sessionRemoved": n.SessionRemovedParams,
    "root/sessionSummaryChanged": n.SessionSummaryChangedParams,
    "auth/required": n.AuthRequiredParams,
    "otlp/exportLogs": n.OtlpExportParams,
    "otlp/exportTraces": n.OtlpExportParams,
    "otlp/exportMetrics": n.OtlpExportParams,
}
"""The parameters of the notifications, by name."""


CODEC = StrictCodec({**REQUESTS, **EXTENSIONS}, NOTIFICATIONS, read=wire.decode, write=wire.encode)
"""The codec for every frame of AHP."""

decode = CODEC.decode
encode = CODEC.encode
