"""Where customisations are kept by convention: one row for each place, and nothing else.

To support another tool, add rows. Every row is proven by a test that makes its file, so a row that no reader
understands cannot be added. Paths are relative to the working directory, to the person's home, or to the
folder of their `serai.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from serai.ahp.types import CustomizationType


class Where(Enum):
    """What a row's path is relative to."""

    DIRECTORY = auto()
    HOME = auto()
    BOTH = auto()
    """The working directory, and the home."""
    SETTINGS = auto()
    """The folder of the person's `serai.toml`."""

    def has(self, root: Where) -> bool:
        """Whether it means a root, which is never `BOTH`."""
        return self is root or (self is Where.BOTH and root is not Where.SETTINGS)


class Format(Enum):
    """How a file of a row is read."""

    MARKDOWN = auto()
    """Frontmatter and a body."""
    TOML = auto()
    """A table whose `prompt` or `developer_instructions` is the body."""
    AGENT = auto()
    """YAML: an agent of Serai itself. It brings tools along, so it counts only where it is trusted."""
    HOOKS = auto()
    """JSON with `hooks`: events, and what runs at each."""
    SERVERS = auto()
    """JSON, or TOML, that has MCP servers by name under the row's `key`."""


@dataclass(frozen=True, slots=True)
class FilePlace:
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
_TOML, _HOOKS, _SERVERS, _YAML = Format.TOML, Format.HOOKS, Format.SERVERS, Format.AGENT

PLACES: tuple[FilePlace, ...] = (
    # Serai
    FilePlace("Serai", _DIRECTORY, ".serai/agents", "*.agent.yaml", _AGENT, _YAML),
    FilePlace("Serai", Where.SETTINGS, "agents", "*.agent.yaml", _AGENT, _YAML),
    # Neutral ground: AGENTS.md and .agents/
    FilePlace("AGENTS.md", _DIRECTORY, "", "AGENTS.md", _RULE, always=True),
    FilePlace(".agents", _BOTH, ".agents/agents", "**/*.md", _AGENT, offered=True),
    FilePlace(".agents", _BOTH, ".agents/skills", "*/SKILL.md", _SKILL, offered=True),
    FilePlace(".agents", _BOTH, ".agents/prompts", "**/*.md", _PROMPT, offered=True),
    FilePlace(".agents", _BOTH, ".agents/rules", "**/*.md", _RULE, offered=True),
    # Claude Code
    FilePlace("Claude Code", _DIRECTORY, "", "CLAUDE.md", _RULE, always=True),
    FilePlace("Claude Code", _DIRECTORY, "", "CLAUDE.local.md", _RULE, always=True),
    FilePlace("Claude Code", _BOTH, ".claude", "CLAUDE.md", _RULE, always=True),
    FilePlace("Claude Code", _BOTH, ".claude/rules", "**/*.md", _RULE, always=True),
    FilePlace("Claude Code", _BOTH, ".claude/agents", "**/*.md", _AGENT),
    FilePlace("Claude Code", _BOTH, ".claude/skills", "*/SKILL.md", _SKILL),
    FilePlace("Claude Code", _BOTH, ".claude/commands", "**/*.md", _PROMPT),
    FilePlace("Claude Code", _BOTH, ".claude", "settings.json", _HOOK, _HOOKS),
    FilePlace("Claude Code", _DIRECTORY, ".claude", "settings.local.json", _HOOK, _HOOKS),
    FilePlace("Claude Code", _DIRECTORY, "", ".mcp.json", _SERVER, _SERVERS, key="mcpServers"),
    FilePlace(
        "Claude Code", _HOME, "", ".claude.json", _SERVER, _SERVERS, key="mcpServers", of_projects=True
    ),
    # GitHub Copilot and VS Code
    FilePlace("Copilot", _DIRECTORY, ".github", "copilot-instructions.md", _RULE, always=True),
    FilePlace("Copilot", _DIRECTORY, ".github/instructions", "**/*.md", _RULE),
    FilePlace("Copilot", _DIRECTORY, ".github/prompts", "*.prompt.md", _PROMPT),
    FilePlace("Copilot", _DIRECTORY, ".github/agents", "*.md", _AGENT),
    FilePlace("Copilot", _DIRECTORY, ".github/chatmodes", "*.chatmode.md", _AGENT),
    FilePlace("Copilot", _DIRECTORY, ".github/skills", "*/SKILL.md", _SKILL),
    FilePlace("Copilot", _DIRECTORY, ".github/hooks", "*.json", _HOOK, _HOOKS),
    FilePlace("Copilot", _DIRECTORY, ".vscode", "mcp.json", _SERVER, _SERVERS, key="servers"),
    FilePlace("Copilot", _HOME, ".copilot", "copilot-instructions.md", _RULE, always=True),
    FilePlace("Copilot", _HOME, ".copilot/instructions", "**/*.instructions.md", _RULE),
    FilePlace("Copilot", _HOME, ".copilot/agents", "*.md", _AGENT),
    FilePlace("Copilot", _HOME, ".copilot/skills", "*/SKILL.md", _SKILL),
    FilePlace("Copilot", _HOME, ".copilot/hooks", "*.json", _HOOK, _HOOKS),
    FilePlace("Copilot", _HOME, ".copilot", "mcp-config.json", _SERVER, _SERVERS, key="mcpServers"),
    # Cursor
    FilePlace("Cursor", _DIRECTORY, "", ".cursorrules", _RULE, always=True),
    FilePlace("Cursor", _DIRECTORY, ".cursor/rules", "**/*.mdc", _RULE),
    FilePlace("Cursor", _BOTH, ".cursor/commands", "**/*.md", _PROMPT),
    FilePlace("Cursor", _BOTH, ".cursor/agents", "*.md", _AGENT),
    FilePlace("Cursor", _BOTH, ".cursor/skills", "*/SKILL.md", _SKILL),
    FilePlace("Cursor", _BOTH, ".cursor", "hooks.json", _HOOK, _HOOKS),
    FilePlace("Cursor", _BOTH, ".cursor", "mcp.json", _SERVER, _SERVERS, key="mcpServers"),
    # Codex
    FilePlace("Codex", _HOME, ".codex", "AGENTS.md", _RULE, always=True),
    FilePlace("Codex", _HOME, ".codex/prompts", "*.md", _PROMPT),
    FilePlace("Codex", _BOTH, ".codex/agents", "*.toml", _AGENT, _TOML),
    FilePlace("Codex", _BOTH, ".codex/skills", "*/SKILL.md", _SKILL),
    FilePlace("Codex", _BOTH, ".codex", "hooks.json", _HOOK, _HOOKS),
    FilePlace("Codex", _BOTH, ".codex", "config.toml", _SERVER, _SERVERS, key="mcp_servers"),
    # Gemini CLI
    FilePlace("Gemini", _DIRECTORY, "", "GEMINI.md", _RULE, always=True),
    FilePlace("Gemini", _HOME, ".gemini", "GEMINI.md", _RULE, always=True),
    FilePlace("Gemini", _BOTH, ".gemini/commands", "**/*.toml", _PROMPT, _TOML),
    FilePlace("Gemini", _BOTH, ".gemini/agents", "*.md", _AGENT),
    FilePlace("Gemini", _BOTH, ".gemini/skills", "*/SKILL.md", _SKILL),
    FilePlace("Gemini", _BOTH, ".gemini", "settings.json", _SERVER, _SERVERS, key="mcpServers"),
    # OpenCode, with the older names of its folders
    FilePlace("OpenCode", _DIRECTORY, ".opencode/agents", "**/*.md", _AGENT),
    FilePlace("OpenCode", _DIRECTORY, ".opencode/agent", "**/*.md", _AGENT),
    FilePlace("OpenCode", _DIRECTORY, ".opencode/commands", "**/*.md", _PROMPT),
    FilePlace("OpenCode", _DIRECTORY, ".opencode/command", "**/*.md", _PROMPT),
    FilePlace("OpenCode", _DIRECTORY, ".opencode/skills", "*/SKILL.md", _SKILL),
    FilePlace("OpenCode", _DIRECTORY, "", "opencode.json", _SERVER, _SERVERS, key="mcp"),
    FilePlace("OpenCode", _DIRECTORY, "", "opencode.jsonc", _SERVER, _SERVERS, key="mcp"),
    FilePlace("OpenCode", _HOME, ".config/opencode", "AGENTS.md", _RULE, always=True),
    FilePlace("OpenCode", _HOME, ".config/opencode/agents", "**/*.md", _AGENT),
    FilePlace("OpenCode", _HOME, ".config/opencode/agent", "**/*.md", _AGENT),
    FilePlace("OpenCode", _HOME, ".config/opencode/commands", "**/*.md", _PROMPT),
    FilePlace("OpenCode", _HOME, ".config/opencode/command", "**/*.md", _PROMPT),
    FilePlace("OpenCode", _HOME, ".config/opencode/skills", "*/SKILL.md", _SKILL),
    FilePlace("OpenCode", _HOME, ".config/opencode", "opencode.json", _SERVER, _SERVERS, key="mcp"),
    FilePlace("OpenCode", _HOME, ".config/opencode", "opencode.jsonc", _SERVER, _SERVERS, key="mcp"),
)

PLUGINS: tuple[PluginPlace, ...] = (
    PluginPlace("Open Plugins", _BOTH, ".agents/plugins", PluginLayout.FOLDERS),
    PluginPlace("Claude Code", _HOME, ".claude/plugins/installed_plugins.json", PluginLayout.REGISTRY),
)

MANIFESTS: tuple[str, ...] = (".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json")
"""Where a plugin says what it is, the first that is there: Open Plugins, Claude Code, Agent Plugins."""
