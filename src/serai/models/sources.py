"""Which session of an agent a model asks: a new one for each request, or one that is open."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from serai.acp import Block
from serai.acp.prompts import fit_prompt
from serai.agents.ask.ask import AgentClient
from serai.agents.ask.options import Options
from serai.agents.ask.prompt import Part, blocks_of
from serai.agents.ask.session import WireSession
from serai.models.contents import UPLOADED
from serai.models.history import Said, with_standing
from serai.models.ignoring import warn_of_dropped

__all__ = ["FreshSessions", "OpenSession", "Source"]


class Source(Protocol):
    """Where the sessions of a model come from."""

    @property
    def agent(self) -> str:
        """The agent's name."""
        ...

    @property
    def model_name(self) -> str:
        """What the model is called."""
        ...

    @property
    def session_id(self) -> str | None:
        """The session whose answers are known to whoever is asked; `None` for a new one."""
        ...

    def opened(self, said: Said) -> AbstractAsyncContextManager[tuple[WireSession, list[Part]]]:
        """The session to ask, and what to say to it."""
        ...


class FreshSessions:
    """Starts the agent for each request, and ends it.

    Args:
        client: The agent, with its options.
    """

    def __init__(self, client: AgentClient) -> None:
        self._client = client

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._client.name

    @property
    def model_name(self) -> str:
        """The agent's name, and the model's where one was asked for: `claude/sonnet`."""
        model = self._client.defaults.get("model")
        return f"{self.agent}/{model}" if model else self.agent

    @property
    def session_id(self) -> str | None:
        """The earlier session that goes on, if one was asked for."""
        return self._client.defaults.get("load") or self._client.defaults.get("resume")

    @asynccontextmanager
    async def opened(self, said: Said) -> AsyncGenerator[tuple[WireSession, list[Part]]]:
        """A new session, or an earlier one. At the end nothing of the agent is left."""
        # An agent that has a place for what holds throughout is told it there.
        texts = [text for text in (self._client.defaults.get("system_prompt"), said.standing) if text]
        parts: list[Part] = list(said.parts)
        if not parts and texts:
            parts = [texts.pop()]
        more: Options = {"system_prompt": "\n\n".join(texts)} if texts else {}
        async with self._client.session(**more) as session:
            yield session, fitting(parts, session, parts)


class OpenSession:
    """Asks a session that is open. It stays so.

    Args:
        session: The session.
    """

    def __init__(self, session: WireSession) -> None:
        self._session = session
        self._told: tuple[str | None, str | None] = (None, None)
        """What holds throughout, as it was told last, and by which id: a renewed session has another one."""

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._session.host.name

    @property
    def model_name(self) -> str:
        """The agent's name."""
        return self.agent

    @property
    def session_id(self) -> str | None:
        """The session."""
        return self._session.id

    @asynccontextmanager
    async def opened(self, said: Said) -> AsyncGenerator[tuple[WireSession, list[Part]]]:
        """The session. What holds throughout is said when the agent does not know it yet."""
        session_id, told = self._told
        parts = with_standing(said, told if session_id == self._session.id else None)
        self._told = (self._session.id, said.standing)
        try:
            yield self._session, fitting(parts, self._session, said.parts)
        except BaseException:
            self._told = (None, None)  # nobody knows whether it was heard
            raise


def fitting(parts: Sequence[Part], session: WireSession, said: Sequence[Part]) -> list[Part]:
    """The parts that the agent can take. A warning lists the types of the others.

    When none is left of what a person said, instructions do not go alone: the session says what is wrong.

    Args:
        parts: All that goes to the agent.
        session: The session that is asked.
        said: Those of the person.
    """
    blocks = _blocks(parts, session)
    known = [block for block in blocks if block["type"] != UPLOADED]
    kept, dropped = fit_prompt(known, session.capabilities)
    warn_of_dropped(session.host.name, dropped if len(known) == len(blocks) else (*dropped, UPLOADED))
    own = [block for block in _blocks(said, session) if block["type"] != UPLOADED]
    if own and not fit_prompt(own, session.capabilities)[0]:
        return list(own)
    return list(kept or known)


def _blocks(parts: Sequence[Part], session: WireSession) -> list[Block]:
    return blocks_of(parts, agent=session.host.name) if parts else []
