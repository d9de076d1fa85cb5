"""What an agent's session has beside its turns: a title, commands, and what the next turn begins with."""

from __future__ import annotations

from logging import Logger

import msgspec

from serai.acp import AcpSession
from serai.acp.shapes import text_of
from serai.ahp.extensions import LOGIN
from serai.completions.sources import Prompt
from serai.errors import AuthRequired
from serai.harness.acp import kept as k
from serai.harness.acp.opening import Opened, notice_of
from serai.harness.acp.prompting import COMMAND
from serai.host.seat import Seat
from serai.host.turn import Turn

__all__ = ["ACP", "Beside"]

ACP = "serai.acp"
"""In a session's `_meta`: the agent and what it can do, its own id of the session, how that was opened."""
_ASIDE = 64 * 1024
"""So much of what the agent said between turns is told in the next one."""


class Beside:
    """What holds for the session, and not for a turn.

    Args:
        label: What people call the agent.
        seat: Its place in the session.
        kept: What is written down about the session.
        logger: Where warnings go, too.
    """

    def __init__(self, label: str, seat: Seat, kept: k.Kept, logger: Logger) -> None:
        self._label = label
        self._seat = seat
        self._kept = kept
        self._logger = logger
        self._notices: list[str] = []
        self._aside = ""
        self._end = ""
        self.is_renamed = False
        """Whether a person has given the session a title."""

    # -- what the next turn begins with --------------------------------------------------------------------

    def notice(self, sentence: str) -> None:
        """Something is to be told."""
        self._notices.append(sentence)

    def warn(self, sentence: str) -> None:
        """Something was left out: the log has it, and the person sees it in the turn."""
        self._logger.warning("%s", self._seat.mask(sentence))
        self._notices.append(sentence)

    def ended(self) -> None:
        """The agent was ended, for it did not stop. It is told with what becomes of its session then."""
        self._end = f"{self._label} did not stop when it was told to, and was ended."
        self._logger.warning("%s", self._end)

    def overheard(self, text: str) -> None:
        """The agent has said something while no turn ran."""
        self._aside = (self._aside + text)[:_ASIDE]

    async def tell(self, turn: Turn) -> None:
        """Tell the person what has come up since the last turn."""
        end, self._end = self._end, ""
        notices, self._notices = ([end] if end else []) + self._notices, []
        aside, self._aside = self._aside, ""
        for notice in notices:
            await turn.notice(notice)
        if aside:
            await turn.notice(f"Between the turns {self._label} said: {aside}")

    # -- what people see of the session --------------------------------------------------------------------

    def opened(self, opened: Opened, *, retold: bool) -> None:
        """The agent's own session is open. `retold` when the agent is given the conversation."""
        agent = opened.agent
        info = agent.handshake.agent_info
        self._seat.note(
            ACP,
            {
                "agent": {
                    "name": info.title or info.name or self._label,
                    **({"version": info.version} if info.version is not None else {}),
                },
                "sessionId": opened.session.id,
                "opened": opened.outcome.value,
                "capabilities": msgspec.to_builtins(agent.capabilities),
            },
        )
        self._seat.note(LOGIN, None)
        if notice := notice_of(opened, self._label, retold=retold):
            end, self._end = self._end, ""
            self._notices.append(f"{end} {notice}".strip())
        self.show_commands(opened.session)

    def needs_sign_in(self, error: AuthRequired) -> None:
        """A person has to sign in."""
        told = {"command": list(error.login_command), "methods": [dict(each) for each in error.methods]}
        self._seat.note(LOGIN, {name: value for name, value in told.items() if value})

    def entitle(self, title: str) -> None:
        """The agent gives a title. One that a person gave stays."""
        if self.is_renamed or (self._kept.title is not None and self._kept.title != self._seat.title):
            return
        if title and title != self._kept.title:
            self._kept.title = title
            self._seat.record(k.titled(title))
            self._seat.entitle(title)

    def show_commands(self, session: AcpSession) -> None:
        """Offer the agent's own commands."""
        self._seat.commands = [
            Prompt(name, text_of(command.get("description")) or "", None, COMMAND)
            for command in session.commands
            if (name := text_of(command.get("name")))
        ]
