"""Customisations: agents, skills, prompts, rules, hooks and MCP servers in their conventional places.

    places.py          the table of places            discovery.py       a folder and a home to `Found`
    trees.py           disk, or a client's files      client_plugins.py  published plugins, kept by nonce
    walking.py         patterns to files              changes.py         switches, and the smallest actions
    documents.py       agents, skills, prompts, rules watching.py        what to watch
    manifests.py       hooks and MCP servers          definitions.py     what later steps use
    plugins.py         plugins                        containers.py      ids and load states
    frontmatter.py, loosejson.py                      files that strangers wrote

All of it is synchronous, reads only, runs nothing, and is bounded. Call what touches the disk in a thread.
"""

from __future__ import annotations

from serai.customizations.changes import CustomizationAction, difference, with_toggles
from serai.customizations.client_plugins import ClientPlugins, read_client_plugin
from serai.customizations.definitions import (
    AgentDefinition,
    Definition,
    HookDefinition,
    McpServerDefinition,
    PromptDefinition,
    RuleDefinition,
    SkillDefinition,
    TextDefinition,
)
from serai.customizations.discovery import discover
from serai.customizations.found import Found
from serai.customizations.watching import Watched, watched

__all__ = [
    "AgentDefinition",
    "ClientPlugins",
    "CustomizationAction",
    "Definition",
    "Found",
    "HookDefinition",
    "McpServerDefinition",
    "PromptDefinition",
    "RuleDefinition",
    "SkillDefinition",
    "TextDefinition",
    "Watched",
    "difference",
    "discover",
    "read_client_plugin",
    "watched",
    "with_toggles",
]
