"""The table of methods against sections 5 and 6 of the protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ahp.types.examples import full, wire_fields
from requirements import proves
from serai.ahp.codec import EXTENSIONS, NOTIFICATIONS, REQUESTS, RESOURCE_REQUESTS, decode
from serai.ahp.errors import AhpErrorCode
from serai.ahp.wire import Unknown
from serai.errors import InvalidParams
from serai.jsonrpc import Request

RESOURCE: Mapping[str, str] = {
    "resourceRead": "uri encoding? -> data encoding contentType?",
    "resourceWrite": "uri data encoding contentType? createOnly? mode? position? ifMatch? ->",
    "resourceList": "uri -> entries",
    "resourceCopy": "source destination failIfExists? ->",
    "resourceMove": "source destination failIfExists? ->",
    "resourceDelete": "uri recursive? ->",
    "resourceResolve": "uri followSymlinks? -> uri type size? mtime? ctime? contentType? etag?",
    "resourceMkdir": "uri ->",
    "resourceRequest": "uri read? write? ->",
    "createResourceWatch": "uri recursive? excludes? includes? -> channel",
}
"""Section 6: what either side may ask the other. All of them are about the root channel."""

ON_ROOT: Mapping[str, str] = {
    "initialize": (
        "protocolVersions clientId initialSubscriptions? locale? -> protocolVersion serverSeq snapshots "
        "defaultDirectory? completionTriggerCharacters? telemetry?"
    ),
    "ping": "-> null",
    "reconnect": "clientId lastSeenServerSeq subscriptions -> replay | snapshot",
    "listSessions": "filter? -> items",
    "resolveSessionConfig": "provider? workingDirectory? config? -> schema values",
    "sessionConfigCompletions": "provider? workingDirectory? config? property query? -> items",
    "authenticate": "resource token ->",
    **RESOURCE,
}
"""Commands whose channel is the literal `ahp-root://`."""

ON_OTHERS: Mapping[str, str] = {
    "subscribe": "-> snapshot?",
    "createSession": "provider? model? agent? workingDirectory? fork? config? activeClient? -> null",
    "disposeSession": "-> null",
    "fetchTurns": "before? limit? -> turns hasMore",
    "completions": "kind text offset -> items",
    "createTerminal": "claim name? cwd? cols? rows? -> null",
    "disposeTerminal": "-> null",
    "invokeChangesetOperation": "operationId target? -> message? followUp?",
}
"""Commands about a session, a terminal, a changeset, or any channel."""

COMMANDS = {**ON_ROOT, **ON_OTHERS}

FROM_CLIENTS: Mapping[str, str] = {"unsubscribe": "", "dispatchAction": "clientSeq action"}

FROM_THE_HOST: Mapping[str, str] = {
    "action": "action serverSeq origin? rejectionReason?",
    "root/sessionAdded": "summary",
    "root/sessionRemoved": "session",
    "root/sessionSummaryChanged": "session changes",
    "auth/required": "resource reason?",
    "otlp/exportLogs": "payload",
    "otlp/exportTraces": "payload",
    "otlp/exportMetrics": "payload",
}


def fields(struct: Any) -> set[str]:
    return {name + ("" if field.required else "?") for name, field in wire_fields(struct).items()}


def request(method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


@proves(
    "ahp:createSession/direction",
    "ahp:disposeSession/direction",
    "ahp:fetchTurns/direction",
    "ahp:completions/direction",
)
def test_the_commands_are_those_of_the_protocol_and_both_sides_may_ask_for_resources_only() -> None:
    assert REQUESTS.keys() == COMMANDS.keys()
    assert RESOURCE_REQUESTS.keys() == RESOURCE.keys()
    assert all(REQUESTS[name] == method for name, method in RESOURCE_REQUESTS.items())
    # Whatever is not about resources goes from the client to the host alone.
    assert not {"createSession", "disposeSession", "fetchTurns", "completions"} & RESOURCE_REQUESTS.keys()


def test_what_is_not_of_the_protocol_has_a_name_of_its_own_and_is_read_all_the_same() -> None:
    assert EXTENSIONS
    assert all(name.startswith("serai/") for name in EXTENSIONS)
    params = {"channel": "ahp-root://", "provider": "claude", "newer": 1}
    message = decode(request("serai/signIn", params))
    assert isinstance(message, Request)
    assert (message.method, message.params.provider) == ("serai/signIn", "claude")
    with pytest.raises(InvalidParams) as caught:
        decode(request("serai/signInMethods", {"channel": "ahp-session:/1", "provider": "claude"}))
    assert caught.value.field == "params.channel"


def test_the_notifications_are_those_of_the_protocol() -> None:
    assert NOTIFICATIONS.keys() == FROM_CLIENTS.keys() | FROM_THE_HOST.keys()
    assert not NOTIFICATIONS.keys() & REQUESTS.keys()


@pytest.mark.parametrize("method", COMMANDS)
def test_a_command_has_its_channel_and_exactly_its_params(method: str) -> None:
    params, _, _ = COMMANDS[method].partition("->")
    assert fields(REQUESTS[method].params) == {"channel", *params.split()}


@pytest.mark.parametrize("method", COMMANDS)
def test_a_command_answers_exactly_its_result(method: str) -> None:
    _, _, result = COMMANDS[method].partition("-> ")
    answer = REQUESTS[method].result
    if result == "null":
        assert answer is type(None)
    elif " | " in result:
        known = [variant for variant in answer.__args__ if not issubclass(variant, Unknown)]
        assert [variant.__struct_config__.tag for variant in known] == result.split(" | ")
    else:
        assert fields(answer) == set(result.split())


def test_the_two_answers_to_a_reconnect_have_their_fields() -> None:
    replay, snapshot, newer = REQUESTS["reconnect"].result.__args__
    assert issubclass(newer, Unknown)
    assert fields(replay) == {"actions", "missing"}
    assert fields(snapshot) == {"snapshots"}


@pytest.mark.parametrize("method", [*FROM_CLIENTS, *FROM_THE_HOST])
def test_a_notification_has_its_channel_and_exactly_its_params(method: str) -> None:
    params = {**FROM_CLIENTS, **FROM_THE_HOST}[method]
    assert fields(NOTIFICATIONS[method]) == {"channel", *params.split()}


@pytest.mark.parametrize("method", ON_ROOT)
@pytest.mark.parametrize("channel", ["ahp-session:/1", "ahp-root:", "ahp-root:///", "", None, 7])
def test_a_command_about_the_connection_insists_on_the_root_channel(method: str, channel: Any) -> None:
    params = {**full(REQUESTS[method].params), "channel": channel}
    with pytest.raises(InvalidParams) as caught:
        decode(request(method, params))
    assert (caught.value.id, caught.value.field) == (1, "params.channel")


@pytest.mark.parametrize("method", COMMANDS)
def test_no_command_is_read_without_its_channel(method: str) -> None:
    params = full(REQUESTS[method].params)
    assert decode(request(method, params))
    del params["channel"]
    with pytest.raises(InvalidParams) as caught:
        decode(request(method, params))
    assert caught.value.field == "params.channel"


@pytest.mark.parametrize("method", ON_OTHERS)
def test_a_command_about_a_channel_takes_any_uri(method: str) -> None:
    params = {**full(REQUESTS[method].params), "channel": "ahp-later:/1"}
    assert decode(request(method, params))


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
