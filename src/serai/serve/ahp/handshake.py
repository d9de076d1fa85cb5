"""The handshake: a client introduces itself, or comes back after a lost connection."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from serai import jsonrpc
from serai.ahp import commands as c
from serai.ahp.channels import ChannelKind, kind_of
from serai.ahp.commands import AhpErrorCode
from serai.completions.completion import TRIGGERS
from serai.errors import InvalidParams, ProtocolError, StorageUnavailable
from serai.host.host import Host
from serai.journal.envelopes import MAX_BYTES, MAX_ENVELOPES, envelope
from serai.serve.ahp.subscriptions import follow, loaded, states
from serai.store.contract import ClientRow, StoredRow
from serai.telemetry.otlp import CAPABILITIES, parse

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

_log = logging.getLogger(__name__)

_VERSION = re.compile(r"0\.2\.(?:0|[1-9][0-9]*)")
_SUPPORTED = ["^0.2.0"]
_STORED = {ChannelKind.ROOT, ChannelKind.SESSION}
"""Kinds of channels whose actions the store has. It has none of terminals and watches."""


def ping(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Answer after all that happened before, or at once while nothing can be written."""
    peer.respond_anyway(jsonrpc.Success(id=request.id, result=None))


async def initialize(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Agree on a version, bind the client id to its token, and give the first snapshots."""
    params: c.InitializeParams = request.params
    if not params.client_id:
        raise InvalidParams("a client needs an id", field="params.clientId")
    version = next((v for v in params.protocol_versions if _VERSION.fullmatch(v)), None)
    if version is None:
        peer.fail(
            ProtocolError(
                f"none of the versions {params.protocol_versions} is supported",
                id=request.id,
                number=AhpErrorCode.UNSUPPORTED_PROTOCOL_VERSION,
                data={"supportedVersions": _SUPPORTED},
            )
        )

        def close(_: object) -> None:
            peer.link.close(1002, "unsupported protocol version")

        peer.journal.then(close, instead=close)
        return
    host = peer.host
    channels = list(dict.fromkeys(params.initial_subscriptions or ()))
    async with loaded(host, channels) as held:
        async with host.clients.handshakes:
            await _known(peer, params.client_id)
            peer.become(params.client_id)
            _bind(peer, params.client_id, version)
            peer.count = host.clients.start_counting(params.client_id)
        found, release = states(host, channels), held.pop_all().close

    def answer(seq: int) -> None:
        snapshots = follow(peer, channels, found, seq)
        release()
        result = c.InitializeResult(
            protocol_version=version,
            server_seq=seq,
            snapshots=snapshots,
            default_directory=host.default_directory,
            completion_trigger_characters=list(TRIGGERS),
            telemetry=CAPABILITIES,
        )
        peer.respond_now(request, result)

    await _answer_in_line(peer, answer, release)


async def _answer_in_line(peer: AhpPeer, answer: Callable[[int], None], release: Callable[[], None]) -> None:
    """Answer a handshake once all before it is committed.

    Further messages of the client wait until then, when it is certain that it is this client. If it is not,
    this raises the answer.
    """

    def refuse(_: StorageUnavailable) -> None:
        release()
        peer.become_nobody()

    peer.journal.then(answer, instead=refuse)
    await peer.journal.committed(patient=False)


async def _known(peer: AhpPeer, client_id: str) -> ClientRow | None:
    """Return what is stored about a client id.

    Raises:
        ProtocolError: It belongs to another token. If that token is not accepted any more, the client id
            passes on to the token that replaced it.
    """
    await peer.journal.committed(patient=False)  # an earlier connection may have bound it just now
    known = await peer.journal.store.client(client_id)
    if known is not None and known.token != peer.link.token_digest and peer.link.admits(known.token):
        raise ProtocolError(
            f"the client id {client_id!r} belongs to another token; choose another id",
            number=AhpErrorCode.PERMISSION_DENIED,
        )
    return known


def _bind(peer: AhpPeer, client_id: str, version: str) -> None:
    """Bind a client id to a token with the next commit."""
    peer.journal.side.clients.append(ClientRow(client_id, version, peer.link.token_digest))


async def reconnect(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Give a client what it has missed: all of it, or snapshots."""
    params: c.ReconnectParams = request.params
    journal, host = peer.journal, peer.host
    last_seen = max(params.last_seen_server_seq, 0)
    gaps = await journal.store.gaps()
    lost_in_gaps = any(before < last_seen < first for before, first in gaps)
    wanted = list(dict.fromkeys(params.subscriptions))
    async with loaded(host, wanted) as held:
        async with host.clients.handshakes:
            known = await _known(peer, params.client_id)
            if known is None:
                raise ProtocolError(
                    f"the client {params.client_id!r} is not known; initialize instead",
                    number=AhpErrorCode.NOT_FOUND,
                )
            peer.become(params.client_id)
            try:
                # Read only now: it includes actions from an earlier connection that is still ending.
                mark = await journal.store.mark(params.client_id)
            except BaseException:
                peer.become_nobody()
                raise
            if known.token != peer.link.token_digest:
                _bind(peer, params.client_id, known.version)
            peer.count = host.clients.go_on_counting(params.client_id, mark)
        until, stored = journal.last_seq, None
        if journal.recent.after(last_seen, ()) is None:
            stored = await _replay_from_store(peer, wanted, last_seen, until)
        found, release = states(host, wanted), held.pop_all().close
    made_since = any(_is_newer(host, channel, last_seen) for channel in found)
    missing = [channel for channel in wanted if channel not in found and parse(channel) is None]

    def answer(seq: int) -> None:
        snapshots = follow(peer, wanted, found, seq)
        release()
        replay = journal.recent.after(last_seen, found)
        if replay is None and stored is not None and all(kind_of(channel) in _STORED for channel in found):
            since = journal.recent.after(until, found)
            rows = [row for row in stored if row.channel in found]
            before = [envelope(row.channel, row.action, row.seq, row.origin) for row in rows]
            replay = None if since is None else before + since
        if replay is None or last_seen > seq or lost_in_gaps or made_since:
            result: Any = c.ReconnectSnapshotResult(snapshots=snapshots)
        else:
            result = {"type": "replay", "actions": [Raw(made) for made in replay], "missing": missing}
        peer.respond_now(request, result)

    await _answer_in_line(peer, answer, release)


def _is_newer(host: Host, channel: str, last_seen: int) -> bool:
    """Tell whether a channel was made anew under a URI that the client knows.

    Making a channel is no action, so a replay would apply its actions to the state of the earlier channel. A
    client that has seen nothing at all knows of no earlier one.
    """
    session, opened = host.sessions.peek(channel), host.channels.get(channel)
    if session is not None:
        return 0 < last_seen < session.kept.epoch - 1
    return opened is not None and 0 < last_seen < opened.since


async def _replay_from_store(
    peer: AhpPeer, channels: list[str], after: int, until: int
) -> list[StoredRow] | None:
    try:
        return await peer.journal.store.replay(
            channels, after=after, until=until, max_rows=MAX_ENVELOPES, max_bytes=MAX_BYTES
        )
    except Exception:  # noqa: BLE001 - whatever it is, there is another way
        _log.exception("a replay cannot be read; snapshots do as well")
        return None
