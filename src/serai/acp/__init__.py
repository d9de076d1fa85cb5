"""The client of the Agent Client Protocol: it starts agents and talks to them.

capabilities.py   what an agent says that it can do                     pure
frames.py         lines to messages and back                            pure
updates.py        what is told of a session                             pure
mending.py        lines that are not quite JSON                         pure
prompts.py, servers.py, options.py, listing.py, failures.py, shapes.py  pure

connection.py     a process and the conversation with it
peer.py           requests and answers, in their order
serving.py        what the agent asks, and who answers
session.py        prompts, and what happens while they run
agent.py          all of it: begin here
"""

from __future__ import annotations

from serai.acp.agent import Agent
from serai.acp.capabilities import (
    AgentCapabilities,
    AgentInfo,
    AuthMethod,
    Handshake,
    McpCapabilities,
    PromptCapabilities,
)
from serai.acp.client_side import (
    BasicClient,
    ClientCapabilities,
    ClientSide,
    CreateTerminal,
    Elicitation,
    ElicitationAnswer,
    Event,
    PermissionOption,
    PermissionRequest,
    ReadTextFile,
    TerminalExit,
    TerminalOutput,
    TerminalRequest,
    WriteTextFile,
)
from serai.acp.connection import Launch
from serai.acp.listing import SessionInfo, SessionPage
from serai.acp.options import Choice, ConfigOption, Mode, Modes
from serai.acp.prompts import fit_prompt, text_block
from serai.acp.servers import HttpServer, McpServer, SseServer, StdioServer, read_server
from serai.acp.session import AcpSession
from serai.acp.sessions import Opening
from serai.acp.stream import Item
from serai.acp.turn import Failure, Finished, PromptTurn
from serai.acp.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    Block,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    PlanUpdate,
    RawUpdate,
    SessionInfoUpdate,
    ToolCall,
    ToolCallUpdate,
    Update,
    UsageUpdate,
    UserMessageChunk,
)

__all__ = [
    "AcpSession",
    "Agent",
    "AgentCapabilities",
    "AgentInfo",
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "AuthMethod",
    "AvailableCommandsUpdate",
    "BasicClient",
    "Block",
    "Choice",
    "ClientCapabilities",
    "ClientSide",
    "ConfigOption",
    "ConfigOptionUpdate",
    "Cost",
    "CreateTerminal",
    "CurrentModeUpdate",
    "Elicitation",
    "ElicitationAnswer",
    "Event",
    "Failure",
    "Finished",
    "Handshake",
    "HttpServer",
    "Item",
    "Launch",
    "McpCapabilities",
    "McpServer",
    "Mode",
    "Modes",
    "Opening",
    "PermissionOption",
    "PermissionRequest",
    "PlanUpdate",
    "PromptCapabilities",
    "PromptTurn",
    "RawUpdate",
    "ReadTextFile",
    "SessionInfo",
    "SessionInfoUpdate",
    "SessionPage",
    "SseServer",
    "StdioServer",
    "TerminalExit",
    "TerminalOutput",
    "TerminalRequest",
    "ToolCall",
    "ToolCallUpdate",
    "Update",
    "UsageUpdate",
    "UserMessageChunk",
    "WriteTextFile",
    "fit_prompt",
    "read_server",
    "text_block",
]
