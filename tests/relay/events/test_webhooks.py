"""Webhooks: events that are posted, signed, in order, again until they are taken, and after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hosts import KEY, WITHIN
from relay.delivery.test_webhooks_of_sessions import Hook
from relay.workspaces import Inn, inn
from serai.contract import Role
from serai.errors import CapabilityUnsupported, Forbidden, InvalidParams, UnknownRoom
from serai.relay.events import webhooks
from serai.relay.events.webhooks import SIGNATURE, TIMESTAMP, signature
from serai.relay.tokens import Caller
from serai.store.sqlite.store import SqliteStore


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Generator[Hook]:
    monkeypatch.setattr(webhooks, "_FIRST_WAIT", 0.01)
    opened = Hook(lambda _body: {})
    yield opened
    opened.go_on.set()
    opened.close()


async def posted(hook: Hook, count: int) -> list[dict[str, Any]]:
    """The events that were posted, once they are so many."""
    async with asyncio.timeout(WITHIN):
        while len(hook.posts) < count:  # noqa: ASYNC110 - it is posted by another thread
            await asyncio.sleep(0.005)
    return [msgspec.json.decode(body) for _, body in hook.posts]


IN_OPS: dict[str, Any] = {"in": "#ops"}
IN_NO_ROOM: dict[str, Any] = {"in": "#nowhere"}


def texts(events: list[dict[str, Any]]) -> list[str]:
    return [event["data"]["message"]["text"] for event in events]


async def test_the_events_of_a_filter_are_posted_in_order_and_signed(house: Inn, hook: Hook) -> None:
    await house.call("rooms.create", name="ops")
    await house.call("rooms.create", name="other")
    made = await house.call("webhooks.create", url=hook.url, types=["message.*"], **IN_OPS)
    for text in ("one", "two"):
        await house.send("#ops", text)
        await house.send("#other", "not this")
    events = await posted(hook, 2)
    assert texts(events) == ["one", "two"]
    headers, body = hook.posts[0]
    assert headers[SIGNATURE] == signature(made.secret, headers[TIMESTAMP], body)
    [listed] = (await house.call("webhooks.list")).webhooks
    assert (listed.url, listed.types, listed.room) == (hook.url, ("message.*",), "#ops")
    await house.call("webhooks.delete", id=listed.id)
    await house.send("#ops", "three")
    assert (await house.call("webhooks.list")).webhooks == ()
    assert len(hook.posts) == 2


async def test_what_is_not_taken_is_posted_again_and_holds_nobody_up(house: Inn, hook: Hook) -> None:
    hook.answers = [(500, {}), (503, {})]
    hook.go_on.clear()
    await house.call("rooms.create", name="ops")
    await house.call("webhooks.create", url=hook.url, types=["message.created"])
    await house.send("#ops", "one")
    await house.send("#ops", "two")
    await posted(hook, 1)
    hook.go_on.set()
    assert texts(await posted(hook, 4)) == ["one", "one", "one", "two"]


async def test_what_was_not_taken_is_posted_after_a_restart(tmp_path: Path, hook: Hook) -> None:
    path = tmp_path / "serai.db"
    async with inn(store=SqliteStore(path, KEY)) as house:
        await house.call("rooms.create", name="ops")
        await house.call("webhooks.create", url=hook.url, types=["message.created"])
        await house.send("#ops", "taken")
        await posted(hook, 1)
        hook.answers = [(500, {})] * 3
        await house.send("#ops", "not taken")
        await posted(hook, 2)
    before = len(hook.posts)
    hook.answers = []
    async with inn(store=SqliteStore(path, KEY)) as house:
        await house.send("#ops", "new")
        events = await posted(hook, before + 2)
        assert texts(events[before:]) == ["not taken", "new"]
        await house.until(
            lambda: house.workspace.webhooks._kept["1"].webhook.delivered_until >= events[-1]["id"]
        )


async def test_a_secret_is_in_no_post_also_when_it_was_registered_after_the_event(
    house: Inn, hook: Hook
) -> None:
    hook.go_on.clear()
    await house.call("rooms.create", name="ops")
    made = await house.call("webhooks.create", url=f"{hook.url}&key=open-sesame-1", types=["message.*"])
    await house.send("#ops", "first")
    await posted(hook, 1)
    await house.send("#ops", "the word is open-sesame-1")
    await house.call("secrets.register", name="cave", value="open-sesame-1")
    hook.go_on.set()
    await house.send("#ops", f"it is signed with {made.secret}")
    events = await posted(hook, 3)
    assert texts(events)[1:] == ["the word is [secret:cave]", "it is signed with [secret:webhook_1]"]
    assert "open-sesame-1" not in (await house.call("webhooks.list")).webhooks[0].url


async def test_what_cannot_be_is_refused_and_only_the_owner_has_webhooks(house: Inn) -> None:
    await house.session("one")
    url = "http://127.0.0.1:9/"
    for bad in ("file:///etc/passwd", "http://", "http://[", "nowhere"):
        with pytest.raises(InvalidParams):
            await house.call("webhooks.create", url=bad)
    with pytest.raises(UnknownRoom):
        await house.call("webhooks.create", url=url, **IN_NO_ROOM)
    with pytest.raises(CapabilityUnsupported):
        await house.call("webhooks.create", url=url, agent="@alice", types=["agent.status.idle"])
    with pytest.raises(InvalidParams):
        await house.call("webhooks.delete", id="7")
    for caller in (house.agent("@demo"), Caller(Role.OBSERVER)):
        for method, params in (("create", {"url": url}), ("list", {}), ("delete", {"id": "1"})):
            with pytest.raises(Forbidden):
                await house.call(f"webhooks.{method}", caller, **params)
