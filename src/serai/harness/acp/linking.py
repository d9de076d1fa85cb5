"""The link to an agent: its process, with its own session open. It breaks, and is made again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serai.acp import AcpSession, Agent, Item, Opening
from serai.acp.session import history_told
from serai.errors import AgentClosed
from serai.harness.acp import kept as k
from serai.harness.acp.answering import Answering, Asked
from serai.harness.acp.beside import Beside
from serai.harness.acp.choices import MCP_SERVERS, texts_in
from serai.harness.acp.choosing import Choosing
from serai.harness.acp.opening import Opened, Outcome, Wanted, open_session
from serai.harness.acp.replaying import Replay, not_told
from serai.harness.acp.retelling import retold
from serai.harness.acp.work import Work
from serai.host.agents import HostContext
from serai.host.project import directory_of
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

__all__ = ["Link", "Linking"]

_OF_BEFORE = (Outcome.RESUMED, Outcome.LOADED, Outcome.FORKED)


@dataclass(slots=True, eq=False)
class Link:
    """A running agent with its session open."""

    agent: Agent
    session: AcpSession
    answering: Answering
    """Who answers the agent, and has its terminals."""
    is_untold: bool = False
    """Whether the agent does not know the conversation so far, and is given it with the next prompt."""
    replay: Replay | None = None
    """Tells what is history, until the second prompt; `None` when none can come any more."""
    history_at: float = -math.inf
    """When the agent last told some since the session was opened."""
    work: Work | None = None
    """The turn that the agent tells of, as far as that was taken: it begins with a `BeginMark`."""
    following: asyncio.Task[None] | None = None

    def is_history(self, item: Item) -> bool:
        """Whether the agent tells again what was before. To be asked while no turn runs."""
        if self.replay is None or self.replay.news(item):
            return False
        self.history_at = asyncio.get_running_loop().time()
        return True

    async def settle(self) -> None:
        """Wait until the agent has told all of the history, as far as one can know. Cancelling stops it."""
        await history_told(lambda: self.history_at if self.agent.is_running else None)

    async def close(self) -> None:
        """End the agent's process, and what ran for it."""
        await self.agent.close()
        if self.following is not None:
            await asyncio.gather(self.following, return_exceptions=True)
        await self.answering.close()


class Linking:
    """Makes the link of one session, one at a time.

    Args:
        harness: The kind of agent.
        context: What the host gives.
        folder: Where the agent works.
        kept: What is written down about the session.
        beside: What it has beside its turns.
        choosing: Its model, mode and options.
        asked: Who has its turns.
        opened: Is told of each session that was opened.
        follow: Takes what happens in the agent's session, until that ends.
    """

    def __init__(
        self,
        harness: AcpHarness,
        context: HostContext,
        folder: Path,
        kept: k.Kept,
        *,
        beside: Beside,
        choosing: Choosing,
        asked: Asked,
        opened: Callable[[Opened, Wanted], None],
        follow: Callable[[Link], Coroutine[Any, Any, None]],
    ) -> None:
        self.link: Link | None = None
        """The last one that was made. Its agent may be gone by now."""
        self.was_refused = False
        """Whether the agent that runs has said that a person must sign in."""
        self._harness = harness
        self._definition = harness.found.definition
        self._context = context
        self._seat = context.seat
        self._folder = folder
        self._kept = kept
        self._beside = beside
        self._choosing = choosing
        self._asked = asked
        self._opened = opened
        self._follow = follow
        self._opening = asyncio.Lock()
        self._is_to_renew = False
        self._is_closed = False

    # -- what there is -------------------------------------------------------------------------------------

    @property
    def running(self) -> Link | None:
        """The link, if its agent runs."""
        return self.link if self.link is not None and self.link.agent.is_running else None

    async def get(self) -> Link:
        """The running agent with its session; both are brought back where they are not there any more.

        Raises:
            AgentError: That is not possible.
        """
        async with self._opening:
            turns = [turn.id for turn in self._seat.turns]
            taken_back = self._kept.knows_too_much(turns)
            link = self.running
            if link is not None and not taken_back and not self._is_to_renew:
                return link
            self.was_refused = self._is_to_renew = False
            await self.drop()
            return await self._open(await self._wanted(turns, taken_back=taken_back))

    def renew(self) -> None:
        """Someone has signed in: an agent that has refused is started anew, for it may not see that."""
        self._is_to_renew = self.was_refused

    async def drop(self, link: Link | None = None) -> None:
        """End the agent's process; with a link, only if it is still that."""
        if link in (None, self.link):
            link, self.link = self.link, None
            if link is not None:
                await link.close()

    async def close(self) -> None:
        """End it, and make no other."""
        self._is_closed = True
        await self.drop()

    # -- opening -------------------------------------------------------------------------------------------

    async def _wanted(self, turns: list[str], *, taken_back: bool) -> Wanted:
        anew: str | None = None
        session_id, fork = self._kept.session_id, False
        source = self._seat.forked_from
        if session_id is None and source is not None:
            theirs = k.kept_of(await self._seat.records(source.session))
            session_id, fork = theirs.session_id, True
            if session_id is None:
                anew = "nothing is known of the session that it was forked from"
            elif theirs.knows_too_much(turns):
                anew = "agents cannot fork their sessions before the last turn"
            else:
                self._kept.turn = theirs.turn
                self._kept.is_untold = theirs.is_untold
        elif session_id is None and turns:
            anew = "its own session is not known any more"
        elif taken_back:
            anew = "agents cannot take back what was said in theirs"
        return Wanted(
            cwd=self._folder,
            session_id=session_id,
            fork=fork,
            anew=anew,
            quirks=self._definition.quirks,
        )

    async def _open(self, wanted: Wanted) -> Link:
        servers = self._seat.settings.get(MCP_SERVERS) or ()
        directories = texts_in(self._seat.settings.get(ADDITIONAL_DIRECTORIES))
        how = Opening(
            mcp_servers=servers,
            additional_directories=[directory_of(each) or Path(each) for each in directories],
        )
        answering = Answering(self._definition, self._seat, self._folder, self._asked)

        async def start() -> Agent:
            self._check()
            model = self._seat.model
            return await self._harness.start(
                answering,
                processes=self._seat.processes,
                mask=self._seat.mask,
                warn=self._beside.warn,
                cwd=self._folder,
                model=model.id if model else None,
                with_mcp=bool(servers),
            )

        opened = await open_session(start, wanted, how, self._harness.signing_in.through)
        if self._is_closed:
            await opened.agent.close()
            self._check()
        link = self.link = Link(opened.agent, opened.session, answering)
        if opened.outcome in _OF_BEFORE:
            mask = self._seat.mask
            late = not_told(self._seat.turns, opened.session.replayed, mask=mask)
            link.replay = Replay(late, mask=mask) if late else None
        if self._kept.is_untold and self._seat.turns:
            opened = opened.untold()
        link.is_untold = opened.outcome is Outcome.RECREATED and bool(retold(self._seat.turns))
        self._remember(opened)
        self._beside.opened(opened, retold=link.is_untold)
        self._choosing.adopt(opened.session)
        self._opened(opened, wanted)
        link.following = asyncio.create_task(self._follow(link), name=f"agent of {self._context.session}")
        await self._choosing.choose(opened.session)
        return link

    def _check(self) -> None:
        if self._is_closed:
            raise AgentClosed(f"the agent {self._harness.name!r} was released", agent=self._harness.name)

    def _remember(self, opened: Opened) -> None:
        """Write down which session it is."""
        handshake = opened.agent.handshake
        self._seat.forked_from = None
        anew = opened.outcome is Outcome.RECREATED
        self._kept.session_id = opened.session.id
        self._kept.turn = None if anew else self._kept.turn
        self._kept.is_untold = anew
        self._kept.handshake = handshake.raw
        self._seat.record(k.opened(opened.session.id, handshake, anew=anew))
        if opened.outcome is Outcome.FORKED and self._kept.turn is not None:
            self._seat.record(k.prompted(self._kept.turn))
