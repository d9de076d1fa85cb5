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
from serai.agents.catalogue.introduction import Introduction
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
    """Makes agents of one kind, with a process for each session.

    The choices (models, modes, options) are known only once a session is open. They come from a new session,
    or from asking the agent before; from then on all new sessions have them.

    Args:
        found: The agent, as it is installed here.
        host: Offers the agent, and stores what was learned of it.
        known: The choices that were learned before.
        sign_in_method: The agent's method by which someone has signed in before.
    """

    def __init__(
        self,
        found: FoundAgent,
        host: Host,
        *,
        known: Choices | None = None,
        sign_in_method: str | None = None,
    ) -> None:
        self.found = found
        self.tools: list[ToolDefinition] = []
        self.known = known
        """The choices of this agent's sessions; `None` while none is known."""
        self.login = Login(found, host, method=sign_in_method)
        """Knows whether a person has to sign in, and signs them in."""
        self.sign_in_methods, self.sign_in_way = self.login.methods, self.login.way
        self.timeouts: dict[str, Any] = {}
        """Time-outs of `Agent.start` that differ from the usual ones."""
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
        """The agent's entry in the root channel, with the models that are known by now."""
        return AgentInfo(
            provider=self.name,
            display_name=self.found.label,
            description=self.found.definition.description,
            models=self.known.model_infos(self.name) if self.known else [],
        )

    @property
    def schema(self) -> SessionConfigSchema:
        """The settings of new sessions."""
        return schema_of(self.known)

    @property
    def chooses_model_at_start(self) -> bool:
        """True if the model is an argument of the program."""
        return self.found.way is not None and bool(self.found.way.model_args)

    def declared(self, handshake: Handshake) -> c.AgentSessionCapabilities:
        """Return the capabilities of a session whose agent has this handshake."""
        return declared(handshake, terminals=self.found.definition.terminal)

    @property
    def capabilities(self) -> c.AgentSessionCapabilities:
        """The capabilities of any session, whatever its handshake will be."""
        return self.declared(Handshake.read(None))

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> AcpAgentSession:  # noqa: ARG002 - the seat has them, as they are then
        """Make the agent of a session. It is started now for a new session, else with the next turn.

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
        """Drop an agent that was released."""
        if self._live.get(session) is agent:
            del self._live[session]

    def refusal(self, session: str, action: a.StateAction) -> Judgement | None:
        """Return why a client's action is refused: ACP lacks it, or the agent does not offer it."""
        label, live = self.found.label, self._live.get(session)
        match action:
            case a.SessionCustomizationToggledAction():
                why = f"{label} reads its files itself: switches here do not reach it"
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
        """Return what is wrong with a new session's MCP servers. The agent may still refuse some."""
        if name == MCP_SERVERS:
            try:
                write_servers(value, _ALL_SERVERS, self.name)
            except Mismatch as error:
                return str(error)
        return None

    async def learn(self) -> None:
        """Ask the agent for its choices, once. It is started for that in an empty folder, and ended."""
        async with self._asking:
            if self.known is None and not self._was_asked:
                self._was_asked = True
                self._learn_from(await self.login.ask())

    def _learn_from(self, offered: Introduction | None) -> None:
        if offered is not None and offered.problem is None:
            self.learned(Choices(offered.options))

    def learned(self, choices: Choices) -> None:
        """Keep the choices that a new session has."""
        if self.known is None or self.known.to_json() != choices.to_json():
            self.known = choices
            self._tell()

    def _tell(self) -> None:
        """Store what was learned, and tell clients."""
        choices = self.known.to_json() if self.known is not None else None
        record = {"agent": self.name, "choices": choices, "signInMethod": self.login.method}
        self._host.journal.record(_RECORDS, msgspec.json.encode(record))
        if self._host.harnesses.get(self.name) is self:
            self._host.agent_list.changed()

    async def authenticate(self, method_id: str) -> bool | None:
        """Have the agent itself sign a person in. Return whether someone is signed in now."""
        offered = await self.login.authenticate(method_id)
        self._tell()
        return await self._signed_in(offered)

    async def sign_in_over(self) -> bool | None:
        """Ask the agent whether someone has signed in, and renew the sessions that it had refused."""
        return await self._signed_in(await self.login.check())

    async def _signed_in(self, offered: Introduction | None) -> bool | None:
        self._learn_from(offered)
        signed_in = await self.login.standing()
        if signed_in is not False:
            for session in list(self._live.values()):
                session.renew()
        return signed_in


# -- capabilities of sessions --------------------------------------------------------------------------------


def can_steer(handshake: Handshake) -> bool:
    """Tell whether the agent says that it takes messages in the middle of a turn."""
    places = (handshake.raw, object_of(handshake.raw.get("agentCapabilities")))
    steering = (object_of(object_of(place.get("_meta")).get("steering")) for place in places)
    return any(each.get("supported") is True for each in steering)


_IN_TERMINALS = frozenset({"command", "terminal"})


def declared(handshake: Handshake, *, terminals: bool = False) -> c.AgentSessionCapabilities:
    """Return the capabilities of an agent's sessions; `terminals`: it uses terminals of the host."""
    offered = handshake.capabilities
    emits = tuple(one for one in OBSERVED_BY_HOST if terminals or one.family not in _IN_TERMINALS)
    steering = [c.DeliveryMode.NEXT_TOOL_CALL] if can_steer(handshake) else []
    resumes = offered.resume_session or offered.load_session
    attachments = (c.ContentType.TEXT, *([c.ContentType.IMAGE] if offered.prompt.image else ()))
    return c.AgentSessionCapabilities(
        messaging=c.MessagingCapabilities(receive=True, send=True, attachments=attachments),
        delivery=c.DeliveryCapabilities(modes=(c.DeliveryMode.IMMEDIATE, *steering, c.DeliveryMode.ON_IDLE)),
        events=c.EventCapabilities(emits=emits),
        actions=c.ActionCapabilities(invoke=True),  # each session is given the relay's tools
        lifecycle=c.LifecycleCapabilities(release=True, resume=resumes, fork=offered.fork_session),
    )


# -- the agents of the host --------------------------------------------------------------------------------

_RECORDS = "serai-agents"
"""The channel of the records about agents."""


async def offer_installed(host: Host, definitions: Iterable[AgentDefinition], finder: Finder) -> None:
    """Look for agents, and offer on the host those that can be started and are new or changed.

    Agents that were offered before and are gone are withdrawn. Cancelling it changes nothing.

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
            )
            harnesses.append(harness)
    if harnesses or gone:
        host.agent_list.add(harnesses, gone)


async def _known(host: Host, definitions: list[AgentDefinition], finder: Finder) -> list[KnownAgent]:
    """Return the current state of the catalogue's agents, without their versions."""
    agents: list[KnownAgent] = []
    has_news = False
    for found in await asyncio.gather(*(finder.find(one, with_version=False) for one in definitions)):
        harness, definition = host.harnesses.get(found.id), found.definition
        is_offered = isinstance(harness, AcpHarness)
        has_news |= harness is None and found.launch is not None
        agents.append(
            KnownAgent(
                provider=found.id,
                display_name=found.label,
                description=definition.description or None,
                installed=is_offered,
                signed_in=await harness.login.standing() if is_offered else found.signed_in,
                install=definition.install or None,
                homepage=definition.homepage or None,
                reason=None if is_offered else found.reason or None,
            )
        )
    if has_news and not host.agent_list.is_looking:  # someone has installed it by hand
        host.agent_list.look_again()
    return agents
