"""What a turn of a model session works with, from its beginning to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from serai.errors import Mismatch, TurnStopped
from serai.harness.model.client import ModelClient
from serai.harness.model.customizations import Customized
from serai.harness.model.tool import Tool
from serai.session.agent_file import AgentFile
from serai.session.messages import SessionContext
from serai.session.turn_core import TurnPlan
from serai.session.workflow import render


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """What a turn works with."""

    models: ModelClient
    plan: TurnPlan
    agent: AgentFile
    """The agent, as the session has narrowed it."""
    situation: SessionContext
    folder: Path
    system: str
    """What stands before all messages."""
    tools: Mapping[str, Tool]
    max_messages: int
    customized: Customized
    """What the session's customisations bring. Its tools are among `tools`."""


def system_prompt(agent: AgentFile, situation: SessionContext) -> str:
    """What stands before all messages: the agent's own words, and where it is.

    Raises:
        TurnStopped: The agent's words name a variable that there is not.
    """
    values = {f"ctx.{name}": value for name, value in situation.variables.items()}
    try:
        own = render(agent.system_prompt, values)
    except Mismatch as error:
        raise TurnStopped("prompt_invalid", f"system_prompt: {error}") from None
    lines = [f"Working directory: {situation.working_dir}"]
    if situation.git_ref:
        lines.append(f"Git: {situation.git_ref}")
    if situation.active_file:
        lines.append(f"Active file: {situation.active_file}")
    if situation.selection:
        chosen = situation.selection
        lines.append(f"Selection: {chosen.file}, lines {chosen.start_line} to {chosen.end_line}")
    return "\n\n".join(part for part in (own, "\n".join(lines)) if part)
