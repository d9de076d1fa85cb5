"""The provider `workflow`: runs of workflow files.

    serai-run:/ID, made with {file}  ─→  one turn: its message is the input, its last answer the output

Each agent node is a `ModelTurn` over records of its own, so that a run continues in the node in which the end
of the host has cut it off. A node sees the output of the nodes before it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from serai import contract as c
from serai.ahp import actions as a, types as t
from serai.ahp.commands import CreateSessionParams
from serai.ahp.rules import Judgement, rejected
from serai.contract.record import Record, decode, encode
from serai.errors import DocumentInvalid, FileUnreadable, InvalidParams, Mismatch, TurnStopped
from serai.harness.model.agent_choice import SETTINGS, read_document
from serai.harness.model.calls import TurnSetup
from serai.harness.model.harness import CAPABILITIES, ModelHarness
from serai.harness.model.tools.mcp import McpServers
from serai.harness.model.transcript import Transcript, TurnRecords, step_write, user_content
from serai.harness.model.turn import ModelTurn
from serai.host.agents import HostContext, LimitedHarness
from serai.host.surroundings.files import directory_of
from serai.host.turn import Turn
from serai.session.messages import AgentSessionRecord, SessionMessageRole, TextPart
from serai.session.turn_core import Begun, EndTurn, Step, TurnPlan, next_effect
from serai.session.workflow import (
    Node,
    NodeType,
    Workflow,
    chain,
    problems,
    read_workflow,
    references,
    render,
)
from serai.session.yaml import Document
from serai.store.contract import BlobRow, RelayWrite


class RunRecord(Record):
    """The stored record of a run. It never changes."""

    id: str
    workflow: Workflow
    """The workflow without its metadata, which no node sees."""
    agents: dict[str, AgentSessionRecord]
    """The agents of its nodes by their slugs, each as it was when the run was made, with its context."""


class WorkflowHarness(LimitedHarness):
    """Makes runs of workflow files.

    Args:
        models: Sets up the turns of nodes.
    """

    name = "workflow"
    in_process = takes_up_turns = makes_runs = True
    capabilities = replace(
        CAPABILITIES, messaging=replace(CAPABILITIES.messaging, attachments=(c.ContentType.TEXT,))
    )
    info = t.AgentInfo(
        provider="workflow", display_name="Workflow", description="A run of a workflow file.", models=[]
    )
    schema = t.SessionConfigSchema(
        type="object",
        properties={
            "file": t.SessionConfigPropertySchema(
                type="string", title="File", description="The workflow's file, on the host's machine"
            ),
            "variables": SETTINGS.properties["variables"],
        },
    )

    def __init__(self, models: ModelHarness) -> None:
        self._models = models

    @property
    def tools(self) -> list[t.ToolDefinition]:
        """The built-in tools, for clients to show."""
        return self._models.tools

    # -- a new run -----------------------------------------------------------------------------------------

    async def examine(self, params: CreateSessionParams, directory: str | None) -> None:
        """See `TranscriptHarness`: checks the file, its agents and models, and the values of references."""
        for name in ("fork", "model", "agent"):
            if getattr(params, name) is not None:
                raise InvalidParams("a run takes this from its workflow", field=f"params.{name}")
        await asyncio.to_thread(self._frozen, "", params.config or {}, directory)

    def _frozen(self, uri: str, settings: Mapping[str, Any], directory: str | None) -> RunRecord:
        """Return the frozen record of a run, read from the disk.

        Raises:
            InvalidParams: There cannot be such a run.
        """
        folder, named = directory_of(directory), settings.get("file")
        if folder is None:
            raise InvalidParams("a run needs a folder of this machine", field="params.workingDirectory")
        if not isinstance(named, str) or not named:
            raise InvalidParams("config.file: a run needs a workflow's file", field="params.config.file")
        # An agent in a workflow starts programs just as one in a file of its own.
        is_inside = Path(os.path.realpath(folder / named)).is_relative_to(os.path.realpath(folder))
        if is_inside and not self._models.is_trusted(folder):
            why = f"{named} is in a folder that is not trusted: run 'serai config trust {folder}'"
            raise InvalidParams(why, field="params.config.file")
        try:
            document = read_document(folder / named, named)
            return self._checked(uri, document, settings, folder)
        except (DocumentInvalid, FileUnreadable) as error:
            raise InvalidParams(str(error), field="params.config.file") from None

    def _checked(self, uri: str, document: Document, settings: Mapping[str, Any], folder: Path) -> RunRecord:
        known = self._models.known(folder)
        workflow = read_workflow(document, known)
        agents = {agent.slug: agent for agent in workflow.agents}
        used = {node.agent_ref for node in workflow.nodes if node.type is NodeType.AGENT}
        agents |= {slug: self._models.agent_file(slug, folder) for slug in used - agents.keys()}
        whole = replace(workflow, agents=tuple(agents.values()), metadata={})
        for place, what in problems(
            whole, known
        ):  # the tools that nodes name, of agents with files of their own
            raise document.error(what, *place)
        told = {"variables": settings.get("variables")}
        records = {slug: self._models.record(agents[slug], told, folder) for slug in used}
        for number, node in enumerate(workflow.nodes):
            if node.type is NodeType.AGENT:
                variables = {f"ctx.{name}" for name in records[node.agent_ref].context.variables}
                place, system = ("nodes", number, "prompt_template"), agents[node.agent_ref].system_prompt
                for name in (*references(node.prompt_template), *references(system)):
                    if name.startswith("ctx.") and name not in variables:
                        raise document.error(f"{{{{{name}}}}} has no value at {node.id!r}", *place)
        return RunRecord(id=uri, workflow=whole, agents=records)

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> WorkflowRun:
        """Make a run, or continue one. Its frozen record is read from its row."""
        seat, uri = context.seat, context.session
        rows = await seat.rows("workflow_run", uri)
        if not rows:
            record = await asyncio.to_thread(self._frozen, uri, settings, seat.working_directory)
            seat.record({"kind": "run"}, [RelayWrite("put_workflow_run", (uri, encode(record)))])
            seat.entitle(record.workflow.workflow.name)
            rows = await seat.rows("workflow_run", uri)
        ((data, spent, _),) = rows
        record = decode(data, RunRecord)
        transcript = Transcript(uri, await seat.rows("run_messages", uri), spent, "run")
        return WorkflowRun(context, self._models, record, transcript)

    # -- the turn ------------------------------------------------------------------------------------------

    def turn_begins(
        self, session: str, action: a.SessionTurnStartedAction, deliveries: Sequence[str], now: int
    ) -> tuple[Sequence[RelayWrite], Sequence[BlobRow]]:
        """See `TranscriptHarness`: writes the deliveries that the run answers."""
        del action, now
        return [step_write("run", session, "", Begun(deliveries=tuple(deliveries)))], ()

    def refusal(self, session: str, action: a.StateAction) -> Judgement | None:
        """See `LimitedHarness`: the workflow decides on agents and models."""
        del session
        if isinstance(action, a.SessionAgentChangedAction | a.SessionModelChangedAction):
            return rejected("capability_unsupported", "a run has the agents and models of its workflow")
        return None


class WorkflowRun(c.BasicSession):
    """One run of a workflow.

    Args:
        context: The host's side of the session.
        models: Sets up the turns of nodes.
        record: The workflow and its agents.
        transcript: The messages so far, by node, and the cost.
    """

    def __init__(
        self,
        context: HostContext,
        models: ModelHarness,
        record: RunRecord,
        transcript: Transcript,
    ) -> None:
        super().__init__(context.identity, WorkflowHarness.capabilities)
        self._context = context
        self._record = record
        self._transcript = transcript
        self._models = models
        # Two agents may each have a server of the same name.
        self._servers = {
            slug: McpServers(context.seat, Path(agent.context.working_dir))
            for slug, agent in record.agents.items()
        }

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:
        """Run the workflow with a message as its input. A repeat finds the run under way, or over."""
        del message
        turn = self._context.turn(context.id)
        if turn.task is None:
            turn.run(self._begin(turn))
        return c.Delivered(delivery_id=context.id, metadata={"evidence": "journal"})

    async def take_up(self, turn: Turn) -> Sequence[str]:
        """Continue a run that the end of the host has cut off."""
        records: dict[str, list[Step]] = {}
        for node, data in await self._context.seat.rows("steps_of_run", self._context.session):
            records.setdefault(node, []).append(decode(data, Step))
        turn.run(self._go_on(turn, records))
        return [one for step in records.get("", ()) if isinstance(step, Begun) for one in step.deliveries]

    async def _begin(self, turn: Turn) -> None:
        if self._context.seat.turns or self._transcript.turn_count:
            raise TurnStopped("run_over", "a run has one turn, and this one has had it: begin another run")
        await self._go_on(turn, {})

    async def _go_on(self, turn: Turn, records: Mapping[str, Sequence[Step]]) -> None:
        """Work through the nodes, or through those that are left."""
        content, _ = user_content(turn.asked, self._context.session)
        last = "\n\n".join(part.text for part in content if isinstance(part, TextPart))
        values = {"input": last}
        nodes = [node for node in chain(self._record.workflow) if node.type is NodeType.AGENT]
        before: list[Step] = []
        for number, node in enumerate(nodes, start=1):
            steps: Sequence[Step] = [s for s in records.get(node.id, ()) if not isinstance(s, Begun)]
            if next_effect(TurnPlan(chain=("",)), steps) != EndTurn():
                prompt = self._prompt(node, values, last)
                if not self._transcript.has(node.id):
                    await turn.notice(f"Step {number} of {len(nodes)}: {node.id}")
                steps = await self._work(turn, node, prompt, steps, before)
            before += steps
            last = values[f"{node.id}.output"] = self._transcript.answer(node.id)
        if not nodes:
            await turn.say(last)

    def _prompt(self, node: Node, values: Mapping[str, str], last: str) -> str:
        """Return a node's prompt: its template, or the output of the node before it."""
        variables = self._record.agents[node.agent_ref].context.variables
        named = {**values, **{f"ctx.{name}": value for name, value in variables.items()}}
        try:
            prompt = render(node.prompt_template, named) if node.prompt_template else last
        except Mismatch as error:
            raise TurnStopped("prompt_invalid", f"{node.id}: {error}") from None
        if not prompt.strip():
            raise TurnStopped("prompt_empty", f"{node.id} has no prompt: give the run an input")
        return prompt

    async def _work(
        self, turn: Turn, node: Node, prompt: str, steps: Sequence[Step], before: Sequence[Step]
    ) -> Sequence[Step]:
        """Run a node's agent. Returns its records."""
        seat, uri = self._context.seat, self._context.session
        turn.message = t.UserMessage(text=prompt)
        if not self._transcript.has(node.id):
            said = seat.masked([TextPart(text=prompt)])
            role = SessionMessageRole.USER
            write = self._transcript.add(node.id, f"{node.id}-0", role, said, seat.now())
            begun = step_write("run", uri, node.id, Begun(deliveries=()))
            seat.record({"kind": "step"}, [write, begun])
        setup = await self._set_up(turn, node)
        records = TurnRecords(seat, self._transcript, node.id, steps)
        await ModelTurn(turn, setup, records, before).run()
        return records.steps

    async def _set_up(self, turn: Turn, node: Node) -> TurnSetup:
        record = self._record.agents[node.agent_ref]
        if node.tools is not None and record.agent_snapshot is not None:
            record = replace(record, agent_snapshot=replace(record.agent_snapshot, tools=node.tools))
        return await self._models.set_up(self._context, turn, record, self._servers[node.agent_ref])

    async def release(self, reason: str | None = None) -> None:
        """End what the run has started, such as MCP servers."""
        del reason
        for servers in self._servers.values():
            await servers.close()
