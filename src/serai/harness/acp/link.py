"""The host's link to the agent of one session: which session is wanted, and what is done once it is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from serai.acp import AcpSession, Agent, AgentCapabilities, SessionOpening
from serai.acp import link as acp
from serai.acp.link import OpenWay, Wanted
from serai.acp.shapes import texts_of
from serai.agents.catalogue.definitions import Quirk
from serai.contract import AgentSessionEvent, SessionForked, SessionResumed, SessionStarted
from serai.harness.acp import records
from serai.harness.acp.client import Asked, HostClient
from serai.harness.acp.notices import Notices
from serai.harness.acp.records import AgentRecord
from serai.harness.acp.settings import MCP_SERVERS, SessionSettings
from serai.harness.acp.turn import RunningPrompt
from serai.host.agents import HostContext
from serai.host.project import directory_of
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

__all__ = ["AgentProcess", "OpenAgent", "SessionLink"]


@dataclass(slots=True, eq=False)
class AgentProcess:
    """A running agent, with who answers it."""

    agent: Agent
    client: HostClient
    work: RunningPrompt | None = None
    """The turn that the agent tells of, as far as that was taken: it begins with a `BeginMark`."""
    is_untold: bool = False
    """Whether the agent does not know the conversation so far, and is given it with the next prompt."""
    is_replaying: bool = False
    """Whether what the agent tells may be history: it has opened an earlier session, and no prompt yet."""
    following: asyncio.Task[None] | None = None

    @property
    def capabilities(self) -> AgentCapabilities:
        """What the agent can do."""
        return self.agent.capabilities

    @property
    def is_running(self) -> bool:
        """Whether anything can be asked of the agent."""
        return self.agent.is_running

    async def close(self) -> None:
        """End the agent's process, and what ran for it."""
        await self.agent.close()
        if self.following is not None:
            await asyncio.gather(self.following, return_exceptions=True)
        await self.client.close()


OpenAgent: TypeAlias = acp.Opened[AgentProcess, AcpSession]
"""A running agent with its session open."""


class SessionLink(acp.Link[AgentProcess, AcpSession]):
    """The link of one session. `bring` gives the running agent, brought back where it is not there any more.

    Args:
        harness: The kind of agent.
        context: What the host gives.
        folder: Where the agent works.
        record: What is written down about the session.
        notices: What people are told beside its turns.
        settings: Its model, mode and options.
        asked: Who has its turns.
        tell: Is told of each agent whose session was opened.
        follow: Takes what happens in the agent's session, until that ends.
    """

    def __init__(
        self,
        harness: AcpHarness,
        context: HostContext,
        folder: Path,
        record: AgentRecord,
        *,
        notices: Notices,
        settings: SessionSettings,
        asked: Asked,
        tell: Callable[[Agent, AgentSessionEvent], None],
        follow: Callable[[OpenAgent], Coroutine[Any, Any, None]],
    ) -> None:
        super().__init__(self._start_agent, self._open_in, name=harness.name, opened=self._settle)
        self.was_refused = False
        """Whether the agent that runs has said that a person must sign in."""
        self._harness = harness
        self._session = context.session
        self._seat = context.seat
        self._folder = folder
        self._record = record
        self._notices = notices
        self._settings = settings
        self._asked = asked
        self._tell = tell
        self._follow = follow
        self._is_to_renew = False
        self._wanted = Wanted()

    async def bring(self) -> OpenAgent:
        """The running agent with its session.

        Raises:
            AgentError: It cannot be brought back.
        """
        return await self.get(self._wish)

    def renew(self) -> None:
        """Someone has signed in: an agent that has refused is started anew, for it may not see that."""
        self._is_to_renew = self.was_refused

    # -- opening -------------------------------------------------------------------------------------------

    async def _wish(self, running: OpenAgent | None) -> Wanted | None:
        turns = [turn.id for turn in self._seat.turns]
        taken_back = self._record.knows_too_much(turns)
        if running is not None and not taken_back and not self._is_to_renew:
            return None
        self.was_refused = self._is_to_renew = False
        session_id, fork, anew = self._record.session_id, False, None
        source = self._seat.forked_from
        if session_id is None and source is not None:
            theirs = records.read_records(await self._seat.records(source.session))
            session_id, fork = theirs.session_id, True
            if session_id is None:
                anew = "nothing is known of the session that it was forked from"
            elif theirs.knows_too_much(turns):
                anew = "agents cannot fork their sessions before the last turn"
            else:
                self._record.turn = theirs.turn
                self._record.is_untold = theirs.is_untold
        elif session_id is None and turns:
            anew = "its own session is not known any more"
        elif taken_back:
            anew = "agents cannot take back what was said in theirs"
        loads = 2 if Quirk.LOADS_UNRELIABLY in self._harness.found.definition.quirks else 1
        self._wanted = Wanted(session_id, fork, anew, loads)
        return self._wanted

    async def _start_agent(self) -> AgentProcess:
        definition, model = self._harness.found.definition, self._seat.model
        client = HostClient(definition, self._seat, self._folder, self._asked)
        agent = await self._harness.start(
            client,
            processes=self._seat.processes,
            mask=self._seat.mask,
            warn=self._notices.warn,
            cwd=self._folder,
            model=model.id if model else None,
            with_mcp=bool(self._seat.settings.get(MCP_SERVERS)),
        )
        return AgentProcess(agent, client)

    async def _open_in(self, process: AgentProcess, way: OpenWay, session_id: str | None) -> AcpSession:
        settings = self._seat.settings
        directories = texts_of(settings.get(ADDITIONAL_DIRECTORIES))
        how = SessionOpening(
            mcp_servers=settings.get(MCP_SERVERS) or (),
            additional_directories=[directory_of(each) or Path(each) for each in directories],
        )
        return await self._harness.login.through(
            process.agent, lambda agent: acp.open_session(agent, way, session_id, self._folder, how)
        )

    async def _settle(self, opened: OpenAgent) -> None:
        """Write down which session it is, tell people, and bring the agent to what was chosen."""
        process, session, way, reason = opened.agent, opened.session, opened.way, opened.reason
        agent, turns = process.agent, self._seat.turns
        process.is_replaying = way.knows_past
        if self._record.is_untold and turns and way.knows_past:
            way, reason = (
                OpenWay.RECREATED,
                "the one that was made for it before was not told of the conversation",
            )
        process.is_untold = way is OpenWay.RECREATED and bool(records.retold(turns))
        self._remember(agent, session, way)
        self._notices.opened(agent, session, way, reason, retold=process.is_untold)
        self._settings.adopt(session)
        self._tell(agent, self._event(session.id, way))
        process.following = asyncio.create_task(self._follow(opened), name=f"agent of {self._session}")
        await self._settings.choose(session)

    def _remember(self, agent: Agent, session: AcpSession, way: OpenWay) -> None:
        anew = way is OpenWay.RECREATED
        self._seat.forked_from = None
        self._record.session_id = session.id
        self._record.turn = None if anew else self._record.turn
        self._record.is_untold = anew
        self._record.handshake = agent.handshake.raw
        opened = records.opened(session.id, agent.handshake, anew=anew)
        self._seat.record(self._seat.masked(opened))
        if way is OpenWay.FORKED and self._record.turn is not None:
            self._seat.record(records.prompted(self._record.turn))

    def _event(self, session_id: str, way: OpenWay) -> AgentSessionEvent:
        match way:
            case OpenWay.RESUMED | OpenWay.LOADED:
                return SessionResumed(session_id=session_id)
            case OpenWay.FORKED:
                parent = self._wanted.session_id or ""
                return SessionForked(session_id=session_id, parent_session_id=parent)
            case _:
                return SessionStarted(session_id=session_id)
