"""The choice of a session's agent, and its situation: from its file, `[chat]` and the session's settings.

Also the files of workflows, and the names that they may use on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from serai.ahp.types import ConfigPropertySchema, SessionConfigPropertySchema, SessionConfigSchema
from serai.config.models import ModelServer, find_model
from serai.config.settings import ChatSettings
from serai.contract.record import mismatch
from serai.customizations.agent_files import find_agent
from serai.errors import AgentUnknown, ConfigInvalid, FileUnreadable, InvalidParams, Mismatch
from serai.harness.model.tools.registry import is_tool_name
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, MORE_FOLDERS
from serai.redact import Redactor
from serai.session import yaml
from serai.session.agent_file import AgentBudget, AgentFile, FsScopeTier, Known, Narrowing, narrow
from serai.session.messages import SessionContext
from serai.session.yaml import MAX_BYTES, Document

DEFAULT_SLUG = "chat"
"""The agent of sessions that name none."""
_NARROWING = ("tools", "allowedCommands", "maxTurns", "maxToolTurns", "fsScopeTier")
_SITUATION = ("activeFile", "selection", "gitRef", "fsScopeTier", "variables")


def _setting(kind: str, title: str, description: str, **more: Any) -> SessionConfigPropertySchema:
    return SessionConfigPropertySchema(type=kind, title=title, description=description, **more)


_WORD = ConfigPropertySchema(type="string", title="Name")
SETTINGS = SessionConfigSchema(
    type="object",
    properties={
        "activeFile": _setting("string", "Active file", "The file that is open where the session is started"),
        "selection": _setting(
            "object",
            "Selection",
            "The lines that are selected",
            properties={
                "file": ConfigPropertySchema(type="string", title="File"),
                "startLine": ConfigPropertySchema(type="number", title="First line"),
                "endLine": ConfigPropertySchema(type="number", title="Last line"),
            },
        ),
        "gitRef": _setting("string", "Git", "The branch or commit; by default the current one"),
        "fsScopeTier": _setting(
            "string", "Reach", "Which files the tools reach", enum=[tier.value for tier in FsScopeTier]
        ),
        "variables": _setting(
            "object", "Variables", "Values for {{ctx.name}}, in plain text: never a secret"
        ),
        "tools": _setting("array", "Tools", "Those of the agent's tools that are left", items=_WORD),
        "allowedCommands": _setting(
            "array", "Commands", "Those of the agent's commands that are left", items=_WORD
        ),
        "maxTurns": _setting("number", "Turns", "How many turns the session has at most"),
        "maxToolTurns": _setting("number", "Tool rounds", "How many rounds of tool calls a turn has at most"),
        ADDITIONAL_DIRECTORIES: MORE_FOLDERS,
    },
)
"""The settings of a model session: its `SessionContext`, and the restrictions of its agent."""


def chosen_agent(agent: AgentFile | None, chat: ChatSettings, settings: Mapping[str, Any]) -> AgentFile:
    """Return the agent of a session: its file over `[chat]`, restricted by the session's settings.

    Raises:
        InvalidParams: A setting would give it more than it has, or is none.
    """
    if agent is None:
        agent = AgentFile(slug=DEFAULT_SLUG, fs_scope=chat.fs_scope, allowed_commands=chat.allowed_commands)
    if agent.budget is None and chat.max_cost_microcents is not None:
        budget = AgentBudget(max_cost_microcents=chat.max_cost_microcents, on_exceed=chat.on_exceed)
        agent = replace(agent, budget=budget)
    agent = replace(agent, model=agent.model or chat.default_model)
    wish = {name: settings[name] for name in _NARROWING if settings.get(name) is not None}
    try:
        return narrow(agent, msgspec.convert(wish, Narrowing), is_tool_name)
    except (Mismatch, msgspec.ValidationError) as error:
        raise _wrong(error) from None


def situation_of(
    settings: Mapping[str, Any], agent: AgentFile, folder: Path, redactor: Redactor
) -> SessionContext:
    """Return the situation of a session: its settings, over what its folder shows. Reads the disk.

    Args:
        settings: The session's settings.
        agent: The session's agent. A variable of the session replaces one of the agent.
        folder: The working directory.
        redactor: Finds secrets: a setting that contains one is refused.

    Raises:
        InvalidParams: Something is not of its type, or a variable holds a secret.
    """
    shown = {name: settings[name] for name in _SITUATION if settings.get(name) is not None}
    detected = {"workingDir": str(folder), "fsScopeTier": agent.fs_scope}
    try:
        situation = msgspec.convert({"gitRef": git_ref(folder), **shown, **detected}, SessionContext)
    except msgspec.ValidationError as error:
        raise _wrong(error) from None
    variables = {**agent.variables, **situation.variables}
    for name, value in (shown | {"variables": variables}).items():
        text = msgspec.json.encode(value).decode()
        if redactor.redact(text) != text:
            raise InvalidParams(
                f"config.{name}: it holds a secret, and it is shown and kept as it is",
                field=f"params.config.{name}",
            )
    return replace(situation, variables=variables)


def _wrong(error: Exception) -> InvalidParams:
    problem = error if isinstance(error, Mismatch) else mismatch(str(error))
    return InvalidParams(f"config.{problem}", field=f"params.config.{problem.field}")


def git_ref(folder: Path) -> str | None:
    """Return the branch or the commit of a folder's repository; `None` without one. Reads the disk."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        try:
            if git.is_file():
                git = place / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            head = (git / "HEAD").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
        return head.removeprefix("ref: refs/heads/")[:200] or None
    return None


def read_document(path: Path, name: str) -> Document:
    """Return the document of a file. Messages call the file by a name.

    Raises:
        DocumentInvalid: It is none that is read here.
        FileUnreadable: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileUnreadable(f"{name} cannot be read: {error.strerror}") from None
    return yaml.load(data, name)


def known_here(
    servers: Mapping[str, ModelServer], folder: Path | None, settings_folder: Path | None, *, trusted: bool
) -> Known:
    """Return what a workflow may name: the existing tools and models, and the agents that have files.

    Args:
        servers: The servers of models: `[models]`.
        folder: The working directory. Its agents count if it is trusted.
        settings_folder: The folder of the person's `serai.toml`.
        trusted: True if the working directory is trusted.
    """

    def succeeds(call: Callable[..., object], *args: Any) -> bool:
        try:
            call(*args)
        except (AgentUnknown, ConfigInvalid):
            return False
        return True

    agent = partial(find_agent, directory=folder, settings=settings_folder, trusted=trusted)
    return Known(is_tool_name, partial(succeeds, find_model, servers), partial(succeeds, agent))
