"""A secret that is split anywhere in a stream is found nowhere: all that is kept and told is searched."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from relay.delivery.test_webhooks_of_sessions import Hook, delivered
from relay.listeners import listening
from relay.port import able, ports
from requirements import proves
from serai.ahp import types as t
from serai.contract import AgentSessionEventType, DeliveryMode, to_wire
from serai.harness.callback import CAPABILITIES, CallbackHarness
from serai.host.turn import Turn
from serai.redact import Redactor
from serai.store.sqlite.connection import Database, connect, raw_key, salt_of
from serai.store.sqlite.store import SqliteStore

MANAGED = "zq7Vx2Lm9Kd4Rt8Wn3Yb"
"""A secret that the host was given."""
SHAPED = "sk-ant-api03-" + "Gh3kPw6tXq" * 9
"""A secret that nobody has named, known by its shape."""
KEY = b"k" * 32
_PIECE = 8
"""So much of a secret in one place is a leak."""


async def leak(turn: Turn) -> None:
    """Say both secrets, split where the message says, in every way that a function has."""
    at = int(turn.message.text.split()[-1])
    for secret in (MANAGED, SHAPED):
        halves = f"it is {secret[:at]}", f"{secret[at:]} so"
        for half in halves:
            await turn.say(half)
        for half in halves:
            await turn.think(half)
        await turn.notice("".join(halves))
        call = await turn.tool("cat", "Cat", message="".join(halves), confirmed="setting")
        call.show(t.ToolResultTextContent(text=halves[0]))
        call.show(t.ToolResultTextContent(text="".join(halves)))
        kept = turn.keep("".join(halves).encode(), "text/plain")
        side = t.FileEditSide(uri="demo-file:/a", content=kept)
        await call.done(
            "".join(halves), text="".join(halves), content=[t.ToolResultFileEditContent(after=side)]
        )
    if not at:
        await turn.terminal(["/bin/sh", "-c", f"printf {MANAGED[:9]}; printf {MANAGED[9:]}"])
        raise RuntimeError(f"{MANAGED} and {SHAPED}")


def pieces() -> set[str]:
    """What must be nowhere, in small letters as the index has it."""
    whole = (secret.lower() for secret in (MANAGED, SHAPED.removeprefix("sk-ant-api03-")))
    return {secret[n : n + _PIECE] for secret in whole for n in range(len(secret) - _PIECE + 1)}


def leaks(where: str, data: Any) -> Iterator[str]:
    """Where a piece of a secret stands in something."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
    small = text.lower()
    yield from (f"{where}: …{piece}…" for piece in pieces() if piece in small)


def everything_in(path: Path) -> Iterator[tuple[str, Any]]:
    """All values of all tables of a database, the words of its index, and the bytes of its files."""
    db: Database = connect(path, raw_key(KEY, salt_of(path)))
    try:
        for (table,) in list(db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")):
            for row in db.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - the names are ours
                yield table, b"|".join(v if isinstance(v, bytes) else str(v).encode() for v in row)
        db.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'words', 'row')")
        words = [word for (word,) in db.execute("SELECT term FROM temp.vocabulary")]
        assert "it" in words  # it is the index of what was said
        yield "index", " ".join(words)
        # Deltas are rows of their own: what only they have together counts, too.
        rows = [row for (row,) in db.execute("SELECT action FROM journal ORDER BY seq")]
        deltas = [msgspec.json.decode(row) for row in rows if row.startswith(b'{"type":"session/')]
        for part in {delta.get("partId") for delta in deltas}:
            said = (delta.get("content", "") for delta in deltas if delta.get("partId") == part)
            yield "deltas", "".join(one for one in said if isinstance(one, str))
    finally:
        db.close()
    for file in path.parent.iterdir():
        yield file.name, file.read_bytes() if file.is_file() else b""


@proves("delivery:Reliability-Rules/secrets-redacted")
async def test_a_secret_that_is_split_anywhere_is_in_nothing_that_is_told_or_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="serai")
    hook, path = Hook(delivered), tmp_path / "serai.db"
    emits = (AgentSessionEventType.LOG, AgentSessionEventType.STATUS_CHANGED)
    sends = msgspec.structs.replace(CAPABILITIES.messaging, send=True)
    leaky = CallbackHarness(
        "leaky", leak, capabilities=msgspec.structs.replace(CAPABILITIES, messaging=sends)
    )
    options: dict[str, Any] = {"harnesses": [leaky], "redactor": Redactor({"KEY": MANAGED})}
    both = f"it is {MANAGED}, or {SHAPED}"
    async with ports(store=SqliteStore(path, KEY), **options) as port:
        house = port.house
        async with listening(house.workspace) as heard, await port.connect() as relay:
            declared = to_wire(able(DeliveryMode.ON_IDLE, emits=emits))
            identity = {"id": "", "name": "posted", "handle": "@posted"}
            await relay.call("sessions.register", identity=identity, capabilities=declared, url=hook.url)
            await relay.call(
                "sessions.report",
                agent="@posted",
                events=[{"type": "log", "level": "info", "message": both}],
            )
            await relay.action("tell", lambda _: both, description=both)
            session = await house.session("one", "leaky")
            own = house.agent("@leaky")
            deep = [{"type": "json", "value": {MANAGED: [{"deep": both}]}, "label": both}]
            await house.call("rooms.create", own, name="ops", topic=both)
            await house.call("rooms.join", room="#ops", agent="@posted")
            sent = await house.send(
                "#ops", both, own, metadata={"note": both}, attachments=deep, idempotencyKey="one"
            )
            await house.call("messages.reply", own, messageId=sent.message.id, text=both)
            await house.send("@leaky", f"{MANAGED} 1")  # a person who pastes it by mistake
            await house.call("actions.invoke", name="tell", waitMs=20_000)
            for at in range(len(MANAGED), -1, -1):
                house.say(session, f"split at {at}", f"at-{at}")
                await house.until(lambda at=at: any(one.id == f"at-{at}" for one in session.live.head.turns))
            await house.until(lambda: heard.own("error") and heard.own("terminal.output") and hook.posts)
            assert (await house.call("messages.search", query="it")).hits
            told = [to_wire(event) for event in heard.events]
            state = house.host.state_of(session.uri)
    hook.close()
    found = [*leaks("log", caplog.text), *leaks("state", state)]
    found += [leak for event in told for leak in leaks(f"event {event['type']}", event)]
    chunks = [one["chunk"] for one in heard.own("transcript.chunk")]
    for part in {chunk["id"] for chunk in chunks}:
        found += leaks("chunks", "".join(chunk["content"] for chunk in chunks if chunk["id"] == part))
    found += [leak for headers, body in hook.posts for leak in leaks("post", str(headers).encode() + body)]
    found += [leak for where, data in everything_in(path) for leak in leaks(where, data)]
    assert not {one.partition(":")[0] for one in found}
