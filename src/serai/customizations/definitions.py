"""What customisations say, beyond what AHP shows of them: for those who use them.

A definition is `runnable` when the folder that it comes from is trusted and it is not switched off where it
is declared. What is not runnable is never started: no hook, no MCP server, no command in a prompt or a skill.
A session that has switched a container off marks what is in it: it is not `enabled`, and not runnable either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from serai.ahp.types import Customization, CustomizationType
from serai.customizations.frontmatter import BrokenFrontmatter, read
from serai.customizations.trees import Tree
from serai.errors import FileUnreadable

__all__ = ["Customizations", "Definition", "HookDefinition", "McpServerDefinition", "TextDefinition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What all definitions have.

    Attributes:
        id: The child's id in AHP. A file of hooks is one child with several definitions.
        type: What it is.
        container: The id of the container that it is in.
        source: Whose convention it is: `Claude Code`, `Cursor`, or the plugin's source.
        plugin: The plugin's name, for what comes from one.
        path: The file, relative to the folder or the plugin that it was found in.
        uri: The file's URI.
        enabled: Whether its container is switched on. Discovery leaves it to the session.
    """

    id: str
    type: CustomizationType
    container: str
    source: str
    plugin: str | None
    path: str
    uri: str
    name: str
    runnable: bool
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDefinition(Definition):
    """An agent, a skill, a prompt or a rule. The text is not kept: it is read when it is wanted."""

    description: str | None
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    """The frontmatter. Numbers and flags are text."""
    instructions: str | None = field(default=None, repr=False)
    """The text, when the file is not Markdown."""
    tree: Tree = field(compare=False, repr=False)
    disable_model_invocation: bool = False
    user_invocable: bool = True
    argument_hint: str | None = None
    always_apply: bool = False
    globs: tuple[str, ...] = ()

    def body(self) -> str:
        """The text, as it is now and without its frontmatter.

        Raises:
            FileUnreadable: The file is gone, or cannot be read any more.
        """
        if self.instructions is not None:
            return self.instructions
        data = self.tree.read(self.path)
        if data is None:
            raise FileUnreadable(f"{self.tree.shown(self.path)} is no longer there")
        text = data.decode("utf-8-sig", "replace")
        try:
            return read(text)[1]
        except BrokenFrontmatter:
            return text


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDefinition(Definition):
    """One thing to do at an event. `kind` is `command`, or what else the file says: `prompt`, `http`."""

    event: str
    kind: str
    matcher: str | None = None
    command: str | None = None
    prompt: str | None = None
    timeout: float | None = None
    """In seconds."""
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerDefinition(Definition):
    """An MCP server. `kind` is `stdio` (with a command), `http` or `sse` (with a URL).

    Variables such as `${TOKEN}` or `${CLAUDE_PLUGIN_ROOT}` stand as they were written.
    """

    kind: str
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class Customizations:
    """The customisations of a folder, a home or a plugin, as AHP shows them, and what they say.

    Attributes:
        containers: In a fixed order, as they are before anyone switches one on or off.
        definitions: What is in them, for those who use it.
        locked: Ids of containers that stay off whatever is asked, since their folder is not trusted.
    """

    containers: list[Customization] = field(default_factory=list[Customization])
    definitions: tuple[Definition, ...] = ()
    locked: frozenset[str] = frozenset()
