"""The provider `model`: agents that are a model and a file, and their sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from serai import contract as c
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
from serai.harness.model.calls import TurnSetup
from serai.harness.model.client import ModelClient
from serai.harness.model.customizations import customized
from serai.harness.model.tool import ModelTool
from serai.harness.model.tools.mcp import McpServers
from serai.harness.model.tools.registry import BUILT_IN_TOOLS, narrowed, relay_tools
from serai.harness.model.transcript import Transcript, TurnRecords, message_write, step_write, user_content
from serai.harness.model.turn import ModelTurn
from serai.host.agents import HostContext, LimitedHarness
from serai.host.session.deliveries import user_message
from serai.host.surroundings.files import directory_of
from serai.host.turn import Turn
from serai.redact import Redactor
from serai.relay.tools import RelayTools
from serai.relay.workspace import Workspace
from serai.session.agent_file import AgentFile, Known
from serai.session.messages import AgentSessionRecord, SessionContext, SessionMessageRole
from serai.session.turn_core import DEFAULT_TOOL_TURNS, DEFAULT_TURNS, Begun, Step, TurnPlan
from serai.session.workflow import render
from serai.store.contract import BlobRow, RelayWrite

CAPABILITIES = c.AgentSessionCapabilities(
    messaging=c.MessagingCapabilities(
        receive=True, send=True, attachments=(c.ContentType.TEXT, c.ContentType.IMAGE)
    ),
    delivery=c.DeliveryCapabilities(
        modes=(c.DeliveryMode.IMMEDIATE, c.DeliveryMode.NEXT_TOOL_CALL, c.DeliveryMode.ON_IDLE)
    ),
    events=c.EventCapabilities(emits=c.OBSERVED_BY_HOST),
    lifecycle=c.LifecycleCapabilities(release=True),
)
"""The capabilities of a model session. The host adds those that it gives to all sessions."""


class ModelHarness(LimitedHarness):
    """Makes agents of models and files.

    Args:
        servers: The servers of models: `[models]`.
        chat: The defaults of agents: `[chat]`.
        redactor: Learns the keys of models, and finds secrets where none may be.
        settings_folder: The folder of the person's `serai.toml`: agents are in `agents/` beside it.
        is_trusted: Tells whether a person trusts a folder, and so the agents in it. It may read files.
    """

    name = "model"
    in_process = True
    """True: it reads its input from the journal, so what is committed there has got to it."""
    takes_up_turns = True
    schema = SETTINGS
    capabilities = CAPABILITIES

    def __init__(
        self,
        servers: Mapping[str, ModelServer],
        chat: ChatSettings,
        redactor: Redactor,
        *,
        settings_folder: Path | None = None,
        is_trusted: Callable[[Path], bool] = lambda _folder: False,
    ) -> None:
        self._settings_folder = settings_folder
        self.is_trusted = is_trusted
        """Function that tells whether a person trusts a folder."""
        self._servers = servers
        self._chat = chat
        self._redactor = redactor
        for server in servers.values():  # also keys of unused servers: no tool is started with a key
            if (name := server.key_variable) and (key := os.environ.get(name)):
                redactor.register(name, key.strip())
        self._models = ModelClient(servers, redactor)
        self._relay: tuple[Workspace, RelayTools] | None = None

    @property
    def info(self) -> AgentInfo:
        """The agent in the root channel's list, with the models that `serai.toml` names."""
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
        return [
            ToolDefinition(
                name=tool.name, title=tool.title, description=tool.description, input_schema=tool.schema
            )
            for tool in BUILT_IN_TOOLS
        ]

    def join(self, workspace: Workspace) -> None:
        """Let sessions use the relay, each as itself."""
        self._relay = workspace, RelayTools(workspace)

    async def close(self) -> None:
        """Close the connections to models."""
        await self._models.aclose()

    # -- a new session -------------------------------------------------------------------------------------

    async def examine(self, params: CreateSessionParams, directory: str | None) -> None:
        """See `TranscriptHarness`: checks agent, model and restrictions, and the variables for secrets."""
        if params.fork is not None:
            return
        uri = params.agent.uri if params.agent else None
        model = params.model.id if params.model else None
        await self._chosen(uri, params.config or {}, directory, model)

    async def _chosen(
        self,
        agent_uri: str | None,
        settings: Mapping[str, Any],
        directory: str | None,
        model: str | None,
    ) -> AgentSessionRecord:
        """Return a new session's record, without its id.

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
            return self.record(file, settings, folder, model)

        return await asyncio.to_thread(choose)

    def record(
        self,
        file: AgentFile | None,
        settings: Mapping[str, Any],
        folder: Path,
        model: str | None = None,
    ) -> AgentSessionRecord:
        """Return the frozen record of an agent, without an id: its file over `[chat]`. Reads the disk.

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
            context=situation_of(settings, agent, folder, self._redactor),
            created_at=now,
            updated_at=now,
        )

    def known(self, folder: Path) -> Known:
        """Return what a workflow in a folder may name. The disk is read when a name is looked up."""
        return known_here(self._servers, folder, self._settings_folder, trusted=self.is_trusted(folder))

    def agent_file(self, named: str, folder: Path) -> AgentFile:
        """Return the agent of a file, found by its URI, its path or its slug. Reads the disk.

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
        """Make the agent of one session. Its frozen record is read from its row."""
        seat, uri = context.seat, context.session
        if not (rows := await seat.rows("agent_session", uri)):
            await self._begin(settings, context)
            rows = await seat.rows("agent_session", uri)
        ((data, spent, _),) = rows
        record = decode(data, AgentSessionRecord)
        transcript = Transcript(uri, await seat.rows("session_messages", uri), spent)
        return ModelSession(context, self, record, transcript)

    async def _begin(self, settings: Mapping[str, Any], context: HostContext) -> None:
        """Store the record of a new session. A fork has the earlier messages, and not their cost."""
        seat, uri, writes = context.seat, context.session, list[RelayWrite]()
        source = seat.forked_from.session if seat.forked_from is not None else ""
        if theirs := await seat.rows("agent_session", source):
            record = decode(theirs[0][0], AgentSessionRecord)
            turns = msgspec.json.encode([turn.id for turn in seat.turns]).decode()
            writes.append(RelayWrite("fork_session_messages", (uri, source, turns)))
        else:
            agent = seat.custom_agent.uri if seat.custom_agent else None
            model = seat.model.id if seat.model else None
            record = await self._chosen(agent, settings, seat.working_directory, model)
        put = RelayWrite("put_agent_session", (uri, encode(replace(record, id=uri))))
        seat.record({"kind": "session"}, [put, *writes])

    # -- turns ---------------------------------------------------------------------------------------------

    def turn_begins(
        self, session: str, action: a.SessionTurnStartedAction, deliveries: Sequence[str], now: int
    ) -> tuple[Sequence[RelayWrite], Sequence[BlobRow]]:
        """See `TranscriptHarness`: writes the person's message, and the deliveries that the turn answers."""
        turn_id = action.turn_id
        content, blobs = user_content(action.user_message, session)
        role = SessionMessageRole.USER
        said = message_write("session", session, turn_id, f"{turn_id}-0", role, content, now)
        step = Begun(deliveries=tuple(deliveries))
        return [said, step_write("session", session, turn_id, step)], blobs

    async def set_up(
        self, context: HostContext, turn: Turn, record: AgentSessionRecord, servers: McpServers
    ) -> TurnSetup:
        """Return all that a turn works with.

        Raises:
            TurnStopped: There cannot be such a turn.
        """
        agent, situation = record.agent_snapshot, record.context
        if agent is None:
            raise TurnStopped("agent_unknown", "the session has no agent")
        chosen = turn.model.id if turn.model else agent.model
        folder = Path(situation.working_dir)
        made = await customized(turn, situation, context.session, context.seat.environment())
        of_servers, notices = await servers.tools(agent, made.servers)
        for notice in notices:
            await turn.notice(notice)
        of_relay: Sequence[ModelTool] = ()
        if self._relay is not None:
            of_relay = await relay_tools(*self._relay, context.session)
        tools = narrowed([*BUILT_IN_TOOLS, *of_relay, *of_servers], agent.tools)
        return TurnSetup(
            models=self._models,
            plan=TurnPlan(
                chain=tuple(dict.fromkeys((chosen, *agent.fallback_chain))),
                max_tool_turns=agent.limits.max_tool_turns or DEFAULT_TOOL_TURNS,
            ),
            agent=agent,
            situation=situation,
            folder=folder,
            system=_system_prompt(agent, situation),
            tools=tools | {tool.name: tool for tool in made.tools},
            customized=made,
            max_messages=self._chat.max_messages,
        )

    # -- refused actions of clients ------------------------------------------------------------------------

    def refusal(self, session: str, action: a.StateAction) -> Judgement | None:
        """See `LimitedHarness`: a session keeps its agent for life, and its model must exist."""
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


class ModelSession(c.BasicSession):
    """A model and its tools, in one session.

    Args:
        context: The host's side of the session.
        models: Sets up turns.
        record: The session: its agent as it was at the start, and its context.
        transcript: The messages and the cost so far.
    """

    def __init__(
        self,
        context: HostContext,
        models: ModelHarness,
        record: AgentSessionRecord,
        transcript: Transcript,
    ) -> None:
        super().__init__(context.identity, CAPABILITIES)
        self._context = context
        self._record = record
        self._transcript = transcript
        self._models = models
        self._servers = McpServers(context.seat, Path(record.context.working_dir))

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:
        """Answer a message in a turn. A repeated message finds that turn over, or under way.

        The journal has the message already: that is the evidence.
        """
        turn = self._context.turn(context.id)
        if turn.task is None:
            turn.message = user_message(message)
            if not self._transcript.has(turn.id):
                # The beginning of the turn has stored this message; here it is only added in memory.
                content, _ = user_content(turn.message, self._context.session)
                self._transcript.add(
                    turn.id, f"{turn.id}-0", SessionMessageRole.USER, content, self._context.seat.now()
                )
            turn.run(self._answer(turn, ()))
        return c.Delivered(delivery_id=context.id, metadata={"evidence": "journal"})

    async def take_up(self, turn: Turn) -> Sequence[str]:
        """Continue a turn that the end of the host has cut off."""
        rows = await self._context.seat.rows("steps_of_turn", self._context.session, turn.id)
        steps: list[Step] = [decode(row[0], Step) for row in rows]
        turn.message = turn.asked
        turn.run(self._answer(turn, [step for step in steps if not isinstance(step, Begun)]))
        return [one for step in steps if isinstance(step, Begun) for one in step.deliveries]

    async def _answer(self, turn: Turn, steps: Sequence[Step]) -> None:
        agent = self._record.agent_snapshot
        most = (agent.limits.max_turns if agent else 0) or DEFAULT_TURNS
        if self._transcript.turn_count > most:
            raise TurnStopped("turn_limit", f"the session has reached its limit of {most} turns")
        setup = await self._models.set_up(self._context, turn, self._record, self._servers)
        records = TurnRecords(self._context.seat, self._transcript, turn.id, steps)
        await ModelTurn(turn, setup, records).run()

    async def release(self, reason: str | None = None) -> None:
        """End what the session has started, such as MCP servers."""
        del reason
        await self._servers.close()


def _system_prompt(agent: AgentFile, situation: SessionContext) -> str:
    """Return the system prompt: the agent's own words, and its situation."""
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
