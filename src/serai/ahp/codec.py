"""AHP's messages, to JSON and back: JSON-RPC with the types of AHP's methods."""

from __future__ import annotations

from serai.ahp import wire
from serai.ahp.methods import EXTENSIONS, NOTIFICATIONS, REQUESTS
from serai.jsonrpc import StrictCodec

__all__ = ["CODEC", "decode", "encode"]

CODEC = StrictCodec(REQUESTS, NOTIFICATIONS, EXTENSIONS, read=wire.decode, write=wire.encode)
"""Reads any frame of AHP."""

decode = CODEC.decode
encode = CODEC.encode
