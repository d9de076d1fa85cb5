"""JSON-RPC 2.0, pure: bytes in, events out, and no I/O.

    messages    Request, Notification, Success, Failure, and the numbers of errors
    strict      AHP's codec: typed parameters, and an error for whatever is no message
    lines       ACP's codec: one message per line, and patience with what agents write
    peer        one end of a conversation: gives ids to requests and matches the answers

A protocol gives its codec to a `Peer`; whoever has the socket or the pipe carries the frames.
"""

from serai.jsonrpc.lines import LineCodec, Lines
from serai.jsonrpc.messages import ErrorObject, Failure, Message, Notification, Request, RequestId, Success
from serai.jsonrpc.peer import Answered, Codec, Peer, Unreadable
from serai.jsonrpc.strict import StrictCodec

__all__ = [
    "Answered",
    "Codec",
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
]
