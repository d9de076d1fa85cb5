"""The client of the Agent Client Protocol: it starts agents and talks to them.

link          begin here: one agent with one session, opened in the best way, and again
agent         one process, one conversation, many sessions
session       prompts, and what happens while they run
sessions      how sessions are opened, and who hears what of them
requests      what the agent asks, and who answers (client_side)
process/      the process and the conversation below all that

tool_calls    the fold of updates and questions into tool calls         pure
updates, capabilities, options, prompt, servers, tokens, shapes         pure
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
from serai.acp.options import Choice, ConfigOption, Mode, Modes
from serai.acp.process.connection import Launch
from serai.acp.process.stream import Item
from serai.acp.prompt import Finished, PromptFailure, PromptTurn, fit_prompt, text_block
from serai.acp.servers import HttpServer, McpServer, SseServer, StdioServer, read_server
from serai.acp.session import AcpSession
from serai.acp.sessions import SessionInfo, SessionOpening, SessionPage
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
    "Finished",
    "Handshake",
    "HttpServer",
    "Item",
    "Launch",
    "McpCapabilities",
    "McpServer",
    "Mode",
    "Modes",
    "PermissionOption",
    "PermissionRequest",
    "PlanUpdate",
    "PromptCapabilities",
    "PromptFailure",
    "PromptTurn",
    "RawUpdate",
    "ReadTextFile",
    "SessionInfo",
    "SessionInfoUpdate",
    "SessionOpening",
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
