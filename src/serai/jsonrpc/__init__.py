"""JSON-RPC 2.0, pure: bytes in, events out, and no I/O.

AHP uses the `strict` codec, ACP the tolerant one of `lines`. A protocol passes its codec to a `Peer`; the
owner of the socket or the pipe transports the frames.
"""

from serai.jsonrpc.lines import LineCodec as LineCodec, LineSplitter as LineSplitter, message_of as message_of
from serai.jsonrpc.messages import (
    ErrorObject as ErrorObject,
    Failure as Failure,
    Message as Message,
    Notification as Notification,
    Request as Request,
    RequestId as RequestId,
    Success as Success,
)
from serai.jsonrpc.peer import Answered as Answered, Peer as Peer
from serai.jsonrpc.strict import StrictCodec as StrictCodec
