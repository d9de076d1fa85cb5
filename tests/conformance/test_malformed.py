"""Frames that are not what they should be: each gets its error, and the connection lives on."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from unittest import mock

import pytest

from conformance.client import Client, Refused, connecting
from conformance.conftest import ONE, ROOT, new_session
from hosts import House, housing
from serai.ahp.codec import EXTENSIONS, REQUESTS
from serai.serve import Limits
from serai.serve.ahp.commands import COMMANDS

NOT_JSON = ["", "{", "hello", '{"jsonrpc":"2.0",}', "[1, 2", '{"a":\x00}', '"\\ud800"', "NaN", "\ufeff{}"]
NOT_A_MESSAGE = [
    ("[]", None),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://"}}]', None),
    ("7", None),
    ("null", None),
    ("{}", None),
    ('{"jsonrpc":"1.0","id":5,"method":"ping","params":{"channel":"ahp-root://"}}', 5),
    ('{"id":6,"method":"ping","params":{"channel":"ahp-root://"}}', 6),
    ('{"jsonrpc":"2.0","id":"seven","method":"ping","params":{"channel":"ahp-root://"}}', "seven"),
    ('{"jsonrpc":"2.0","id":null,"method":"ping","params":{"channel":"ahp-root://"}}', None),
    ('{"jsonrpc":"2.0","id":true,"method":"ping","params":{"channel":"ahp-root://"}}', None),
    ('{"jsonrpc":"2.0","id":8}', 8),
    ('{"jsonrpc":"2.0","id":9,"method":7,"params":{}}', 9),
]


async def answered(client: Client, frame: str) -> dict[str, Any]:
    """The one answer to a frame, as it came."""
    before = len(client.frames)
    with mock.patch.object(client, "_take"):  # it answers nothing that the client itself has asked
        await client.send(frame)
        await client.until(lambda: len(client.frames) > before)
    assert len(client.frames) == before + 1
    return json.loads(client.frames[-1])


@pytest.mark.parametrize("frame", NOT_JSON)
async def test_what_is_not_json_is_a_parse_error_without_an_id(client: Client, frame: str) -> None:
    answer = await answered(client, frame)
    assert answer["id"] is None
    assert answer["error"]["code"] == -32700
    await new_session(client)


@pytest.mark.parametrize("much", [[0] * 100_000, ["", {"a": 1}] * 100_000])
async def test_who_asks_with_so_many_values_is_answered(client: Client, much: list[Any]) -> None:
    with pytest.raises(Refused) as refused:
        await client.request("createSession", ONE, config={"much": much})
    assert refused.value.code == -32700
    assert client.nameless == []
    await new_session(client)


@pytest.mark.parametrize(("frame", "answers_to"), NOT_A_MESSAGE)
async def test_json_that_is_no_message_is_an_invalid_request(
    client: Client, frame: str, answers_to: Any
) -> None:
    answer = await answered(client, frame)
    assert answer["error"]["code"] == -32600
    assert answer["id"] == answers_to
    await new_session(client)


@pytest.mark.parametrize("method", ["imagined", "", "root/sessionAdded", "dispatchAction", "action"])
async def test_an_unknown_method_is_not_found(client: Client, method: str) -> None:
    params = {"channel": ROOT}
    frame = json.dumps({"jsonrpc": "2.0", "id": 77, "method": method, "params": params})
    answer = await answered(client, frame)
    assert answer["id"] == 77
    assert answer["error"]["code"] == -32601


def test_every_command_of_the_protocol_is_served() -> None:
    assert set(COMMANDS) == set(REQUESTS) | set(EXTENSIONS)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("ping", {}),
        ("ping", {"channel": 7}),
        ("subscribe", {}),
        ("subscribe", {"channel": ["a"]}),
        ("listSessions", {"channel": "ahp-session:/one"}),
        ("createSession", {"channel": ONE, "provider": 1}),
        ("createSession", {"channel": ONE, "fork": {"session": ONE}}),
        ("fetchTurns", {"channel": ONE, "limit": "many"}),
        ("authenticate", {"channel": ROOT, "resource": "x"}),
        ("resourceRead", {"channel": ROOT}),
        ("sessionConfigCompletions", {"channel": ROOT}),
    ],
)
async def test_parameters_that_do_not_fit_are_named(client: Client, method: str, params: Any) -> None:
    answer = await answered(
        client, json.dumps({"jsonrpc": "2.0", "id": 3, "method": method, "params": params})
    )
    assert answer["id"] == 3
    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"]["field"].startswith("params")


@pytest.mark.parametrize(
    "params",
    [
        {"protocolVersions": "0.2.0", "clientId": "x"},
        {"protocolVersions": ["0.2.0"]},
        {"clientId": "x"},
        {"protocolVersions": ["0.2.0"], "clientId": 7},
        {"protocolVersions": ["0.2.0"], "clientId": "x", "initialSubscriptions": "ahp-root://"},
        {"protocolVersions": ["0.2.0"], "clientId": "x", "channel": "ahp-session:/1"},
    ],
)
async def test_a_handshake_that_lacks_something_may_be_tried_again(house: House, params: Any) -> None:
    async with connecting(house.url) as client:
        frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"channel": ROOT, **params}}
        assert (await answered(client, json.dumps(frame)))["error"]["code"] == -32602
        await client.initialize()


async def test_fields_that_0_2_does_not_have_are_no_error(client: Client) -> None:
    await client.request("ping", newer=True)
    await client.request("listSessions", cursor={"page": 2})
    await client.request("createSession", ONE, tags=["a"])


async def test_unknown_notifications_and_stray_answers_are_ignored(client: Client) -> None:
    await client.notify("imagined", channel=ROOT, any="thing")
    await client.notify("root/sessionRemoved", channel=ROOT, session=ONE)
    await client.send('{"jsonrpc":"2.0","id":99,"result":null}')
    await client.send('{"jsonrpc":"2.0","id":99,"error":{"code":-1,"message":"no"}}')
    await client.ping()
    assert client.nameless == []


async def test_text_of_every_kind_goes_through_unchanged(client: Client, session: str) -> None:
    title = 'quote " back \\ slash / \u0000 \u2028 \U0001f42b ÿ \x7f serai'
    await client.dispatch(session, "titleChanged", title=title)
    assert (await client.hear("titleChanged"))["action"]["title"] == title


async def test_a_request_id_comes_back_as_it_was(client: Client) -> None:
    for request_id in ("0", "-5", "1.5", "9007199254740993", "1e3"):
        frame = f'{{"jsonrpc":"2.0","id":{request_id},"method":"ping","params":{{"channel":"ahp-root://"}}}}'
        answer = await answered(client, frame)
        assert answer == {"jsonrpc": "2.0", "id": json.loads(request_id), "result": None}


# -- bounds ------------------------------------------------------------------------------------------------


async def test_a_frame_that_is_too_long_ends_the_connection(client: Client, house: House) -> None:
    await client.send('"' + "x" * (16 * 1024 * 1024) + '"')
    assert await client.closed() == 1009
    async with connecting(house.url, "next") as other:
        await other.initialize()


async def test_a_client_that_does_not_read_is_cut_off_and_comes_back_to_all_of_it() -> None:
    limits = Limits(waiting_bytes=64 * 1024)
    async with housing(limits=limits) as house, connecting(house.url, "fast") as fast:
        await fast.initialize()
        session = await new_session(fast)
        async with connecting(house.url, "slow", max_queue=1) as slow:
            await slow.initialize(session)
            slow.socket.transport.pause_reading()
            for number in range(40):
                message = {"text": f"{number} " + "x" * 200_000}
                await fast.dispatch(
                    session, "pendingMessageSet", kind="steering", id="s", userMessage=message
                )
                await fast.hear("pendingMessageSet", userMessage=message)
            slow.socket.transport.resume_reading()
            assert await slow.closed() == 4408
        async with connecting(house.url, slow.state) as again:
            await again.reconnect()
            assert again.session(session).steering_message is not None
            assert again.session(session).steering_message == fast.session(session).steering_message


async def test_more_requests_at_once_than_are_dealt_with_are_refused_and_none_is_lost(client: Client) -> None:
    answers = [await client.ask("createSession", f"ahp-session:/{n}") for n in range(300)]
    results = await asyncio.gather(*answers, return_exceptions=True)
    refused = [result for result in results if isinstance(result, Refused)]
    assert {error.code for error in refused} <= {-32000}
    listed = await client.request("listSessions")
    assert len(listed["items"]) == 300 - len(refused)


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\x1b[2J", "x" * 1025])
async def test_a_name_that_lists_cannot_show_is_refused(client: Client, name: str) -> None:
    for method, params in (
        ("createSession", {}),
        ("createTerminal", {"claim": {"kind": "client", "clientId": client.id}}),
    ):
        kind = method.removeprefix("create").lower()
        with pytest.raises(Refused) as refused:
            await client.request(method, f"ahp-{kind}:/{name}", **params)
        assert refused.value.code == -32602
    assert (await client.request("listSessions"))["items"] == []
    assert not client.root.terminals


async def test_a_title_that_is_too_long_goes_back_to_who_chose_it(client: Client, session: str) -> None:
    await client.dispatch(session, "titleChanged", title="x" * 1001)
    reason = (await client.hear("titleChanged"))["rejectionReason"]
    assert reason == "title_too_long: a title has up to 1,000 characters, not 1,001"
    assert client.session(session).summary.title == ""
