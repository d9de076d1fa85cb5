from __future__ import annotations

import pytest

import serai
from serve.conftest import TOKEN, Room, listening


async def test_health_needs_no_token(room: Room) -> None:
    answer = await room.http("/healthz", Authorization="")
    assert (answer.status, answer.body) == (200, {"status": "ok"})


async def test_the_host_says_who_it_is(room: Room) -> None:
    answer = await room.http("/")
    assert answer.status == 200
    assert answer.body == {"name": "serai", "version": serai.__version__, "ahp": "ws"}


@pytest.mark.parametrize(("ready", "status", "word"), [(True, 200, "ready"), (False, 503, "not_ready")])
async def test_readiness_is_asked_for_each_time(*, ready: bool, status: int, word: str) -> None:
    async with listening(readiness=lambda: (ready, {"storage": "full"})) as room:
        answer = await room.http("/readyz")
    assert (answer.status, answer.body) == (status, {"status": word, "detail": {"storage": "full"}})


@pytest.mark.parametrize("target", ["/readyz", "/ahp", "/nowhere", "/healthz/", "/readyz?tkn=wrong"])
async def test_all_else_needs_a_token(room: Room, target: str) -> None:
    answer = await room.http(target, Authorization="")
    assert answer.status == 401
    assert set(answer.body) == {"code", "message", "remedy"}
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("target", ["/healthz", "/", "/nowhere"])
async def test_a_rebound_name_and_a_strange_page_are_refused(room: Room, target: str) -> None:
    assert (await room.http(target, Host="evil.example")).body["code"] == "host_refused"
    assert (await room.http(target, Origin="https://evil.example")).body["code"] == "origin_refused"
    assert (await room.http(target, Origin="null")).status == 403


@pytest.mark.parametrize("target", ["/nowhere", "/ahp/", "/healthz/", "//", "/%2e%2e"])
async def test_what_is_not_here_is_said_in_json(room: Room, target: str) -> None:
    answer = await room.http(target)
    assert (answer.status, answer.body["code"]) == (404, "not_found")
    assert answer.body["remedy"]


async def test_other_methods_are_refused_in_json(room: Room) -> None:
    answer = await room.http("/", "POST", Content_Length="0")
    assert (answer.status, answer.body["code"]) == (405, "method_not_allowed")
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize(("target", "authorization"), [("/", f"Bearer {TOKEN}"), ("/", "")])
async def test_no_answer_is_kept_or_passes_the_address_on(
    room: Room, target: str, authorization: str
) -> None:
    headers = (await room.http(target, Authorization=authorization)).headers
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers
