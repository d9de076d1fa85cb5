"""Information about an agent's session beside its answers: notices, its title, its commands."""

from __future__ import annotations

from logging import Logger
from typing import TYPE_CHECKING

import msgspec

from serai.acp.agent import Agent
from serai.acp.session import AcpSession, OpenWay
from serai.acp.shapes import text_of
from serai.ahp.extensions import LOGIN
from serai.completions.names import Prompt
from serai.errors import AuthRequired
from serai.harness.acp.content import COMMAND
from serai.host.seat import Seat
from serai.host.turn import Turn

if TYPE_CHECKING:
    from serai.harness.acp.record import AgentRecord

ACP = "serai.acp"
"""Key in a session's `_meta`: the agent, its capabilities, its own session's id, how that was opened."""
_ASIDE = 64 * 1024
"""Longest text between turns that is shown in the next one, in characters."""


class Notices:
    """Publishes what belongs to the session and not to a turn: at once, or when the next turn begins."""

    def __init__(self, label: str, seat: Seat, record: AgentRecord, logger: Logger) -> None:
        self._label = label
        self._seat = seat
        self._record = record
        self._logger = logger
        self._notices: list[str] = []
        self._aside = ""
        self.is_renamed = False
        """True once a person has given the session a title."""

    def warn(self, sentence: str) -> None:
        """Log a warning, and show it to the person in the turn."""
        self._logger.warning("%s", self._seat.mask(sentence))
        self._notices.append(sentence)

    def overheard(self, text: str) -> None:
        """Keep what the agent says while no turn runs."""
        self._aside = (self._aside + text)[:_ASIDE]

    async def tell(self, turn: Turn) -> None:
        """Show the notices since the last turn."""
        notices, self._notices = self._notices, []
        aside, self._aside = self._aside, ""
        for notice in notices:
            await turn.notice(notice)
        if aside:
            await turn.notice(f"Between the turns {self._label} said: {aside}")

    def opened(
        self, agent: Agent, session: AcpSession, way: OpenWay, reason: str | None, *, retold: bool
    ) -> None:
        """Publish that the agent's own session is open. `retold`: the agent is given the conversation."""
        info = agent.handshake.agent_info
        content = {
            "agent": {
                "name": info["title"] or info["name"] or self._label,
                **({"version": info["version"]} if info["version"] is not None else {}),
            },
            "sessionId": session.id,
            "opened": way.value,
            "capabilities": msgspec.to_builtins(agent.capabilities),
        }
        self._seat.note(ACP, self._seat.masked(content))
        self._seat.note(LOGIN, None)
        memory = (
            "It is given the text of the conversation above, as far as there is room, and nothing else."
            if retold
            else "It remembers nothing of the conversation above."
        )
        again = f"was started again and has {way} its session: it remembers the conversation."
        notices = {
            OpenWay.RESUMED: again,
            OpenWay.LOADED: again,
            OpenWay.FORKED: "has forked its session: it remembers the conversation up to here.",
            OpenWay.RECREATED: f"works in a new session of its own, since {reason}. {memory}",
        }
        if way in notices:
            self._notices.append(f"{self._label} {notices[way]}")
        self.show_commands(session)

    def needs_sign_in(self, error: AuthRequired) -> None:
        """Publish that a person has to sign in."""
        content = {"command": list(error.login_command), "methods": [dict(each) for each in error.methods]}
        self._seat.note(LOGIN, {name: value for name, value in content.items() if value})

    def entitle(self, title: str) -> None:
        """Take the agent's title. A title that a person gave stays."""
        known = self._record.title
        if self.is_renamed or (known is not None and known != self._seat.title):
            return
        if title and title != known:
            self._record.title = title
            self._seat.record({"type": "titled", "title": title})
            self._seat.entitle(title)

    def show_commands(self, session: AcpSession) -> None:
        """Publish the agent's own commands."""
        self._seat.commands = [
            Prompt(name, text_of(command.get("description")) or "", None, COMMAND)
            for command in session.commands
            if (name := text_of(command.get("name")))
        ]
