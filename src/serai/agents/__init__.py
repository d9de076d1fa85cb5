"""Agents that speak ACP: which there are, where they are, how they are started, and how programs use them.

    from serai import agents

    answer = await agents.ask("claude", "What is in this folder?")

catalogue.py, definitions.py, registry.py, known.py   which agents there are
finding.py, places.py, packages.py          where they are
introducing.py, models.py, probing.py       what they say of themselves

asking.py       ask, ask_json, stream, session, capabilities, detect: begin here
hosting.py      a running agent             sessions.py     a conversation
streaming.py    a turn that is followed     events.py       what happens in it
policies.py     who answers permissions     filters.py      which tools may be used at all
costs.py        what it costs               json_answers.py answers of a certain shape
retrying.py     asking again                renewing.py     a new agent for a session
falling_back.py, racing.py, cascading.py, pooling.py        several agents for one question
adapters.py     agents of one's own         testing/        agents for tests
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
from serai.agents.adapters import Adapter, AgentRef
from serai.agents.asked import PermissionAsked
from serai.agents.asking import Detected, ask, ask_json, capabilities, detect, models, session, stream
from serai.agents.attempts import Attempt, Candidate
from serai.agents.cascading import CascadeResult, Stage, cascade
from serai.agents.catalogue import Catalogue, built_in
from serai.agents.clients import AgentClient, client
from serai.agents.costs import CostTracker, Price
from serai.agents.definitions import AgentDefinition, Way
from serai.agents.events import (
    CommandsChanged,
    Event,
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
from serai.agents.falling_back import FailoverResult, failover
from serai.agents.filters import TOOL_KINDS, OnToolUse, ToolFilter
from serai.agents.hosting import WireHost, host
from serai.agents.models import EffortKind, Models, ModelsFrom
from serai.agents.options import Options, SessionOptions
from serai.agents.parts import Command, Part, Prompt, audio, embedded, image, link
from serai.agents.policies import PermissionPolicy, Policy
from serai.agents.pooling import AgentPool, pool
from serai.agents.racing import RaceResult, race
from serai.agents.results import AskResult, JsonResult
from serai.agents.retrying import Context, Renewed, Retries, Why
from serai.agents.sessions import WireSession
from serai.agents.streaming import AgentStream
from serai.agents.tool_uses import Diff, ToolUse
from serai.agents.transience import is_transient

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
