"""OTLP/JSON to an endpoint: what the SDK's exporters write as protobuf is written anew on its way out.

So all that the exporters do with endpoints, headers, certificates and further tries holds for JSON too. Only
`serai.telemetry.sdk` imports this.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any, cast

import requests
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

__all__ = ["JsonSession"]

_IDS = frozenset({"traceId", "spanId", "parentSpanId"})

_PACKING: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gzip": (gzip.decompress, gzip.compress),
    "deflate": (zlib.decompress, zlib.compress),
    "": (bytes, bytes),
}


class JsonSession(requests.Session):
    """The connection of one exporter.

    Args:
        message: What the exporter sends.
    """

    def __init__(self, message: type[Message]) -> None:
        super().__init__()
        self._message = message

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send a request, with its body as JSON."""
        unpack, pack = _PACKING[str(request.headers.get("Content-Encoding", ""))]
        message = self._message.FromString(unpack(cast("bytes", request.body)))
        said = MessageToDict(message, use_integers_for_enums=True)
        request.headers["Content-Type"] = "application/json"
        request.prepare_body(pack(json.dumps(_with_hex_ids(said)).encode()), None)
        return super().send(request, **kwargs)


def _with_hex_ids(value: Any) -> Any:
    """OTLP has ids in hex where protobuf's JSON has base64."""
    match value:
        case dict():
            members = cast("dict[str, Any]", value).items()
            return {key: _hex(each) if key in _IDS else _with_hex_ids(each) for key, each in members}
        case list():
            return [_with_hex_ids(each) for each in cast("list[Any]", value)]
        case _:
            return value


def _hex(identity: str) -> str:
    return base64.b64decode(identity).hex()
