"""The real agents that are tested, and where npm puts them. Another agent is one more row."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CACHE_VARIABLE = "SERAI_TEST_AGENTS"
"""Names another folder to install the agents in."""

NODE = f"node-linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}"
"""A node that is new enough for all of them, as a package."""


@dataclass(frozen=True, slots=True)
class RealAgent:
    """One agent, as the catalogue knows it, and how it is brought to talk to a model server.

    Wherever `{url}` stands, the server's address takes its place.
    """

    name: str
    """Its id in the catalogue."""
    package: str
    """What npm installs."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it finds at its home: JSON, by path."""

    def __str__(self) -> str:
        return self.name

    def move_in(self, home: Path, url: str) -> dict[str, str]:
        """Make it a home of its own, and return the variables to start it with."""
        home.mkdir(parents=True)
        for path, content in self.files.items():
            file = home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content).replace("{url}", url))
        return {"HOME": str(home), **{name: value.replace("{url}", url) for name, value in self.env.items()}}


AGENTS = [
    RealAgent(
        "claude",
        "@agentclientprotocol/claude-agent-acp",
        env={
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "sk-fake",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",  # else it does not show MCP tools to its model
            "IS_SANDBOX": "1",  # else it does not start for root
        },
    ),
    RealAgent(
        "opencode",
        "opencode-ai",
        env={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        files={
            ".config/opencode/opencode.json": {
                "autoupdate": False,
                "share": "disabled",
                "model": "fake/fake-model",
                "small_model": "fake/fake-model",
                "permission": {"edit": "ask", "bash": "ask", "webfetch": "ask"},
                "provider": {
                    "fake": {
                        "npm": "@ai-sdk/openai-compatible",
                        "name": "Fake",
                        "options": {"baseURL": "{url}/v1", "apiKey": "sk-fake"},
                        "models": {
                            "fake-model": {"name": "Fake", "limit": {"context": 128000, "output": 8192}}
                        },
                    }
                },
            }
        },
    ),
    RealAgent(
        "copilot",
        "@github/copilot",
        env={
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "sk-fake",
            "COPILOT_MODEL": "fake-model",
            "COPILOT_OFFLINE": "true",
        },
    ),
]


def cache_folder() -> Path:
    """Where the agents are installed."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named).absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "serai-test-agents"


def modules_in(cache: Path) -> Path:
    """The folder of the packages."""
    return cache / "node_modules"


def installed(cache: Path) -> dict[str, str]:
    """The versions of what npm has installed, by package. It writes them down when all is in place."""
    try:
        written = json.loads((modules_in(cache) / ".package-lock.json").read_bytes())
    except (OSError, ValueError):
        return {}
    packages: dict[str, dict[str, Any]] = written["packages"]
    return {path.removeprefix("node_modules/"): one["version"] for path, one in packages.items()}
