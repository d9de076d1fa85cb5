"""Agents that speak ACP: finding them, starting them, and using them from Python programs.

    from serai import agents

    answer = await agents.ask("claude", "What is in this folder?")

catalogue/   the known agents, where they are installed, and what they can do
ask/         one question to one agent, or one conversation with it: begin with ask/ask.py
several.py   several agents for one question
testing.py   agents for tests
"""

from __future__ import annotations

from serai.acp.agent import SessionInfo as SessionInfo, SessionPage as SessionPage
from serai.acp.capabilities import (
    AgentCapabilities as AgentCapabilities,
    McpCapabilities as McpCapabilities,
    PromptCapabilities as PromptCapabilities,
)
from serai.acp.client_side import (
    ClientCapabilities as ClientCapabilities,
    ClientSide as ClientSide,
    PermissionOption as PermissionOption,
)
from serai.acp.process.connection import Launch as Launch
from serai.acp.servers import HttpServer as HttpServer, SseServer as SseServer, StdioServer as StdioServer
from serai.acp.session import OpenWay as OpenWay
from serai.acp.tool_calls import AgentToolCall as AgentToolCall, Diff as Diff
from serai.acp.updates import Cost as Cost
from serai.agents.ask.ask import *
from serai.agents.ask.costs import *
from serai.agents.ask.events import *
from serai.agents.ask.host import *
from serai.agents.ask.options import *
from serai.agents.ask.permissions import *
from serai.agents.ask.prompt import *
from serai.agents.ask.retries import *
from serai.agents.ask.session import *
from serai.agents.ask.start import *
from serai.agents.ask.turn import *
from serai.agents.catalogue.agents import Catalogue as Catalogue, built_in as built_in
from serai.agents.catalogue.definitions import AgentDefinition as AgentDefinition, Way as Way
from serai.agents.catalogue.finder import FoundAgent as FoundAgent
from serai.agents.catalogue.introduction import Models as Models
from serai.agents.several import *
