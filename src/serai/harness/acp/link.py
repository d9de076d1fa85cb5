"""The host's link to the agent of one session: which session is wanted, and what is done once it is open.

What is known of the agent's own session is written down, as records: `opened`, `prompted` and `titled`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from serai import contract as c
from serai.acp import session_start as acp
from serai.acp.agent import Agent
from serai.acp.capabilities import AgentCapabilities, Handshake
from serai.acp.prompt import fit_prompt
from serai.acp.servers import HttpServer, McpServer, StdioServer, read_server
from serai.acp.session import AcpSession, OpenWay, SessionOpening
from serai.acp.session_start import Wanted
from serai.acp.shapes import object_of, text_of, texts_of
from serai.ahp.types import MarkdownResponsePart, Turn, UserMessage
from serai.contract.events import OBSERVED_BY_HOST
from serai.harness.acp.client import HostClient
from serai.harness.acp.content import blocks_of
from serai.harness.acp.settings import MCP_SERVERS
from serai.harness.acp.turn import RunningPrompt
from serai.host.project import directory_of
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES

if TYPE_CHECKING:
    from serai.harness.acp.session import AcpAgentSession


_log = logging.getLogger(__name__)

_MOST = 48 * 1024
"""How much of a conversation an agent is told again, in characters."""
_RELAY_SERVER = "serai"
"""The name of the MCP server that has the relay's tools. A server that someone chose goes before it."""


@dataclass(slots=True)
class AgentRecord:
    """What is known of an agent's session, whichever run of the host has begun it."""

    session_id: str | None = None
    """The agent's name for it."""
    turn: str | None = None
    """The last turn that the agent knows of."""
    is_untold: bool = False
    """Whether the session was made anew, and the agent does not have the conversation yet."""
    title: str | None = None
    """The last title that the agent gave."""
    handshake: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the agent said of itself when it was last started."""

    def knows_too_much(self, turns: Iterable[str]) -> bool:
        """Whether the agent knows of a turn that these do not have any more: it was taken back."""
        return self.turn is not None and self.turn not in set(turns)


def read_records(records: Iterable[Mapping[str, Any]]) -> AgentRecord:
    """What the records say, oldest first."""
    known = AgentRecord()
    for record in records:
        match record.get("type"):
            case "opened":
                known.session_id = text_of(record.get("sessionId"))
                known.handshake = object_of(record.get("handshake"))
                if record.get("anew"):
                    known.turn = None
                    known.is_untold = True
            case "prompted":
                known.turn = text_of(record.get("turn"))
                known.is_untold = False
            case "titled":
                known.title = text_of(record.get("title"))
            case _:
                pass
    return known


# -- the conversation, told again --------------------------------------------------------------------------


LEFT_OUT = "[Earlier messages are left out.]"


def retold(turns: Sequence[Turn]) -> str:
    """What was said in these turns; of what is too much only the last, after `LEFT_OUT`."""
    told: list[str] = []
    room = _MOST
    for turn in reversed(turns):
        said = _said(turn)
        told.append(said if len(said) <= room else f"{LEFT_OUT}\n\n[…] {said[len(said) - room :]}")
        if len(said) > room:
            break
        room -= len(said)
    about = "[The conversation so far, for your information. Answer the message above, not this.]"
    return "\n\n".join([about, *reversed(told)])


def _said(turn: Turn) -> str:
    answer = "".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
    return f"User: {turn.user_message.text}\n\nYou: {answer or '[no answer]'}"


# -- the link ------------------------------------------------------------------------------------------------


class AgentProcess(Agent):
    """A running agent, with who answers it."""

    client: HostClient | None = None
    work: RunningPrompt | None = None
    """The turn that the agent tells of, as far as that was taken: it begins with a mark."""
    is_replaying: bool = False
    """Whether what the agent tells may be history: it has opened an earlier session, and no prompt yet."""
    following: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """End the agent's process, and what ran for it."""
        await super().close()
        if self.following is not None:
            await asyncio.gather(self.following, return_exceptions=True)
        if self.client is not None:
            await self.client.close()


OpenAgent: TypeAlias = acp.Opened[AgentProcess]
"""A running agent with its session open."""


class SessionLink(acp.Link[AgentProcess]):
    """The link of one session. `bring` gives the running agent, brought back where it is gone."""

    def __init__(self, session: AcpAgentSession, record: AgentRecord) -> None:
        super().__init__(self._start_agent, self._open_in, name=session.harness.name, opened=self._settle)
        self.was_refused = False
        """Whether the agent that runs has said that a person must sign in."""
        self._session = session
        self._harness, self._seat, self._folder = session.harness, session.seat, session.folder
        self._record = record
        self._is_to_renew = False

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
            theirs = read_records(await self._seat.records(source.session))
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
        return Wanted(session_id, fork, anew, self._harness.found.definition.loads)

    async def _start_agent(self) -> AgentProcess:
        model = self._seat.model
        client = HostClient(self._session)
        launch = self._harness.found.launching(
            model=model.id if model and self._harness.chooses_model_at_start else None,
            with_mcp=bool(await self._mcp_servers()),
        )
        process = await AgentProcess.start(
            replace(launch, cwd=self._folder),
            self._seat.processes,
            client=client,
            mask=self._seat.mask,
            warn=self._session.notices.warn,
            on_stderr=lambda line: _log.debug("%s: %s", self._harness.name, line),
            **self._harness.timeouts,
        )
        process.client = client
        return process

    async def _open_in(self, process: AgentProcess, way: OpenWay, session_id: str | None) -> AcpSession:
        settings = self._seat.settings
        directories = texts_of(settings.get(ADDITIONAL_DIRECTORIES))
        how = SessionOpening(
            mcp_servers=await self._mcp_servers(process.capabilities),
            additional_directories=[directory_of(each) or Path(each) for each in directories],
        )
        return await self._harness.login.through(
            process, lambda agent: agent.open_session(self._folder, way, session_id, **how)
        )

    async def _mcp_servers(
        self, capabilities: AgentCapabilities | None = None
    ) -> list[McpServer | Mapping[str, Any]]:
        """The servers that were chosen, and the relay's tools, in the way that the agent can reach them."""
        chosen: list[McpServer | Mapping[str, Any]] = list(self._seat.settings.get(MCP_SERVERS) or ())
        access = await self._seat.relay_access()
        if access is None or any(read_server(one).name == _RELAY_SERVER for one in chosen):
            return chosen
        if capabilities is not None and capabilities.mcp.http:
            headers = {"Authorization": f"Bearer {access.token}"}
            return [*chosen, HttpServer(name=_RELAY_SERVER, url=access.url, headers=headers)]
        env = {"SERAI_URL": access.url, "SERAI_TOKEN": access.token}
        args = ("-m", "serai", "mcp")
        return [*chosen, StdioServer(name=_RELAY_SERVER, command=sys.executable, args=args, env=env)]

    async def _settle(self, opened: OpenAgent) -> None:
        """Write down which session it is, tell people, and bring the agent to what was chosen."""
        process, session, way, reason = opened.agent, opened.session, opened.way, opened.reason
        turns = self._seat.turns
        process.is_replaying = way.knows_past
        if self._record.is_untold and turns and way.knows_past:
            way = OpenWay.RECREATED
            reason = "the one that was made for it before was not told of the conversation"
        self._remember(process, session, way)
        is_told = way is OpenWay.RECREATED and bool(turns)
        self._session.notices.opened(process, session, way, reason, retold=is_told)
        self._session.settings.adopt(session)
        self._session.opened(process)
        process.following = asyncio.create_task(self._session.follow(opened))
        await self._session.settings.choose(session)

    def _remember(self, agent: Agent, session: AcpSession, way: OpenWay) -> None:
        anew = way is OpenWay.RECREATED
        self._seat.forked_from = None
        self._record.session_id = session.id
        self._record.turn = None if anew else self._record.turn
        self._record.is_untold = anew
        self._record.handshake = agent.handshake.raw
        opened = {"sessionId": session.id, "handshake": dict(agent.handshake.raw), "anew": anew}
        self._seat.record(self._seat.masked({"type": "opened", **opened}))
        if way is OpenWay.FORKED and self._record.turn is not None:
            self._seat.record({"type": "prompted", "turn": self._record.turn})


# -- what a session with an agent can do ---------------------------------------------------------------------

_STEERING_METHOD = "_session/steering"
"""An extension of ACP that several agents share: a message for the turn that runs."""


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


async def steer(agent: Agent, session: AcpSession, message: UserMessage) -> tuple[str, ...] | None:
    """Have the agent take a message in its turn. Returns the types of what was left out; `None` for a no.

    Raises:
        AgentError: The agent refused, or is gone.
    """
    blocks, unknown = blocks_of(message)
    kept, dropped = fit_prompt(blocks, agent.capabilities)
    if not kept:
        return None
    meta = {"steering": {"idleBehavior": "promptRequired"}}
    answer = await agent.request(_STEERING_METHOD, {"sessionId": session.id, "prompt": kept, "_meta": meta})
    return (*dropped, *unknown) if object_of(answer).get("outcome") == "injected" else None
