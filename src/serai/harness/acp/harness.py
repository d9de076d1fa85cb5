"""A kind of agent that speaks ACP and is installed here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from serai import contract as c
from serai.acp.capabilities import AgentCapabilities, Handshake, McpCapabilities
from serai.acp.servers import write_servers
from serai.acp.shapes import object_of, text_of
from serai.agents.catalogue.definitions import AgentDefinition
from serai.agents.catalogue.finder import Finder, FoundAgent
from serai.agents.catalogue.introduction import FILE, AgentMemory, Introduction
from serai.ahp import actions as a
from serai.ahp.extensions import KnownAgent
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import AgentInfo, PendingMessageKind, SessionConfigSchema, ToolDefinition
from serai.contract.events import OBSERVED_BY_HOST
from serai.errors import AuthRequired, CapabilityNotSupportedError, Mismatch
from serai.harness.acp.login import Login
from serai.harness.acp.record import read_records
from serai.harness.acp.session import AcpAgentSession
from serai.harness.acp.settings import MCP_SERVERS, Choices, schema_of
from serai.host.agents import HostContext
from serai.host.host import Host

_ALL_SERVERS = AgentCapabilities(mcp=McpCapabilities(http=True, sse=True))


class AcpHarness:
    """Makes agents of one kind, a process for each session.

    What can be chosen (models, modes, options) is only known to a session. So a new session tells it, or the
    agent is asked before; from then on all new sessions have it.

    Args:
        found: The agent, as it is installed here.
        host: Where it is offered, and what was learned of it is written down.
        known: What was learned of it before.
        sign_in_method: How someone has signed in before, by a call of the agent.
        memory: Where it is kept for programs without a host what it said of itself.
    """

    def __init__(
        self,
        found: FoundAgent,
        host: Host,
        *,
        known: Choices | None = None,
        sign_in_method: str | None = None,
        memory: AgentMemory | None = None,
    ) -> None:
        self.found = found
        self.tools: list[ToolDefinition] = []
        self.known = known
        """What sessions of this agent can choose, as far as one has told."""
        self.login = Login(
            found, host.processes, mask=host.redactor.redact, memory=memory, method=sign_in_method
        )
        """Whether a person has to sign in, and how."""
        self.sign_in_methods, self.sign_in_way = self.login.methods, self.login.way
        self.timeouts: dict[str, Any] = {}
        """How long it is waited for, where that is not as usual: those of `Agent.start`."""
        self._host = host
        self._live: WeakValueDictionary[str, AcpAgentSession] = WeakValueDictionary()
        self._asking = asyncio.Lock()
        self._was_asked = False

    @property
    def name(self) -> str:
        """The provider id: the agent's id in the catalogue."""
        return self.found.id

    @property
    def info(self) -> AgentInfo:
        """What the root channel lists, with the models that are known by now."""
        return AgentInfo(
            provider=self.name,
            display_name=self.found.label,
            description=self.found.definition.description,
            models=self.known.model_infos(self.name) if self.known else [],
        )

    @property
    def schema(self) -> SessionConfigSchema:
        """The settings that new sessions have."""
        return schema_of(self.known)

    @property
    def chooses_model_at_start(self) -> bool:
        """Whether the model is an argument of the program."""
        return self.found.way is not None and bool(self.found.way.model_args)

    def declared(self, handshake: Handshake) -> c.AgentSessionCapabilities:
        """What a session can do whose agent has said this of itself."""
        return declared(handshake, terminals=self.found.definition.terminal)

    @property
    def capabilities(self) -> c.AgentSessionCapabilities:
        """What any session can do, whatever its agent will say."""
        return self.declared(Handshake.of(None))

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> AcpAgentSession:  # noqa: ARG002 - the seat has them, as they are then
        """Make the agent of a session. Of a new session it is started; of an earlier one with its next turn.

        Raises:
            AgentError: It does not start, or makes no session; `AuthRequired` when a person has to sign in.
            Mismatch: An MCP server is not described completely.
        """
        if context.seat.custom_agent is not None:
            raise CapabilityNotSupportedError("custom agents", agent=self.name)
        record = read_records(await context.seat.records())
        session = AcpAgentSession(self, context, record)
        self._live[context.session] = session
        if record.session_id is None:
            try:
                await session.resume()
            except AuthRequired as error:
                session.notices.needs_sign_in(error)
                raise
        return session

    def forget(self, session: str, agent: AcpAgentSession) -> None:
        """An agent was released."""
        if self._live.get(session) is agent:
            del self._live[session]

    def refusal(self, session: str, action: a.StateAction) -> Judgement | None:
        """Why a client's action cannot be: ACP has nothing like it, or the agent does not offer it."""
        label, live = self.found.label, self._live.get(session)
        match action:
            case a.SessionCustomizationToggledAction():
                why = f"{label} reads its files itself: what is switched here does not reach it"
            case a.SessionAgentChangedAction() if action.agent is not None:
                why = f"{label} has no custom agents here"
            case _ if live is not None:
                return live.refusal(action)
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING):
                why = "no turn is running that could be steered"
            case _:
                return None
        return rejected("capability_unsupported", why)

    def problem_with(self, name: str, value: Any) -> str | None:
        """What is the matter with the MCP servers of a new session. Which it can reach, the agent says."""
        if name == MCP_SERVERS:
            try:
                write_servers(value, _ALL_SERVERS, self.name)
            except Mismatch as error:
                return str(error)
        return None

    async def learn(self) -> None:
        """Ask the agent what can be chosen, once. It is started for that, in an empty folder, and ended."""
        async with self._asking:
            if self.known is None and not self._was_asked:
                self._was_asked = True
                self._learn_from(await self.login.ask())

    def _learn_from(self, told: Introduction | None) -> None:
        if told is not None and told.problem is None:
            self.learned(Choices.of(told.modes, told.options))

    def learned(self, choices: Choices) -> None:
        """A new session has told what can be chosen."""
        if self.known is None or self.known.to_json() != choices.to_json():
            self.known = choices
            self._tell()

    def _tell(self) -> None:
        """Something was learned: write it down, and tell clients."""
        choices = self.known.to_json() if self.known is not None else None
        record = {"agent": self.name, "choices": choices, "signInMethod": self.login.method}
        self._host.journal.record(_RECORDS, msgspec.json.encode(record))
        if self._host.harnesses.get(self.name) is self:
            self._host.agent_list.changed()

    async def authenticate(self, method_id: str) -> bool | None:
        """Have the agent itself sign someone in."""
        told = await self.login.authenticate(method_id)
        self._tell()
        return await self._signed_in(told)

    async def sign_in_over(self) -> bool | None:
        """Someone may have signed in: ask the agent, and have sessions begin anew that it had refused."""
        return await self._signed_in(await self.login.check())

    async def _signed_in(self, told: Introduction | None) -> bool | None:
        self._learn_from(told)
        signed_in = await self.login.standing()
        if signed_in is not False:
            for session in list(self._live.values()):
                session.renew()
        return signed_in


# -- what a session with an agent can do -------------------------------------------------------------------


def can_steer(handshake: Handshake) -> bool:
    """Whether the agent says that it takes messages in the middle of a turn."""
    places = (handshake.raw, object_of(handshake.raw.get("agentCapabilities")))
    steering = (object_of(object_of(place.get("_meta")).get("steering")) for place in places)
    return any(each.get("supported") is True for each in steering)


_IN_TERMINALS = frozenset({"command", "terminal"})


def declared(handshake: Handshake, *, terminals: bool = False) -> c.AgentSessionCapabilities:
    """What the agent's sessions can do; with `terminals`, it has its commands run in the host's."""
    told = handshake.capabilities
    emits = tuple(one for one in OBSERVED_BY_HOST if terminals or one.family not in _IN_TERMINALS)
    steering = [c.DeliveryMode.NEXT_TOOL_CALL] if can_steer(handshake) else []
    resumes = told.resume_session or told.load_session
    attachments = (c.ContentType.TEXT, *([c.ContentType.IMAGE] if told.prompt.image else ()))
    return c.AgentSessionCapabilities(
        messaging=c.MessagingCapabilities(receive=True, send=True, attachments=attachments),
        delivery=c.DeliveryCapabilities(modes=(c.DeliveryMode.IMMEDIATE, *steering, c.DeliveryMode.ON_IDLE)),
        events=c.EventCapabilities(emits=emits),
        actions=c.ActionCapabilities(invoke=True),  # each session is given the relay's tools
        lifecycle=c.LifecycleCapabilities(release=True, resume=resumes, fork=told.fork_session),
    )


# -- which agents there are --------------------------------------------------------------------------------

_RECORDS = "serai-agents"
"""Where it is written what was learned of agents."""


async def offer_installed(host: Host, definitions: Iterable[AgentDefinition], finder: Finder) -> None:
    """Look for agents, and offer on the host those that can be started and are new, or others than before.

    Those that it offered before and that are gone are offered no longer. Cancelling it changes nothing.

    Args:
        host: The host, which is open.
        definitions: The agents to look for.
        finder: Finds them.
    """
    definitions = list(definitions)
    host.agent_list.known = partial(_known, host, definitions, finder)
    rows = await host.journal.store.rows(_RECORDS, 0)
    records: list[dict[str, Any]] = [msgspec.json.decode(row.action) for row in rows]
    known = {record["agent"]: record for record in records}
    memory = AgentMemory(host.home / FILE)
    harnesses: list[AcpHarness] = []
    gone = {name for name, one in host.harnesses.items() if isinstance(one, AcpHarness)}
    for found in await finder.find_all(definitions):
        if found.launch is not None:
            gone.discard(found.id)
        before = host.harnesses.get(found.id)
        is_new = not isinstance(before, AcpHarness) or before.found != found
        if found.launch is not None and is_new:
            learned = known.get(found.id, {})
            choices = learned.get("choices")
            harness = AcpHarness(
                found,
                host,
                known=Choices.read(choices) if choices is not None else None,
                sign_in_method=text_of(learned.get("signInMethod")),
                memory=memory,
            )
            harnesses.append(harness)
    if harnesses or gone:
        host.agent_list.add(harnesses, gone)


async def _known(host: Host, definitions: list[AgentDefinition], finder: Finder) -> list[KnownAgent]:
    """The agents of the catalogue as they are now. Their versions are not asked for."""
    agents: list[KnownAgent] = []
    has_news = False
    for found in await asyncio.gather(*(finder.find(one, with_version=False) for one in definitions)):
        harness, told = host.harnesses.get(found.id), found.definition
        is_offered = isinstance(harness, AcpHarness)
        has_news |= harness is None and found.launch is not None
        agents.append(
            KnownAgent(
                provider=found.id,
                display_name=found.label,
                description=told.description or None,
                installed=is_offered,
                signed_in=await harness.login.standing() if is_offered else found.signed_in,
                install=told.install or None,
                homepage=told.homepage or None,
                reason=None if is_offered else found.reason or None,
            )
        )
    if has_news and not host.agent_list.is_looking:  # someone has installed it in a way of their own
        host.agent_list.look_again()
    return agents
