"""A session is erased for good, with all that only it had."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from serai.store.contract import Batch, BlobRow, HeadRow, Row, SessionRow, StoredRow, TurnRow
from serai.store.sqlite import backup
from serai.store.sqlite.connection import connect
from serai.store.sqlite.store import SqliteStore
from store.conftest import Opened
from store.kinds import KEY, Sqlite
from store.test_contract import A, B, append, blob, replay, turn


async def purge(store: SqliteStore, uri: str) -> None:
    """Erase a session while no host runs."""
    await store.close()
    backup.purge(store.path, KEY, uri)
    await store.open()


def naming(row: BlobRow) -> bytes:
    return b'{"uri":"serai-blob:/%s"}' % row.digest.encode()


@pytest.fixture
def store(sqlite: SqliteStore) -> SqliteStore:
    return sqlite


@pytest.fixture(autouse=True)
async def two_sessions(store: SqliteStore) -> None:
    for uri in (A, B):
        await append(
            store,
            Row(uri, b"1"),
            Row(f"serai-deferred:{uri}", b"2"),
            sessions=[SessionRow(uri, b"{}", 1)],
            turns=[turn(uri, 0)],
            heads=[HeadRow(uri, b"{}", 1, 0)],
        )
    await append(store, disposed=[A])


async def test_other_sessions_stay(store: SqliteStore) -> None:
    await purge(store, A)
    assert [row.seq for row in await replay(store, B, f"serai-deferred:{B}")] == [3, 4]
    assert await store.turns(B) == [turn(B, 0)]
    assert await store.head(B) == HeadRow(B, b"{}", 1, 3)
    assert [row.uri for row in await store.sessions()] == [B]
    assert await store.check(full=True) == []


async def test_the_name_may_be_used_anew(store: SqliteStore) -> None:
    await purge(store, A)
    await purge(store, A)
    seq = await append(
        store, Row(A, b"new"), sessions=[SessionRow(A, b"new", 9)], turns=[turn(A, 0)], epochs={A: 1}
    )
    assert await store.rows(A, 0) == [StoredRow(seq, A, b"new", None)]
    assert [row.uri for row in await store.sessions()] == [A, B]


async def test_numbers_go_on(tmp_path: Path, store: SqliteStore, opened: Opened) -> None:
    await purge(store, B)
    assert await append(store, Row(A, b"5")) == 5
    await purge(store, A)
    again = await Sqlite(tmp_path).crash(store)
    opening = await opened(again)
    assert opening.last_committed == 0
    assert opening.first_new > 5


async def test_what_other_channels_say_of_its_terminals_goes_too(store: SqliteStore) -> None:
    def claim(session: str) -> bytes:
        return b'{"kind":"session","session":"%s","toolCallId":"call"}' % session.encode()

    def record(uri: bytes, more: bytes) -> Row:
        return Row("serai-terminals", b'{"type":"terminal.created","uri":"%s",%s}' % (uri, more))

    def listed(uri: bytes, claim: bytes) -> bytes:
        return b'{"resource":"%s","title":"echo %s","claim":%s}' % (uri, uri, claim)

    mine, theirs = listed(b"t:/mine", claim(A)), listed(b"t:/theirs", claim(f"{A}b"))
    others = record(b"t:/theirs", b'"title":"echo theirs","claim":%s' % claim(f"{A}b"))
    told = b'{"type":"root/terminalsChanged","terminals":[%s]}'
    config = b'{"type":"root/configChanged","config":{"defaultAgent":"t:/mine"}}'
    await append(
        store,
        record(b"t:/mine", b'"title":"echo mine","claim":%s' % claim(A)),
        others,
        # It was handed over, and is called the same.
        record(b"t:/mine", b'"title":"echo mine","claim":{"kind":"client","clientId":"c"}'),
        Row("ahp-root://", told % b",".join((mine, theirs))),
        Row("ahp-root://", told % mine),
        Row("ahp-root://", told % listed(b"t:/mine", b'{"kind":"client","clientId":"c"}')),
        Row("ahp-root://", config),
    )
    await purge(store, A)
    records = await store.rows("serai-terminals", 0)
    of_root = await store.rows("ahp-root://", 0)
    assert b"mine" not in b"".join(row.action for row in records)
    assert [row.action for row in records if b"echo" in row.action] == [others.action]
    assert [row.action for row in of_root] == [told % theirs, told % b"", told % b"", config]
    assert await store.check(full=True) == []


async def test_content_goes_with_the_last_session_that_uses_it(store: SqliteStore) -> None:
    own, shared, anyones = blob(b"own", A), blob(b"shared", A), blob(b"anyone's")
    await append(store, blobs=[own, shared, shared._replace(session=B), anyones, anyones._replace(session=A)])
    await purge(store, A)
    assert await store.blob(own.digest) is None
    assert await store.blob(shared.digest) is not None
    assert await store.blob(anyones.digest) is not None
    await purge(store, B)
    assert await store.blob(shared.digest) is None


@pytest.mark.parametrize("place", ["row", "turn", "head"])
async def test_content_that_another_session_names_stays(store: SqliteStore, place: str) -> None:
    row = blob(b"copied with a fork", A)
    await append(store, blobs=[row])
    if place == "row":
        await append(store, Row(B, naming(row)))
    elif place == "turn":
        await append(store, turns=[TurnRow(B, 1, "fork", naming(row))])
    else:
        await append(store, heads=[HeadRow(B, naming(row), 1, -1)])
    await purge(store, A)
    assert await store.blob(row.digest) is not None
    await purge(store, B)
    assert await store.blob(row.digest) is None


def content_of(path: Path) -> bytes:
    """Every page of a database, decrypted, also those that are not in use."""
    database: Any = connect(path, KEY)
    content: bytes = database.serialize("main")
    database.close()
    return content


async def test_the_bytes_are_gone_from_the_file_and_its_log(sqlite: SqliteStore) -> None:
    chance = random.Random(3)
    uris = [f"ahp-session:/{chance.randbytes(8).hex()}" for _ in range(8)]
    ordinals = dict.fromkeys(uris, 0)
    for _ in range(120):
        uri = chance.choice(uris)
        mark = f"<{uri}>".encode()
        items = [Row(uri, mark * chance.randint(1, 60))]
        items += [Row(f"serai-{kind}:{uri}", mark) for kind in ("deferred", "deliveries", "agent")]
        batch = Batch(items=[*items], durable=False)
        batch.heads.append(HeadRow(uri, mark * chance.choice([1, 20, 400]), ordinals[uri], 0))
        batch.turns.append(TurnRow(uri, ordinals[uri], "turn", mark * chance.choice([1, 20, 400])))
        batch.sessions.append(SessionRow(uri, mark * chance.randint(1, 9), 1))
        batch.blobs.append(BlobRow(f"digest of {uri}", "text/plain", mark * 3_000, uri))
        ordinals[uri] += 1
        await sqlite.append(batch)
    gone, kept = uris[:3], uris[3:]
    await sqlite.check(full=False)
    for uri in gone:
        await purge(sqlite, uri)
    content = content_of(sqlite.path)
    for uri in gone:
        assert uri.encode() not in content
    for uri in kept:
        assert uri.encode() in content
    assert await sqlite.check(full=True) == []
