"""What it costs to read and write a delta, beside msgspec on plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from harness import Result, against_peer, take_turns
from serai import jsonrpc
from serai.ahp import codec, wire
from serai.ahp.actions import ActionEnvelope, SessionDeltaAction

TIMES = 5_000

ENVELOPE = ActionEnvelope(
    channel="ahp-session:/0d5b2c3e-1111-4222-8333-444455556666",
    action=SessionDeltaAction(turn_id="turn-12", part_id="part-3", content="some words of text "),
    server_seq=123_456,
)


def benchmarks() -> Iterator[Result]:
    """The envelope alone, and the whole frame that it travels in."""
    yield from _both("a delta's envelope", wire.encode(ENVELOPE), ENVELOPE)
    message = jsonrpc.Notification(method="action", params=ENVELOPE)
    yield from _both("a delta's frame", codec.encode(message), message)


def _both(what: str, data: bytes, value: ActionEnvelope | jsonrpc.Notification) -> Iterator[Result]:
    plain = msgspec.json.decode(data)
    read_plain, write_plain = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    framed = isinstance(value, jsonrpc.Notification)

    def read() -> None:
        for _ in range(TIMES):
            _ = codec.decode(data) if framed else wire.decode(data, ActionEnvelope)

    def read_peer() -> None:
        for _ in range(TIMES):
            read_plain(data)

    def write() -> None:
        for _ in range(TIMES):
            wire.encode(value)

    def write_peer() -> None:
        for _ in range(TIMES):
            write_plain(plain)

    times = [seconds / TIMES * 1e6 for seconds in take_turns(read, read_peer, write, write_peer)]
    peer = "msgspec, untyped"
    yield against_peer(f"decode {what}", times[0], "µs", peer=peer, peer_figure=times[1], target=2.0)
    yield against_peer(f"encode {what}", times[2], "µs", peer=peer, peer_figure=times[3], target=2.0)
