"""Customisations: agents, skills, prompts, rules, hooks and MCP servers in their conventional places.

    places.py       the table of places              documents.py    agents, skills, prompts and rules
    discovery.py    a folder and a home              frontmatter.py  the YAML on top of them
    trees.py        disk, or a client's files        servers.py      hooks and MCP servers
    containers.py   ids, bounds and load states      plugins.py      plugins, also a client's
    definitions.py  what later steps use             changes.py      switches, and the smallest actions
    watched.py      what to watch

All of it is synchronous, reads only, runs nothing, and is bounded. Call what touches the disk in a thread.
"""

from __future__ import annotations

from serai.customizations.changes import CustomizationAction, difference, with_toggles
from serai.customizations.definitions import (
    Customizations,
    Definition,
    HookDefinition,
    McpServerDefinition,
    TextDefinition,
)
from serai.customizations.discovery import discover
from serai.customizations.plugins import ClientPlugins, read_client_plugin
from serai.customizations.watched import Watched, watched

__all__ = [
    "ClientPlugins",
    "CustomizationAction",
    "Customizations",
    "Definition",
    "HookDefinition",
    "McpServerDefinition",
    "TextDefinition",
    "Watched",
    "difference",
    "discover",
    "read_client_plugin",
    "watched",
    "with_toggles",
]
