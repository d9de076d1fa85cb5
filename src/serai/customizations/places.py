"""The conventional places of customisations: a table with a row for each place.

To support another tool, add rows. Every row is proven by a test that makes its file, so a row that no reader
understands cannot be added. Paths are relative to the working directory, to the person's home, or to the
folder of their `serai.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from serai.ahp.types import CustomizationType


class Where(Enum):
    """Root of a row's path."""

    DIRECTORY = auto()
    HOME = auto()
    BOTH = auto()
    """The working directory and the home."""
    SETTINGS = auto()
    """The folder of the person's `serai.toml`."""

    def has(self, root: Where) -> bool:
        """Tell whether it includes a root, which is never `BOTH`."""
        return self is root or (self is Where.BOTH and root is not Where.SETTINGS)


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A conventional place. The kind and the endings of its files determine how they are read.

    Attributes:
        pattern: The files in the folder: a name, `*.md`, `**/*.md` (any depth) or `*/SKILL.md`.
        key: For servers: the member that holds them.
        of_projects: For servers: the file also has some for single projects. A tool keeps its memory in such
            a file, so it may be long.
        always: For rules: they apply unless their globs narrow it. Otherwise the frontmatter decides.
        offered: Show the folder even when it does not exist yet, so that a client can write to it.
    """

    source: str
    where: Where
    folder: str
    pattern: str
    contents: CustomizationType
    key: str = ""
    of_projects: bool = False
    always: bool = False
    offered: bool = False

    @property
    def is_one_file(self) -> bool:
        """True when the row names one file, and not a folder for more of them."""
        return "*" not in self.pattern

    @property
    def is_of_serai(self) -> bool:
        """True for agents of Serai itself. They bring tools, so they count only where trusted."""
        return self.pattern.endswith(".agent.yaml")


_DIRECTORY, _HOME, _BOTH = Where.DIRECTORY, Where.HOME, Where.BOTH
_AGENT, _SKILL, _PROMPT = CustomizationType.AGENT, CustomizationType.SKILL, CustomizationType.PROMPT
_RULE, _HOOK, _SERVER = CustomizationType.RULE, CustomizationType.HOOK, CustomizationType.MCP_SERVER

PLACES: tuple[FilePlace, ...] = (
    # Serai
    FilePlace("Serai", _DIRECTORY, ".serai/agents", "*.agent.yaml", _AGENT),
    FilePlace("Serai", Where.SETTINGS, "agents", "*.agent.yaml", _AGENT),
    # Common to several tools: AGENTS.md and .agents/
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
    FilePlace("Claude Code", _BOTH, ".claude", "settings.json", _HOOK),
    FilePlace("Claude Code", _DIRECTORY, ".claude", "settings.local.json", _HOOK),
    FilePlace("Claude Code", _DIRECTORY, "", ".mcp.json", _SERVER, key="mcpServers"),
    FilePlace("Claude Code", _HOME, "", ".claude.json", _SERVER, key="mcpServers", of_projects=True),
    # GitHub Copilot and VS Code
    FilePlace("Copilot", _DIRECTORY, ".github", "copilot-instructions.md", _RULE, always=True),
    FilePlace("Copilot", _DIRECTORY, ".github/instructions", "**/*.md", _RULE),
    FilePlace("Copilot", _DIRECTORY, ".github/prompts", "*.prompt.md", _PROMPT),
    FilePlace("Copilot", _DIRECTORY, ".github/agents", "*.md", _AGENT),
    FilePlace("Copilot", _DIRECTORY, ".github/chatmodes", "*.chatmode.md", _AGENT),
    FilePlace("Copilot", _DIRECTORY, ".github/skills", "*/SKILL.md", _SKILL),
    FilePlace("Copilot", _DIRECTORY, ".github/hooks", "*.json", _HOOK),
    FilePlace("Copilot", _DIRECTORY, ".vscode", "mcp.json", _SERVER, key="servers"),
    FilePlace("Copilot", _HOME, ".copilot", "copilot-instructions.md", _RULE, always=True),
    FilePlace("Copilot", _HOME, ".copilot/instructions", "**/*.instructions.md", _RULE),
    FilePlace("Copilot", _HOME, ".copilot/agents", "*.md", _AGENT),
    FilePlace("Copilot", _HOME, ".copilot/skills", "*/SKILL.md", _SKILL),
    FilePlace("Copilot", _HOME, ".copilot/hooks", "*.json", _HOOK),
    FilePlace("Copilot", _HOME, ".copilot", "mcp-config.json", _SERVER, key="mcpServers"),
    # Cursor
    FilePlace("Cursor", _DIRECTORY, "", ".cursorrules", _RULE, always=True),
    FilePlace("Cursor", _DIRECTORY, ".cursor/rules", "**/*.mdc", _RULE),
    FilePlace("Cursor", _BOTH, ".cursor/commands", "**/*.md", _PROMPT),
    FilePlace("Cursor", _BOTH, ".cursor/agents", "*.md", _AGENT),
    FilePlace("Cursor", _BOTH, ".cursor/skills", "*/SKILL.md", _SKILL),
    FilePlace("Cursor", _BOTH, ".cursor", "hooks.json", _HOOK),
    FilePlace("Cursor", _BOTH, ".cursor", "mcp.json", _SERVER, key="mcpServers"),
    # Codex
    FilePlace("Codex", _HOME, ".codex", "AGENTS.md", _RULE, always=True),
    FilePlace("Codex", _HOME, ".codex/prompts", "*.md", _PROMPT),
    FilePlace("Codex", _BOTH, ".codex/agents", "*.toml", _AGENT),
    FilePlace("Codex", _BOTH, ".codex/skills", "*/SKILL.md", _SKILL),
    FilePlace("Codex", _BOTH, ".codex", "hooks.json", _HOOK),
    FilePlace("Codex", _BOTH, ".codex", "config.toml", _SERVER, key="mcp_servers"),
    # Gemini CLI
    FilePlace("Gemini", _DIRECTORY, "", "GEMINI.md", _RULE, always=True),
    FilePlace("Gemini", _HOME, ".gemini", "GEMINI.md", _RULE, always=True),
    FilePlace("Gemini", _BOTH, ".gemini/commands", "**/*.toml", _PROMPT),
    FilePlace("Gemini", _BOTH, ".gemini/agents", "*.md", _AGENT),
    FilePlace("Gemini", _BOTH, ".gemini/skills", "*/SKILL.md", _SKILL),
    FilePlace("Gemini", _BOTH, ".gemini", "settings.json", _SERVER, key="mcpServers"),
    # OpenCode, with the older names of its folders
    FilePlace("OpenCode", _DIRECTORY, ".opencode/agents", "**/*.md", _AGENT),
    FilePlace("OpenCode", _DIRECTORY, ".opencode/agent", "**/*.md", _AGENT),
    FilePlace("OpenCode", _DIRECTORY, ".opencode/commands", "**/*.md", _PROMPT),
    FilePlace("OpenCode", _DIRECTORY, ".opencode/command", "**/*.md", _PROMPT),
    FilePlace("OpenCode", _DIRECTORY, ".opencode/skills", "*/SKILL.md", _SKILL),
    FilePlace("OpenCode", _DIRECTORY, "", "opencode.json", _SERVER, key="mcp"),
    FilePlace("OpenCode", _DIRECTORY, "", "opencode.jsonc", _SERVER, key="mcp"),
    FilePlace("OpenCode", _HOME, ".config/opencode", "AGENTS.md", _RULE, always=True),
    FilePlace("OpenCode", _HOME, ".config/opencode/agents", "**/*.md", _AGENT),
    FilePlace("OpenCode", _HOME, ".config/opencode/agent", "**/*.md", _AGENT),
    FilePlace("OpenCode", _HOME, ".config/opencode/commands", "**/*.md", _PROMPT),
    FilePlace("OpenCode", _HOME, ".config/opencode/command", "**/*.md", _PROMPT),
    FilePlace("OpenCode", _HOME, ".config/opencode/skills", "*/SKILL.md", _SKILL),
    FilePlace("OpenCode", _HOME, ".config/opencode", "opencode.json", _SERVER, key="mcp"),
    FilePlace("OpenCode", _HOME, ".config/opencode", "opencode.jsonc", _SERVER, key="mcp"),
)

PLUGIN_FOLDERS = ".agents/plugins"
"""Folder of plugins, in a working directory and in a home: Open Plugins."""
PLUGIN_REGISTRY = ".claude/plugins/installed_plugins.json"
"""File that lists the plugins of Claude Code, in a home."""

MANIFESTS: tuple[str, ...] = (".plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json")
"""Manifests of a plugin, of which the first counts: Open Plugins, Claude Code, Agent Plugins."""
