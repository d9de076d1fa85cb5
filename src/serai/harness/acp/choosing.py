"""What people choose reaches the agent, and what the agent chooses reaches people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from serai.acp import AcpSession
from serai.ahp.actions import SessionConfigChangedAction, SessionModelChangedAction
from serai.ahp.types import ModelSelection
from serai.errors import AgentError, AgentInactive, CapabilityNotSupportedError
from serai.harness.acp import kept as k
from serai.harness.acp.choices import MCP_SERVERS, MODE, Choices
from serai.host.seat import Seat
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

__all__ = ["Choosing"]

_WHEN_OPENED = frozenset({ADDITIONAL_DIRECTORIES, MCP_SERVERS})
"""Settings that are told when a session is opened, and not afterwards."""
_MODEL = ""
"""Stands for the model where wishes have names; no setting has this one."""


class Choosing:
    """Model, mode and options of one session.

    The session's settings are what people wish and what the agent has, in one. So a wish is what differs from
    what the agent told last. It stands until the agent has answered it, or has not in the time that it has,
    whatever else is told meanwhile. A new process of the agent has told nothing yet: so it is written down
    what the agent has chosen itself, and nobody is told that this cannot be chosen any more. Of a mode
    that is told all the same while there are others: by it people know what the agent may do.

    Args:
        harness: The kind of agent, which learns what can be chosen.
        seat: The agent's place in the session.
        kept: What is written down about the session.
        warn: Is told, in a sentence, what could not be chosen.
    """

    def __init__(self, harness: AcpHarness, seat: Seat, kept: k.Kept, warn: Callable[[str], None]) -> None:
        self._harness = harness
        self._seat = seat
        self._kept = kept
        self._warn = warn
        self._label = harness.found.label
        self._busy = asyncio.Lock()
        self._complaints: set[tuple[str, str]] = set()
        """What was told of wishes that still stand, by their names."""
        self._session: AcpSession | None = None
        self._actual = Choices()
        """What can be chosen, with the values that the agent had when that was last told."""
        self._model: str | None = None
        """The model that the agent told last; it may not tell of any now."""
        self._asked: str | None = None
        """What the agent is being asked to take. What it tells of that meanwhile may be older or newer."""
        self._had: dict[str, Any] = {}
        """The settings as they were when that was asked, but for those that were chosen meanwhile."""

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
        self._session = session
        choices = self._actual = Choices.of(session)
        self._model = choices.model or self._model
        self._harness.learned(choices, afresh=not self._seat.turns)
        chosen = self._seat.settings
        is_new_model = self._seat.model is None
        self._take_over(
            {name: value for name, value in choices.values.items() if name not in chosen},
            model=choices.model if is_new_model else None,
        )

    def show(self, session: AcpSession) -> None:
        """The agent may have changed something by itself: tell what. Wishes stand."""
        before, choices = self._actual, Choices.of(session)
        if choices == before:
            return
        self._actual = choices
        self._harness.learned(choices)
        old, new, now = before.values, choices.values, self._seat.settings
        wished = {name for name in now if now[name] != old.get(name)} | {self._asked}
        had, self._model = self._model, choices.model or self._model
        model = self._seat.model.id if self._seat.model is not None else had
        is_new_model = choices.model != model and model == had and self._asked != _MODEL
        self._take_over(
            {name: value for name, value in new.items() if name not in wished},
            gone=[name for name in old if name not in new and name not in wished],
            model=choices.model if is_new_model else None,
        )

    def chosen(self, action: SessionConfigChangedAction | SessionModelChangedAction) -> None:
        """Someone has chosen this: it is no longer the agent's own choice, also when it is the same.

        Whether it can be is told anew.
        """
        if isinstance(action, SessionConfigChangedAction):
            names = list(action.config)
        else:
            names = [_MODEL, *(action.model.config or ())]
        for name in names:
            self._had.pop(name, None)
        self._complaints = {told for told in self._complaints if told[0] not in names}
        names = [name for name in names if self._kept.own.pop(name, None) is not None]
        if names:
            self._seat.record(k.chosen_by_people(names))

    async def choose(self, session: AcpSession) -> None:
        """Bring the agent to what was chosen. What it refuses, does not have or does not answer is set back.

        That is told. When the agent is gone, all stays chosen for the next time; so does what is left when
        this is cancelled.
        """
        async with self._busy:
            if session is not self._session:
                return  # another one was opened meanwhile, with all wishes
            tried: dict[str, Any] = {}
            self.show(session)
            while wish := self._next_wish(tried):
                name, value = wish
                tried[name] = value
                self._had = dict(self._seat.settings)
                self._asked = name
                try:
                    if not await self._try(session, name, value):
                        return
                    self.show(session)
                finally:
                    self._asked = None
                if name == _MODEL:
                    self._hold_to(self._had)
                    tried = {_MODEL: value}
            # No wish is left that was not tried. Nobody can make one between that look and this.
            has = self._actual.values
            model = self._seat.model
            self._take_over(
                has,
                gone=[name for name in tried if name not in has],
                model=self._actual.model or (model and model.id),
            )
            # What was set back is a wish again only if someone makes it: then it is told again.
            left = {name for name, _ in self._wishes()}
            self._complaints = {told for told in self._complaints if told[0] in left}

    def _take_over(
        self, values: Mapping[str, Any], *, gone: Collection[str] = (), model: str | None = None
    ) -> None:
        """Let people see what the agent has. What is new in it, the agent has chosen itself."""
        now, chosen = self._seat.settings, self._seat.model
        known = {name: value for name, value in values.items() if name in self._seat.known_settings}
        own = {name: value for name, value in known.items() if name not in now or now[name] != value}
        if model is not None and (chosen is None or chosen.id != model):
            own[_MODEL] = model
        if own:
            self._kept.own |= own
            self._seat.record(k.chosen_itself(own))
        self._seat.configure(values, gone)
        if model is not None:
            self._seat.choose_model(ModelSelection(id=model))

    def _next_wish(self, tried: Mapping[str, Any]) -> tuple[str, Any] | None:
        """Something that is wished, and was not tried."""
        return next(((name, v) for name, v in self._wishes() if name not in tried or tried[name] != v), None)

    def _wishes(self) -> Iterator[tuple[str, Any]]:
        """What is wished: the model, which others depend on, before the rest."""
        has, model = self._actual.values, self._seat.model
        if model is not None and model.id != self._model:
            yield _MODEL, model.id
        more = (model.config or {}) if model is not None else {}
        for name, value in {**self._seat.settings, **more}.items():
            if name not in _WHEN_OPENED and not (name in has and has[name] == value):
                yield name, value

    def _hold_to(self, had: Mapping[str, Any]) -> None:
        """The model is another one, and more may have changed with it: wish that back, where it can be."""
        choices, now = self._actual, self._seat.settings
        has = choices.values
        self._seat.configure(
            {
                name: value
                for name, value in had.items()
                if name in has and now.get(name) == has[name] and not choices.problem_with(name, value)
            }
        )

    async def _try(self, session: AcpSession, name: str, value: Any) -> bool:
        """Have the agent take a value, or complain. Returns whether there is still an agent to do so."""
        choices = self._actual
        is_model = name == _MODEL
        option = choices.models.model_option if is_model else choices.named.get(name)
        problem = choices.problem_with_model(value) if is_model else choices.problem_with(name, value)
        what = f"take the model {value}" if is_model else f"set {name} to {value!r}"
        if problem is not None:
            # Where the model is an argument of the program, it was given when the agent was started.
            was_given = is_model and self._harness.chooses_model_at_start
            has_others = option is not None or name in choices.values
            is_own = name in self._kept.own and self._kept.own[name] == value
            is_telling = not is_own or (name == MODE and has_others)
            if is_telling and not was_given:
                self._complain(name, f"did not {what}: it {problem}" if has_others else problem)
            return True
        try:
            if option is None:
                await session.set_mode(value)
            else:
                await session.set_config_option(option.id, value)
        except AgentError as error:
            if error.number is None and not isinstance(error, CapabilityNotSupportedError | AgentInactive):
                return False
            # Also of one that does not answer: it will not the next time, and each turn would wait for it.
            self._complain(name, f"did not {what}: {error.message}")
        return True

    def _complain(self, name: str, problem: str) -> None:
        """Tell that something could not be chosen: once for each time that it was."""
        if (name, problem) not in self._complaints:
            self._complaints.add((name, problem))
            self._warn(f"{self._label} {problem}.")
