"""Agents that speak ACP: which there are, where they are, how they are started, and how programs use them.

    from serai import agents

    answer = await agents.ask("claude", "What is in this folder?")

catalogue/   which agents there are, where they are found, and what is known about them
ask/         one question to one agent, or one conversation with it: begin with ask/ask.py
several/     several agents for one question
testing/     agents for tests
"""

from __future__ import annotations

from serai.acp import (
    AgentCapabilities,
    BasicClient,
    ClientCapabilities,
    ClientSide,
    Cost,
    HttpServer,
    Launch,
    McpCapabilities,
    PermissionOption,
    PromptCapabilities,
    SessionInfo,
    SessionPage,
    SseServer,
    StdioServer,
)
from serai.acp.tool_calls import Diff, ToolUse
from serai.agents.ask.ask import (
    AgentClient,
    Detected,
    ask,
    ask_json,
    capabilities,
    client,
    detect,
    models,
    session,
    stream,
)
from serai.agents.ask.costs import CostTracker, Price
from serai.agents.ask.events import (
    AskResult,
    CommandsChanged,
    Event,
    JsonResult,
    ModeChanged,
    OptionsChanged,
    PlanChanged,
    RawEvent,
    SessionInfoChanged,
    TextAdded,
    ThinkingAdded,
    ToolCalled,
    ToolChanged,
    TurnFinished,
    UsageChanged,
)
from serai.agents.ask.host import WireHost, host
from serai.agents.ask.options import Options, SessionOptions
from serai.agents.ask.permissions import (
    TOOL_KINDS,
    OnToolUse,
    PermissionAsked,
    PermissionPolicy,
    Policy,
    ToolFilter,
)
from serai.agents.ask.prompt import Command, Part, Prompt, audio, embedded, image, link
from serai.agents.ask.retries import Context, Renewed, Retries, Why, is_transient
from serai.agents.ask.session import WireSession
from serai.agents.ask.start import Adapter, AgentRef
from serai.agents.ask.stream import AgentStream
from serai.agents.catalogue.agents import Catalogue, built_in
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.introduction import EffortKind, Models, ModelsFrom
from serai.agents.several.failover import (
    Attempt,
    Candidate,
    CascadeResult,
    FailoverResult,
    RaceResult,
    Stage,
    cascade,
    failover,
    race,
)
from serai.agents.several.pool import AgentPool, pool

__all__ = [
    "TOOL_KINDS",
    "Adapter",
    "AgentCapabilities",
    "AgentClient",
    "AgentDefinition",
    "AgentPool",
    "AgentRef",
    "AgentStream",
    "AskResult",
    "Attempt",
    "BasicClient",
    "Candidate",
    "CascadeResult",
    "Catalogue",
    "ClientCapabilities",
    "ClientSide",
    "Command",
    "CommandsChanged",
    "Context",
    "Cost",
    "CostTracker",
    "Detected",
    "Diff",
    "EffortKind",
    "Event",
    "FailoverResult",
    "HttpServer",
    "JsonResult",
    "Launch",
    "McpCapabilities",
    "ModeChanged",
    "Models",
    "ModelsFrom",
    "OnToolUse",
    "Options",
    "OptionsChanged",
    "Part",
    "PermissionAsked",
    "PermissionOption",
    "PermissionPolicy",
    "PlanChanged",
    "Policy",
    "Price",
    "Prompt",
    "PromptCapabilities",
    "RaceResult",
    "RawEvent",
    "Renewed",
    "Retries",
    "SessionInfo",
    "SessionInfoChanged",
    "SessionOptions",
    "SessionPage",
    "SseServer",
    "Stage",
    "StdioServer",
    "TextAdded",
    "ThinkingAdded",
    "ToolCalled",
    "ToolChanged",
    "ToolFilter",
    "ToolUse",
    "TurnFinished",
    "UsageChanged",
    "Way",
    "Why",
    "WireHost",
    "WireSession",
    "ask",
    "ask_json",
    "audio",
    "built_in",
    "capabilities",
    "cascade",
    "client",
    "detect",
    "embedded",
    "failover",
    "host",
    "image",
    "is_transient",
    "link",
    "models",
    "pool",
    "race",
    "session",
    "stream",
]
