"""The provider `model`: agents that are a model and a file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import AgentInfo, SessionModelInfo, ToolDefinition
from serai.config.models import ModelServer, find_model
from serai.config.settings import ChatSettings
from serai.contract.record import decode, encode
from serai.customizations.agent_files import find_agent
from serai.errors import (
    AgentUnknown,
    ConfigInvalid,
    DocumentInvalid,
    FileUnreadable,
    InvalidParams,
    Mismatch,
    ProtocolError,
    TurnStopped,
)
from serai.harness.model.agent_choice import SETTINGS, chosen_agent, known_here, situation_of
from serai.harness.model.client import ModelClient
from serai.harness.model.customizations import customized
from serai.harness.model.prices import PricedModels
from serai.harness.model.session import CAPABILITIES, ModelSession
from serai.harness.model.setup import Models, TurnSetup
from serai.harness.model.tool import Tool
from serai.harness.model.tools.mcp import McpServers
from serai.harness.model.tools.registry import built_in_tools, narrowed, relay_tools
from serai.harness.model.transcript import SpendLedger, Transcript, message_write, step_write, user_content
from serai.host.agents import HostContext
from serai.host.project import directory_of
from serai.host.turn import Turn
from serai.redact import Redactor
from serai.relay.tools import RelayTools
from serai.relay.workspace import Workspace
from serai.session.agent_file import AgentFile, Known
from serai.session.messages import AgentSessionRecord, SessionContext, SessionMessageRole
from serai.session.steps import Begun
from serai.session.turn_core import DEFAULT_TOOL_TURNS, TurnPlan
from serai.session.workflow import render
from serai.store.contract import BlobRow, RelayWrite


class ExaminingHarness:
    """What harnesses have in common that look at a session before it is made."""

    in_process = True
    """It reads its input from the journal: what is committed there has got to it."""
    takes_up_turns = True

    async def learn(self) -> None:
        """See `Particular`: all is known."""

    def problem_with(self, name: str, value: Any) -> str | None:
        """See `Particular`: `examine` has looked at all of it."""
        del name, value
        return None


class ModelHarness(ExaminingHarness):
    """Makes agents of models and files.

    Args:
        servers: The models that there are: `[models]`.
        chat: What holds where an agent does not say otherwise: `[chat]`.
        redactor: Learns the keys of models, and finds secrets where none may be.
        models: Asks models; by default those of `servers`.
        settings_folder: The folder of the person's `serai.toml`: agents are in `agents/` beside it.
        is_trusted: Whether a person trusts a folder, and so the agents in it. It may read files.
    """

    name = "model"
    schema = SETTINGS
    capabilities = CAPABILITIES

    def __init__(
        self,
        servers: Mapping[str, ModelServer],
        chat: ChatSettings,
        redactor: Redactor,
        models: Models | None = None,
        *,
        settings_folder: Path | None = None,
        is_trusted: Callable[[Path], bool] = lambda _folder: False,
    ) -> None:
        self._settings_folder = settings_folder
        self.is_trusted = is_trusted
        """Whether a person trusts a folder."""
        self._servers = servers
        self._chat = chat
        self._redactor = redactor
        for server in servers.values():  # also of those that nobody asks: no tool is started with a key
            if (name := server.key_variable) and (key := os.environ.get(name)):
                redactor.register(name, key.strip())
        self._client = ModelClient(servers, redactor)
        self._models = models or PricedModels(self._client, servers)
        self._relay_tools: Callable[[str], Awaitable[Sequence[Tool[Any]]]] = _no_tools

    @property
    def info(self) -> AgentInfo:
        """What the root channel lists: the models that `serai.toml` names."""
        models = [
            SessionModelInfo(id=f"{name}:{one}", provider=self.name, name=f"{one} ({name})")
            for name, server in self._servers.items()
            for one in server.ids
        ]
        return AgentInfo(
            provider=self.name,
            display_name="Model",
            description="A model with tools, as an .agent.yaml file or [chat] describes it.",
            models=models,
        )

    @property
    def tools(self) -> list[ToolDefinition]:
        """The built-in tools, for clients to show."""
        specs = [(tool, tool.spec) for tool in built_in_tools()]
        return [
            ToolDefinition(
                name=spec.name, title=tool.title, description=spec.description, input_schema=spec.input_schema
            )
            for tool, spec in specs
        ]

    def join(self, workspace: Workspace) -> None:
        """Let sessions use the relay, each as itself."""
        tools = RelayTools(workspace)
        self._relay_tools = lambda session: relay_tools(workspace, tools, session)

    async def close(self) -> None:
        """Close the connections to models."""
        await self._client.close()

    # -- a new session -------------------------------------------------------------------------------------

    async def examine(self, params: CreateSessionParams, directory: str | None) -> None:
        """See `Examining`: the agent, the model, what is narrowed, and that no variable is a secret."""
        if params.fork is not None:
            return
        uri = params.agent.uri if params.agent else None
        model = params.model.id if params.model else None
        await self._chosen(uri, params.config or {}, directory, model, self._redactor)

    async def _chosen(
        self,
        agent_uri: str | None,
        settings: Mapping[str, Any],
        directory: str | None,
        model: str | None,
        redactor: Redactor | None = None,
    ) -> AgentSessionRecord:
        """A new session's record but for its id.

        Raises:
            InvalidParams: There cannot be such a session.
        """
        folder = directory_of(directory)
        if folder is None:
            raise InvalidParams(
                "a model session needs a folder of this machine", field="params.workingDirectory"
            )

        def choose() -> AgentSessionRecord:
            file = self.agent_file(agent_uri, folder) if agent_uri else None
            return self.record(file, settings, folder, model, redactor)

        return await asyncio.to_thread(choose)

    def record(
        self,
        file: AgentFile | None,
        settings: Mapping[str, Any],
        folder: Path,
        model: str | None = None,
        redactor: Redactor | None = None,
    ) -> AgentSessionRecord:
        """What an agent works by, frozen, but for an id: what its file says, over `[chat]`. Reads the disk.

        Raises:
            InvalidParams: A setting cannot be, or there is no such model.
        """
        agent = chosen_agent(file, self._chat, settings)
        chosen = model or agent.model
        if not chosen:
            raise InvalidParams(
                "no model is named: choose one, or set default_model in [chat]", field="params.model"
            )
        for one in (chosen, *agent.fallback_chain):
            self._check_model(one)
        now = datetime.now(UTC)
        return AgentSessionRecord(
            id="",
            agent_slug=agent.slug,
            agent_snapshot=replace(agent, model=chosen),
            context=situation_of(settings, agent, folder, redactor),
            created_at=now,
            updated_at=now,
        )

    def known(self, folder: Path) -> Known:
        """What a workflow in a folder may name. It reads the disk when it is asked."""
        return known_here(self._servers, folder, self._settings_folder, trusted=self.is_trusted(folder))

    def agent_file(self, named: str, folder: Path) -> AgentFile:
        """An agent that has a file, by the URI or the path of that, or by its slug. Reads the disk.

        Raises:
            InvalidParams: There is no such agent, or it has a tool that is none.
        """
        try:
            known, trusted = self.known(folder), self.is_trusted(folder)
            return find_agent(named, folder, self._settings_folder, trusted=trusted, known=known)
        except (AgentUnknown, DocumentInvalid, FileUnreadable, ProtocolError) as error:
            raise InvalidParams(str(error), field="params.agent.uri") from None

    def _check_model(self, model: str) -> None:
        try:
            find_model(self._servers, model)
        except ConfigInvalid as error:
            raise InvalidParams(str(error), field="params.model") from None

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> ModelSession:
        """Make the agent of one session. What was frozen when it began is read from its row."""
        seat, uri = context.seat, context.session
        rows = await seat.rows("agent_session", uri)
        if not rows and seat.forked_from is not None:
            turns = [turn.id for turn in seat.turns]
            await self._fork(context, seat.forked_from.session, turns)
            rows = await seat.rows("agent_session", uri)
        if not rows:
            agent = seat.custom_agent.uri if seat.custom_agent else None
            model = seat.model.id if seat.model else None
            record = await self._chosen(agent, settings, context.working_directory, model)
            record = replace(record, id=uri)
            seat.record({"kind": "session"}, [RelayWrite("put_agent_session", (uri, encode(record)))])
            rows = await seat.rows("agent_session", uri)
        ((data, spent, unpriced),) = rows
        record = decode(data, AgentSessionRecord)
        servers = McpServers(seat, Path(record.context.working_dir))

        async def set_up(turn: Turn, record: AgentSessionRecord) -> TurnSetup:
            return await self.set_up(context, turn, record, servers)

        transcript = Transcript(uri, await seat.rows("session_messages", uri))
        ledger = SpendLedger(uri, spent, unpriced)
        return ModelSession(context, record, transcript, ledger, set_up, servers.close)

    async def _fork(self, context: HostContext, source: str, turns: Sequence[str]) -> None:
        """Begin with what was said in another session. What that has cost is its own."""
        rows = await context.seat.rows("agent_session", source)
        if not rows:
            return
        record = replace(decode(rows[0][0], AgentSessionRecord), id=context.session)
        context.seat.record(
            {"kind": "session"},
            [
                RelayWrite("put_agent_session", (context.session, encode(record))),
                RelayWrite(
                    "fork_session_messages",
                    (context.session, source, msgspec.json.encode(turns).decode()),
                ),
            ],
        )

    # -- turns ---------------------------------------------------------------------------------------------

    def turn_begins(
        self, session: str, action: a.SessionTurnStartedAction, deliveries: Sequence[str], now: int
    ) -> tuple[Sequence[RelayWrite], Sequence[BlobRow]]:
        """See `Transcribing`: the person's message, and which deliveries the turn answers."""
        turn_id = action.turn_id
        content, blobs = user_content(action.user_message, session)
        role = SessionMessageRole.USER
        said = message_write("session", session, turn_id, f"{turn_id}-0", role, content, now)
        step = Begun(deliveries=tuple(deliveries))
        return [said, step_write("session", session, turn_id, step)], blobs

    async def set_up(
        self, context: HostContext, turn: Turn, record: AgentSessionRecord, servers: McpServers
    ) -> TurnSetup:
        """Put together what a turn works with, given whose it is.

        Raises:
            TurnStopped: There cannot be such a turn.
        """
        agent, situation = record.agent_snapshot, record.context
        if agent is None:
            raise TurnStopped("agent_unknown", "the session has no agent")
        chosen = turn.model.id if turn.model else agent.model
        folder = Path(situation.working_dir)
        made = await customized(
            turn,
            turn.message,
            situation,
            folder,
            session=context.session,
            environ=context.seat.environment(),
        )
        offer = await servers.tools(agent, made.servers)
        for notice in offer.notices:
            await turn.notice(notice)
        of_relay = await self._relay_tools(context.session)
        tools = narrowed([*built_in_tools(), *of_relay, *offer.tools], agent.tools)
        return TurnSetup(
            models=self._models,
            plan=TurnPlan(
                chain=tuple(dict.fromkeys((chosen, *agent.fallback_chain))),
                max_tool_turns=agent.limits.max_tool_turns or DEFAULT_TOOL_TURNS,
            ),
            agent=agent,
            situation=situation,
            folder=folder,
            system=_system(agent, situation),
            tools=tools | {tool.name: tool for tool in made.tools},
            customized=made,
            max_messages=self._chat.max_messages,
        )

    # -- what clients may not do ---------------------------------------------------------------------------

    def refusal(self, session: str, action: a.StateAction) -> Judgement | None:
        """See `Particular`: a session has one agent for life, and models that there are."""
        del session
        match action:
            case a.SessionAgentChangedAction():
                return rejected("capability_unsupported", "the agent of a model session stays the same")
            case a.SessionModelChangedAction(model=model):
                try:
                    self._check_model(model.id)
                except InvalidParams as error:
                    return rejected("invalid_params", str(error))
            case _:
                pass
        return None


async def _no_tools(_session: str) -> Sequence[Tool[Any]]:
    return ()


def _system(agent: AgentFile, situation: SessionContext) -> str:
    """What stands before all messages: the agent's own words, and where it is."""
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
