"""Subscriptions: a snapshot of a channel, and all later actions on it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Raw

from serai import jsonrpc
from serai.ahp import commands as c
from serai.ahp.channels import ChannelKind, kind_of
from serai.ahp.commands import AhpErrorCode
from serai.ahp.notifications import UnsubscribeParams
from serai.errors import ProtocolError, StorageUnavailable
from serai.host.host import Host
from serai.telemetry.otlp import parse

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer


async def subscribe(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Answer with a channel's state, and follow the channel from that moment on."""
    channel: str = request.params.channel
    async with loaded(peer.host, [channel]) as held:
        found = states(peer.host, [channel])
        if not found and parse(channel) is None:
            raise unknown(channel)
        release = held.pop_all().close

    def answer(seq: int) -> None:
        snapshots = follow(peer, [channel], found, seq)
        release()
        peer.respond_now(request, c.SubscribeResult(snapshot=snapshots[0] if snapshots else None))

    def refuse(reason: StorageUnavailable) -> None:
        release()
        peer.refuse(request, reason)

    peer.journal.then(answer, instead=refuse)


def unsubscribe(peer: AhpPeer, params: UnsubscribeParams) -> None:
    """Stop following a channel, after all that happened before, or at once while nothing is published."""

    def leave(_: object) -> None:
        peer.journal.subscriptions.remove(params.channel, peer)

    peer.journal.then(leave, instead=leave)


@asynccontextmanager
async def loaded(host: Host, channels: list[str]) -> AsyncGenerator[ExitStack]:
    """Bring channels into memory for the length of a block.

    Yields:
        A stack that releases them. `pop_all` keeps them beyond the block, until the new stack is closed.
    """
    with ExitStack() as held:
        held.callback(host.sessions.hold(channels))
        for channel in channels:
            await host.bring(channel)
        yield held


def states(host: Host, channels: list[str]) -> dict[str, Raw]:
    """Return the present states of channels, encoded."""
    found = ((channel, host.state_of(channel)) for channel in channels)
    return {channel: Raw(state) for channel, state in found if state is not None}


def follow(peer: AhpPeer, channels: list[str], found: dict[str, Raw], seq: int) -> list[c.Snapshot]:
    """Follow channels from this moment on. The answer has to be sent before their next actions.

    Returns:
        Snapshots of the channels that were found, with everything up to `seq`.
    """
    if not peer.is_gone:
        for channel in channels:
            if channel in found:
                peer.journal.subscriptions.add(channel, peer)
            else:
                peer.host.telemetry.subscribe(channel, peer)
    return [c.Snapshot(resource=channel, state=state, from_seq=seq) for channel, state in found.items()]


def unknown(channel: str) -> ProtocolError:
    """Return the error for a channel that does not exist."""
    number = (
        AhpErrorCode.SESSION_NOT_FOUND if kind_of(channel) is ChannelKind.SESSION else AhpErrorCode.NOT_FOUND
    )
    return ProtocolError(f"there is no channel {channel}", number=number)
