"""An agent session under the names of its contract: start, send a message, cancel, resume, export.

    async with serai.connect() as client:
        session = await AgentSession.start(client, "reviewer.agent.yaml", variables={"team": "core"})
        turn = await session.send_message("Look at the last commit")
        print((await turn.result()).text)
        print(await session.export())

Both methods return a `SessionClient`, which can do more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from serai.ahp.types import ModelSelection
from serai.client.client import Client
from serai.client.session import SessionClient

__all__ = ["AgentSession", "is_agent_file", "named_agent"]

_CONTEXT = {
    "active_file": "activeFile",
    "selection": "selection",
    "git_ref": "gitRef",
    "fs_scope_tier": "fsScopeTier",
    "variables": "variables",
    "tools": "tools",
    "allowed_commands": "allowedCommands",
    "max_turns": "maxTurns",
    "max_tool_turns": "maxToolTurns",
}
"""Names in AHP for the context of a session."""


class AgentSession:
    """Conversations with an agent that is a model and a file: `start` one, or `resume` it."""

    @staticmethod
    async def start(
        client: Client,
        agent: str | Path | None = None,
        *,
        working_dir: Path | None = None,
        model: str | None = None,
        **context: Any,
    ) -> SessionClient:
        """Create a session. It is idle and saved when this returns.

        Args:
            client: The connection to the host.
            agent: The agent's file, or its slug; by default the model of `[chat]` with the built-in tools.
            working_dir: Its folder; by default the current one.
            model: Another model than the agent's, as `NAME:ID`.
            context: `active_file`, `selection`, `git_ref`, `fs_scope_tier`, `variables`; and restrictions of
                the agent: `tools`, `allowed_commands`, `max_turns`, `max_tool_turns`.

        Raises:
            TypeError: There is no such context.
            ProtocolError: The session cannot be created; the message says why.
        """
        if unknown := context.keys() - _CONTEXT.keys():
            raise TypeError(f"there is no context {', '.join(sorted(unknown))}")
        return await client.create_session(
            "model",
            custom_agent=named_agent(agent) if agent is not None else None,
            working_directory=working_dir or Path.cwd(),
            model=ModelSelection(id=model) if model else None,
            config={_CONTEXT[name]: value for name, value in context.items()} or None,
        )

    @staticmethod
    async def resume(client: Client, session: str) -> SessionClient:
        """Continue a session, given its URI, with its history and its open questions.

        Raises:
            SessionGone: There is no such session.
        """
        return await client.open_session(session)


def is_agent_file(agent: str) -> bool:
    """Tell whether an agent's name is that of a file."""
    return agent.endswith((".yaml", ".yml"))


def named_agent(agent: str | Path) -> str:
    """Return an agent's name on the host: the URI of a file, or the slug."""
    is_file = isinstance(agent, Path) or is_agent_file(agent)
    return Path(agent).absolute().as_uri() if is_file else str(agent)
