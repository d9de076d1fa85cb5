"""An asyncio client of any AHP 0.2 host.

async with serai.connect() as client:
    session = await client.create_session("demo")
    turn = await session.prompt("Hello")
    print((await turn.result()).text)
"""

from serai.client.client import Client, SignIn, connect
from serai.client.events import (
    ClientEvent,
    Connected,
    ContentAdded,
    Disconnected,
    NoticeGiven,
    QuestionAsked,
    QuestionClosed,
    ReasoningAdded,
    ResultWaiting,
    SessionAdded,
    SessionChanged,
    SessionRemoved,
    SignInNeeded,
    TextAdded,
    ToolFinished,
    ToolRunning,
    ToolWaiting,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    UsageReported,
    event_json,
)
from serai.client.plugins import ClientPlugin
from serai.client.session import SessionClient
from serai.client.terminal import TerminalClient, TerminalOutput
from serai.client.tools import ClientTool
from serai.client.turn import TurnResult, TurnStream
from serai.errors import AccessRefused, ConnectionLost, Rejected, SessionFailed, SessionGone

__all__ = [
    "AccessRefused",
    "Client",
    "ClientEvent",
    "ClientPlugin",
    "ClientTool",
    "Connected",
    "ConnectionLost",
    "ContentAdded",
    "Disconnected",
    "NoticeGiven",
    "QuestionAsked",
    "QuestionClosed",
    "ReasoningAdded",
    "Rejected",
    "ResultWaiting",
    "SessionAdded",
    "SessionChanged",
    "SessionClient",
    "SessionFailed",
    "SessionGone",
    "SessionRemoved",
    "SignIn",
    "SignInNeeded",
    "TerminalClient",
    "TerminalOutput",
    "TextAdded",
    "ToolFinished",
    "ToolRunning",
    "ToolWaiting",
    "TurnEnded",
    "TurnEvent",
    "TurnResult",
    "TurnStarted",
    "TurnStream",
    "UsageReported",
    "connect",
    "event_json",
]
