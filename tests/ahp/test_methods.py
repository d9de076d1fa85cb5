"""The methods of sections 5 and 6 of the protocol; `shapes.txt` has the fields of their types."""

from __future__ import annotations

import json
from types import NoneType
from typing import Any

import pytest

from ahp.types.examples import full
from requirements import proves
from serai.ahp.codec import EXTENSIONS, NOTIFICATIONS, REQUESTS, RESOURCE_REQUESTS, decode
from serai.ahp.commands import AhpErrorCode, EmptyResult, ReconnectResult
from serai.errors import InvalidParams
from serai.jsonrpc import Request

RESOURCE = [
    *("resourceRead", "resourceWrite", "resourceList", "resourceCopy", "resourceMove", "resourceDelete"),
    *("resourceResolve", "resourceMkdir", "resourceRequest", "createResourceWatch"),
]
"""Section 6: what either side may ask the other. All of them are about the root channel."""
ON_ROOT = [
    *("initialize", "ping", "reconnect", "listSessions", "resolveSessionConfig", "sessionConfigCompletions"),
    *("authenticate", *RESOURCE),
]
"""Commands whose channel is the literal `ahp-root://`."""
ON_OTHERS = [
    *("subscribe", "createSession", "disposeSession", "fetchTurns", "completions", "createTerminal"),
    *("disposeTerminal", "invokeChangesetOperation"),
]
"""Commands about a session, a terminal, a changeset, or any channel."""
COMMANDS = [*ON_ROOT, *ON_OTHERS]

NOTHING = {"ping", "createSession", "disposeSession", "createTerminal", "disposeTerminal"}
"""What is answered with `null`."""
EMPTY = {
    *("authenticate", "resourceWrite", "resourceCopy", "resourceMove", "resourceDelete", "resourceMkdir"),
    "resourceRequest",
}

NOTICES = {
    "unsubscribe": "UnsubscribeParams",
    "dispatchAction": "DispatchActionParams",
    "action": "ActionEnvelope",
    "root/sessionAdded": "SessionAddedParams",
    "root/sessionRemoved": "SessionRemovedParams",
    "root/sessionSummaryChanged": "SessionSummaryChangedParams",
    "auth/required": "AuthRequiredParams",
    "otlp/exportLogs": "OtlpExportParams",
    "otlp/exportTraces": "OtlpExportParams",
    "otlp/exportMetrics": "OtlpExportParams",
}


def request(method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


@proves(
    "ahp:createSession/direction",
    "ahp:disposeSession/direction",
    "ahp:fetchTurns/direction",
    "ahp:completions/direction",
)
def test_the_commands_are_those_of_the_protocol_and_both_sides_may_ask_for_resources_only() -> None:
    assert REQUESTS.keys() == set(COMMANDS)
    assert RESOURCE_REQUESTS.keys() == set(RESOURCE)
    # Whatever is not about resources goes from the client to the host alone.
    assert not {"createSession", "disposeSession", "fetchTurns", "completions"} & RESOURCE_REQUESTS.keys()


@pytest.mark.parametrize("method", COMMANDS)
def test_a_command_has_the_types_that_are_named_after_it(method: str) -> None:
    name = method[0].upper() + method[1:]
    params, result = REQUESTS[method]
    assert params.__name__ == f"{name}Params"
    if method in NOTHING:
        assert result is NoneType
    elif method in EMPTY:
        assert result is EmptyResult
    elif method == "reconnect":
        assert result == ReconnectResult
    else:
        assert result.__name__ == f"{name}Result"


def test_what_is_not_of_the_protocol_has_a_name_of_its_own_and_is_read_all_the_same() -> None:
    assert all(name.startswith("serai/") for name in EXTENSIONS)
    params = {"channel": "ahp-root://", "provider": "claude", "newer": 1}
    message = decode(request("serai/signIn", params))
    assert isinstance(message, Request)
    assert (message.method, message.params.provider) == ("serai/signIn", "claude")


def test_the_notifications_are_those_of_the_protocol() -> None:
    assert {name: params.__name__ for name, params in NOTIFICATIONS.items()} == NOTICES


@pytest.mark.parametrize("method", COMMANDS)
def test_a_command_insists_on_its_channel_and_one_about_the_connection_on_the_root(method: str) -> None:
    params = full(REQUESTS[method].params)
    for channel in ("ahp-session:/1", "", None, 7):
        if method in ON_OTHERS and isinstance(channel, str):
            assert decode(request(method, {**params, "channel": channel}))
            continue
        with pytest.raises(InvalidParams) as caught:
            decode(request(method, {**params, "channel": channel}))
        assert (caught.value.id, caught.value.field) == (1, "params.channel")


def test_the_errors_have_the_numbers_of_the_protocol() -> None:
    assert {error.name: error.value for error in AhpErrorCode} == {
        "SESSION_NOT_FOUND": -32001,
        "PROVIDER_NOT_FOUND": -32002,
        "SESSION_ALREADY_EXISTS": -32003,
        "TURN_IN_PROGRESS": -32004,
        "UNSUPPORTED_PROTOCOL_VERSION": -32005,
        "CONTENT_NOT_FOUND": -32006,
        "AUTH_REQUIRED": -32007,
        "NOT_FOUND": -32008,
        "PERMISSION_DENIED": -32009,
        "ALREADY_EXISTS": -32010,
        "CONFLICT": -32011,
    }
