"""What customisations say, beyond what AHP shows of them: for those who use them.

A definition is `runnable` when the folder that it comes from is trusted and it is not switched off where it
is declared. What is not runnable is never started: no hook, no MCP server, no command in a prompt or a skill.
A session that has switched a container off marks what is in it: it is not `enabled`, and not runnable either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from serai.customizations.frontmatter import Broken, Value, read
from serai.customizations.trees import Tree
from serai.errors import FileUnreadable

__all__ = [
    "AgentDefinition",
    "Definition",
    "HookDefinition",
    "McpServerDefinition",
    "PromptDefinition",
    "RuleDefinition",
    "SkillDefinition",
    "TextDefinition",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What all definitions have.

    Attributes:
        id: The child's id in AHP. A file of hooks is one child with several definitions.
        container: The id of the container that it is in.
        source: Whose convention it is: `Claude Code`, `Cursor`, or the plugin's source.
        plugin: The plugin's name, for what comes from one.
        path: The file, relative to the folder or the plugin that it was found in.
        uri: The file's URI.
        enabled: Whether its container is switched on. Discovery leaves it to the session.
    """

    id: str
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
    """A definition with a text. The text is not kept: it is read when it is wanted."""

    description: str | None
    fields: Mapping[str, Value] = field(default_factory=dict[str, Value], repr=False)
    """The frontmatter. Numbers are text."""
    instructions: str | None = field(default=None, repr=False)
    """The text, when the file is not Markdown."""
    tree: Tree = field(compare=False, repr=False)

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
            return read(text).body
        except Broken:
            return text


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition(TextDefinition):
    """A custom agent; the body is its system prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDefinition(TextDefinition):
    """A skill. Its other files are beside the one at `uri`."""

    disable_model_invocation: bool = False
    user_invocable: bool = True
    argument_hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDefinition(TextDefinition):
    """A prompt, to be started with `/name`."""

    argument_hint: str | None = None
    disable_model_invocation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDefinition(TextDefinition):
    """A rule for the context."""

    always_apply: bool = False
    globs: tuple[str, ...] = ()


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
