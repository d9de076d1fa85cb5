"""What people choose reaches the agent, and what the agent chooses reaches people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from serai.acp import AcpSession
from serai.ahp.types import ModelSelection
from serai.errors import AgentError
from serai.harness.acp.choices import MCP_SERVERS, Choices
from serai.host.seat import Seat
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

__all__ = ["Choosing"]

_WHEN_OPENED = frozenset({ADDITIONAL_DIRECTORIES, MCP_SERVERS})
"""Settings that are told when a session is opened, and not afterwards."""


class Choosing:
    """Model, mode and options of one session.

    Args:
        harness: The kind of agent, which learns what can be chosen.
        seat: The agent's place in the session.
        warn: Is told, in a sentence, what could not be chosen.
    """

    def __init__(self, harness: AcpHarness, seat: Seat, warn: Callable[[str], None]) -> None:
        self._harness = harness
        self._seat = seat
        self._warn = warn
        self._label = harness.found.label
        self._busy = asyncio.Lock()
        self._complaints: set[str] = set()
        self._actual = Choices()
        """What can be chosen, with the values that the agent had when that was last told."""

    def problem_with(self, session: AcpSession, wanted: Mapping[str, Any]) -> str | None:
        """What is the matter with settings that someone wants; `None` when nothing is."""
        choices, now = Choices.of(session), self._seat.settings
        for name, value in wanted.items():
            if name in _WHEN_OPENED or (name in now and now[name] == value):
                continue
            if problem := choices.problem_with(name, value):
                return problem
        return None

    def adopt(self, session: AcpSession) -> None:
        """The session has just been opened: what nobody has chosen is as the agent has it."""
        choices = self._actual = Choices.of(session)
        self._harness.learned(choices)
        chosen = self._seat.settings
        self._seat.configure({name: value for name, value in choices.values.items() if name not in chosen})
        if choices.model is not None and self._seat.model is None:
            self._tell_model(choices.model)

    def show(self, session: AcpSession) -> None:
        """The agent has changed something by itself: tell what."""
        choices = Choices.of(session)
        self._harness.learned(choices)
        before, self._actual = self._actual, choices
        old = before.values
        self._seat.configure(
            {name: value for name, value in choices.values.items() if name not in old or old[name] != value}
        )
        if choices.model is not None and choices.model != before.model:
            self._tell_model(choices.model)

    async def choose(self, session: AcpSession) -> None:
        """Bring the agent to what was chosen. What it refuses is told, and set back.

        Cancelling it leaves some of it for the next time.
        """
        async with self._busy:
            wanted = self._seat.model
            if wanted is not None and wanted.id != Choices.of(session).model:
                await self._choose_model(session, wanted.id)
            more = (wanted.config or {}) if wanted is not None else {}
            for name, value in {**self._seat.settings, **more}.items():
                if name not in _WHEN_OPENED and Choices.of(session).values.get(name) != value:
                    await self._choose_value(session, name, value)
            choices = self._actual = Choices.of(session)
            self._seat.configure(choices.values)
            if choices.model is not None:
                self._tell_model(choices.model)

    async def _choose_model(self, session: AcpSession, model: str) -> None:
        choices = Choices.of(session)
        problem, option = choices.problem_with_model(model), choices.models.model_option
        if problem is not None or option is None:
            # Where the model is an argument of the program, it was given when the agent was started.
            if not self._harness.chooses_model_at_start:
                self._complain(f"{problem}")
            return
        try:
            await session.set_config_option(option.id, model)
        except AgentError as error:
            self._complain(f"did not take the model {model}: {error.message}")

    async def _choose_value(self, session: AcpSession, name: str, value: Any) -> None:
        choices = Choices.of(session)
        problem = choices.problem_with(name, value)
        if problem is not None:
            self._complain(problem)
            return
        option = choices.named.get(name)
        try:
            if option is None:
                await session.set_mode(value)
            else:
                await session.set_config_option(option.id, value)
        except AgentError as error:
            self._complain(f"did not set {name} to {value!r}: {error.message}")

    def _tell_model(self, model: str) -> None:
        now = self._seat.model
        if now is None or now.id != model:
            self._seat.choose_model(ModelSelection(id=model))

    def _complain(self, problem: str) -> None:
        """Tell once that something could not be chosen."""
        if problem not in self._complaints:
            self._complaints.add(problem)
            self._warn(f"{self._label} {problem}.")
