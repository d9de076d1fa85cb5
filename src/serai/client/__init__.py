"""An asyncio client of any AHP 0.2 host.

async with serai.connect() as client:
    session = await client.create_session("demo")
    turn = await session.prompt("Hello")
    print((await turn.result()).text)

The names in `__all__` of each module can be imported from here.
"""

from serai.client.agent_session import *
from serai.client.client import *
from serai.client.events import *
from serai.client.lending import *
from serai.client.session import *
from serai.client.terminal import *
from serai.client.turn import *
from serai.errors import (
    AccessRefused as AccessRefused,
    ConnectionLost as ConnectionLost,
    Rejected as Rejected,
    SessionFailed as SessionFailed,
    SessionGone as SessionGone,
)
from serai.session.events import SessionEvent as SessionEvent, SessionEventType as SessionEventType
