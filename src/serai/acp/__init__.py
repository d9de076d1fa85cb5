"""The client of the Agent Client Protocol: it starts agents and talks to them. Begin with `session_start`.

`agent` is one process with many sessions, `session` what is asked in one of them, `requests` what the agent
asks back; `process/` is the process below all that. The rest is pure: `tool_calls` folds what is told into
tool calls.
"""

from __future__ import annotations

from serai.acp.agent import *
from serai.acp.capabilities import *
from serai.acp.client_side import *
from serai.acp.options import *
from serai.acp.process.connection import Launch as Launch
from serai.acp.prompt import *
from serai.acp.servers import *
from serai.acp.session import *
from serai.acp.updates import *
