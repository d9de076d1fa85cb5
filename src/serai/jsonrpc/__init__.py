"""JSON-RPC 2.0, pure: bytes in, events out, and no I/O.

AHP has the `strict` codec, ACP the patient one of `lines`. A protocol gives its codec to a `Peer`; whoever
has the socket or the pipe carries the frames.
"""

from serai.jsonrpc.lines import LineCodec, Lines, message_of
from serai.jsonrpc.messages import ErrorObject, Failure, Message, Notification, Request, RequestId, Success
from serai.jsonrpc.peer import Answered, Peer, Unreadable
from serai.jsonrpc.strict import StrictCodec

__all__ = [
    "Answered",
    "ErrorObject",
    "Failure",
    "LineCodec",
    "Lines",
    "Message",
    "Notification",
    "Peer",
    "Request",
    "RequestId",
    "StrictCodec",
    "Success",
    "Unreadable",
    "message_of",
]
