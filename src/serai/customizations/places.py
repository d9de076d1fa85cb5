"""Where customisations are kept by convention: one row for each place, and nothing else.

To support another tool, add rows. Every row is proven by a test that makes its file, so a row that no reader
understands cannot be added. Paths are relative to the working directory or to the person's home.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from serai.ahp.types import CustomizationType

__all__ = ["MANIFESTS", "PLACES", "PLUGINS", "Format", "Place", "PluginLayout", "PluginPlace", "Where"]


class Where(Enum):
    """What a row's path is relative to."""

    DIRECTORY = auto()
    HOME = auto()
    BOTH = auto()


class Format(Enum):
    """How a file of a row is read."""

    MARKDOWN = auto()
    """Frontmatter and a body."""
    TOML = auto()
    """A table whose `prompt` or `developer_instructions` is the body."""
    HOOKS = auto()
    """JSON with `hooks`: events, and what runs at each."""
    SERVERS = auto()
    """JSON, or TOML, that has MCP servers by name under the row's `key`."""


@dataclass(frozen=True, slots=True)
class Place:
    """One conventional place.

    Attributes:
        pattern: Which files in the folder: a name, `*.md`, `**/*.md` (any depth) or `*/SKILL.md`.
        key: For servers: the member that holds them.
        of_projects: For servers: the file has some for single projects too. In such a file a tool keeps its
            memory, so it may be long.
        always: For rules: they apply unless their globs narrow it. Otherwise the frontmatter says so.
        offered: The folder is shown even when it is not there yet, so that a client has where to write to.
    """

    source: str
    where: Where
    folder: str
    pattern: str
    contents: CustomizationType
    format: Format = Format.MARKDOWN
    key: str = ""
    of_projects: bool = False
    always: bool = False
    offered: bool = False

    @property
    def is_one_file(self) -> bool:
        """Whether the row names one file, and not a folder that more can be put into."""
        return "*" not in self.pattern


class PluginLayout(Enum):
    """How the plugins of a row are found."""

    FOLDERS = auto()
    """Each folder in it is a plugin."""
    REGISTRY = auto()
    """A file of Claude Code that says where its plugins are."""
    ITSELF = auto()
    """The folder is a plugin when it has a manifest. It is being written, not installed: off at first."""


@dataclass(frozen=True, slots=True)
class PluginPlace:
    """One conventional place of plugins."""

    source: str
    where: Where
    path: str
    layout: PluginLayout


_DIRECTORY, _HOME, _BOTH = Where.DIRECTORY, Where.HOME, Where.BOTH
_AGENT, _SKILL, _PROMPT = CustomizationType.AGENT, CustomizationType.SKILL, CustomizationType.PROMPT
_RULE, _HOOK, _SERVER = CustomizationType.RULE, CustomizationType.HOOK, CustomizationType.MCP_SERVER
_TOML, _HOOKS, _SERVERS = Format.TOML, Format.HOOKS, Format.SERVERS

PLACES: tuple[Place, ...] = (
    # Neutral ground: AGENTS.md and .agents/
    Place("AGENTS.md", _DIRECTORY, "", "AGENTS.md", _RULE, always=True),
    Place(".agents", _BOTH, ".agents/agents", "**/*.md", _AGENT, offered=True),
    Place(".agents", _BOTH, ".agents/skills", "*/SKILL.md", _SKILL, offered=True),
    Place(".agents", _BOTH, ".agents/prompts", "**/*.md", _PROMPT, offered=True),
    Place(".agents", _BOTH, ".agents/rules", "**/*.md", _RULE, offered=True),
    # Claude Code
    Place("Claude Code", _DIRECTORY, "", "CLAUDE.md", _RULE, always=True),
    Place("Claude Code", _DIRECTORY, "", "CLAUDE.local.md", _RULE, always=True),
    Place("Claude Code", _BOTH, ".claude", "CLAUDE.md", _RULE, always=True),
    Place("Claude Code", _BOTH, ".claude/rules", "**/*.md", _RULE, always=True),
    Place("Claude Code", _BOTH, ".claude/agents", "**/*.md", _AGENT),
    Place("Claude Code", _BOTH, ".claude/skills", "*/SKILL.md", _SKILL),
    Place("Claude Code", _BOTH, ".claude/commands", "**/*.md", _PROMPT),
    Place("Claude Code", _BOTH, ".claude", "settings.json", _HOOK, _HOOKS),
    Place("Claude Code", _DIRECTORY, ".claude", "settings.local.json", _HOOK, _HOOKS),
    Place("Claude Code", _DIRECTORY, "", ".mcp.json", _SERVER, _SERVERS, key="mcpServers"),
    Place("Claude Code", _HOME, "", ".claude.json", _SERVER, _SERVERS, key="mcpServers", of_projects=True),
    # GitHub Copilot and VS Code
    Place("Copilot", _DIRECTORY, ".github", "copilot-instructions.md", _RULE, always=True),
    Place("Copilot", _DIRECTORY, ".github/instructions", "**/*.md", _RULE),
    Place("Copilot", _DIRECTORY, ".github/prompts", "*.prompt.md", _PROMPT),
    Place("Copilot", _DIRECTORY, ".github/agents", "*.md", _AGENT),
    Place("Copilot", _DIRECTORY, ".github/chatmodes", "*.chatmode.md", _AGENT),
    Place("Copilot", _DIRECTORY, ".github/skills", "*/SKILL.md", _SKILL),
    Place("Copilot", _DIRECTORY, ".github/hooks", "*.json", _HOOK, _HOOKS),
    Place("Copilot", _DIRECTORY, ".vscode", "mcp.json", _SERVER, _SERVERS, key="servers"),
    Place("Copilot", _HOME, ".copilot", "copilot-instructions.md", _RULE, always=True),
    Place("Copilot", _HOME, ".copilot/instructions", "**/*.instructions.md", _RULE),
    Place("Copilot", _HOME, ".copilot/agents", "*.md", _AGENT),
    Place("Copilot", _HOME, ".copilot/skills", "*/SKILL.md", _SKILL),
    Place("Copilot", _HOME, ".copilot/hooks", "*.json", _HOOK, _HOOKS),
    Place("Copilot", _HOME, ".copilot", "mcp-config.json", _SERVER, _SERVERS, key="mcpServers"),
    # Cursor
    Place("Cursor", _DIRECTORY, "", ".cursorrules", _RULE, always=True),
    Place("Cursor", _DIRECTORY, ".cursor/rules", "**/*.mdc", _RULE),
    Place("Cursor", _BOTH, ".cursor/commands", "**/*.md", _PROMPT),
    Place("Cursor", _BOTH, ".cursor/agents", "*.md", _AGENT),
    Place("Cursor", _BOTH, ".cursor/skills", "*/SKILL.md", _SKILL),
    Place("Cursor", _BOTH, ".cursor", "hooks.json", _HOOK, _HOOKS),
    Place("Cursor", _BOTH, ".cursor", "mcp.json", _SERVER, _SERVERS, key="mcpServers"),
    # Codex
    Place("Codex", _HOME, ".codex", "AGENTS.md", _RULE, always=True),
    Place("Codex", _HOME, ".codex/prompts", "*.md", _PROMPT),
    Place("Codex", _BOTH, ".codex/agents", "*.toml", _AGENT, _TOML),
    Place("Codex", _BOTH, ".codex/skills", "*/SKILL.md", _SKILL),
    Place("Codex", _BOTH, ".codex", "hooks.json", _HOOK, _HOOKS),
    Place("Codex", _BOTH, ".codex", "config.toml", _SERVER, _SERVERS, key="mcp_servers"),
    # Gemini CLI
    Place("Gemini", _DIRECTORY, "", "GEMINI.md", _RULE, always=True),
    Place("Gemini", _HOME, ".gemini", "GEMINI.md", _RULE, always=True),
    Place("Gemini", _BOTH, ".gemini/commands", "**/*.toml", _PROMPT, _TOML),
    Place("Gemini", _BOTH, ".gemini/agents", "*.md", _AGENT),
    Place("Gemini", _BOTH, ".gemini/skills", "*/SKILL.md", _SKILL),
    Place("Gemini", _BOTH, ".gemini", "settings.json", _SERVER, _SERVERS, key="mcpServers"),
    # OpenCode, with the older names of its folders
    Place("OpenCode", _DIRECTORY, ".opencode/agents", "**/*.md", _AGENT),
    Place("OpenCode", _DIRECTORY, ".opencode/agent", "**/*.md", _AGENT),
    Place("OpenCode", _DIRECTORY, ".opencode/commands", "**/*.md", _PROMPT),
    Place("OpenCode", _DIRECTORY, ".opencode/command", "**/*.md", _PROMPT),
    Place("OpenCode", _DIRECTORY, ".opencode/skills", "*/SKILL.md", _SKILL),
    Place("OpenCode", _DIRECTORY, "", "opencode.json", _SERVER, _SERVERS, key="mcp"),
    Place("OpenCode", _DIRECTORY, "", "opencode.jsonc", _SERVER, _SERVERS, key="mcp"),
    Place("OpenCode", _HOME, ".config/opencode", "AGENTS.md", _RULE, always=True),
    Place("OpenCode", _HOME, ".config/opencode/agents", "**/*.md", _AGENT),
    Place("OpenCode", _HOME, ".config/opencode/agent", "**/*.md", _AGENT),
    Place("OpenCode", _HOME, ".config/opencode/commands", "**/*.md", _PROMPT),
    Place("OpenCode", _HOME, ".config/opencode/command", "**/*.md", _PROMPT),
    Place("OpenCode", _HOME, ".config/opencode/skills", "*/SKILL.md", _SKILL),
    Place("OpenCode", _HOME, ".config/opencode", "opencode.json", _SERVER, _SERVERS, key="mcp"),
    Place("OpenCode", _HOME, ".config/opencode", "opencode.jsonc", _SERVER, _SERVERS, key="mcp"),
)

PLUGINS: tuple[PluginPlace, ...] = (
    PluginPlace("Open Plugins", _BOTH, ".agents/plugins", PluginLayout.FOLDERS),
    PluginPlace("Open Plugins", _DIRECTORY, ".plugin/plugin.json", PluginLayout.ITSELF),
    PluginPlace("Claude Code", _DIRECTORY, ".claude-plugin/plugin.json", PluginLayout.ITSELF),
    PluginPlace("Claude Code", _HOME, ".claude/plugins/installed_plugins.json", PluginLayout.REGISTRY),
)

MANIFESTS: tuple[str, ...] = (".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json")
"""Where a plugin says what it is, the first that is there: Open Plugins, Claude Code, Agent Plugins."""
