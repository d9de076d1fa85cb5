"""JSON-RPC 2.0, pure: bytes in, events out, and no I/O.

AHP has the `strict` codec, ACP the patient one of `lines`. A protocol gives its codec to a `Peer`; whoever
has the socket or the pipe carries the frames.
"""

from serai.jsonrpc.lines import LineCodec as LineCodec
from serai.jsonrpc.lines import Lines as Lines
from serai.jsonrpc.lines import message_of as message_of
from serai.jsonrpc.messages import ErrorObject as ErrorObject
from serai.jsonrpc.messages import Failure as Failure
from serai.jsonrpc.messages import Message as Message
from serai.jsonrpc.messages import Notification as Notification
from serai.jsonrpc.messages import Request as Request
from serai.jsonrpc.messages import RequestId as RequestId
from serai.jsonrpc.messages import Success as Success
from serai.jsonrpc.peer import Answered as Answered
from serai.jsonrpc.peer import Peer as Peer
from serai.jsonrpc.peer import Unreadable as Unreadable
from serai.jsonrpc.strict import StrictCodec as StrictCodec
