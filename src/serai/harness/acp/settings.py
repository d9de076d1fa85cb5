"""What can be chosen for a session with an agent, as settings of the session, and both sides the same.

The model is none of them: AHP has a place of its own for it. The agent's mode, or its modes, are the setting
`mode`; what it calls effort, thinking or the like is `effort`; other options keep their names. Beside these
stand the two that ACP takes when a session is opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from serai.acp import AcpSession, Choice, ConfigOption, Modes
from serai.acp.options import read_modes, read_options
from serai.agents.catalogue.introduction import Models, models_of
from serai.ahp import types as t
from serai.errors import AgentError, AgentInactive, CapabilityNotSupportedError
from serai.host.seat import Seat
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, MORE_FOLDERS

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

MODE = "mode"
EFFORT = "effort"
MCP_SERVERS = "mcpServers"
_MODES = "serai.modes"
"""The id of the option that stands for modes, which agents set in a way of their own."""

_OPENING: dict[str, t.SessionConfigPropertySchema] = {
    ADDITIONAL_DIRECTORIES: MORE_FOLDERS,
    MCP_SERVERS: t.SessionConfigPropertySchema(
        type="array",
        title="MCP servers",
        description="Servers whose tools the agent gets: name, and command, args, env or type, url, headers",
        items=t.ConfigPropertySchema(
            type="object",
            title="A server",
            properties={
                "name": t.ConfigPropertySchema(type="string", title="Name"),
                "type": t.ConfigPropertySchema(type="string", title="stdio, http or sse"),
                "command": t.ConfigPropertySchema(type="string", title="Program"),
                "url": t.ConfigPropertySchema(type="string", title="Address"),
            },
            required=["name"],
        ),
    ),
}


@dataclass(frozen=True)
class Choices:
    """The options of a session, with their values now. Modes are an option among them."""

    options: tuple[ConfigOption, ...] = ()

    @classmethod
    def of(cls, modes: Modes | None, options: tuple[ConfigOption, ...]) -> Choices:
        """What a session has. Modes count where no option takes their place."""
        if modes is None or not modes.available or cls(options).mode_option is not None:
            return cls(options)
        choices = [
            {"value": mode.id, "name": mode.name, "description": mode.description} for mode in modes.available
        ]
        about = {"name": "Mode", "description": "How the agent works", "category": "mode"}
        told = {"id": _MODES, "currentValue": modes.current, "options": choices, **about}
        return cls((*read_options([told]), *options))

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Choices:
        """What `to_json` has written."""
        return cls.of(read_modes(written.get("modes")), read_options(written.get("options")))

    def to_json(self) -> dict[str, Any]:
        """All of it but the values, which are one session's."""
        return {"options": [{**option.raw, "currentValue": None} for option in self.options]}

    # -- models --------------------------------------------------------------------------------------------

    @property
    def models(self) -> Models:
        """The models and efforts."""
        return models_of(self.options)

    @property
    def model(self) -> str | None:
        """The model that is chosen, as far as the agent says."""
        option = self.models.model_option
        return option.value if option is not None and isinstance(option.value, str) else None

    def model_infos(self, provider: str) -> list[t.SessionModelInfo]:
        """The models as the root channel lists them."""
        return [
            t.SessionModelInfo(id=choice.value, provider=provider, name=choice.name)
            for choice in self.models.models
        ]

    # -- settings ------------------------------------------------------------------------------------------

    @property
    def named(self) -> dict[str, ConfigOption]:
        """The options that are settings, by the setting's name."""
        models = self.models
        named: dict[str, ConfigOption] = {}
        for option in self.options:
            if option is models.model_option or option.type not in ("select", "boolean"):
                continue
            is_effort, is_mode = option is models.effort_option, option is self.mode_option
            name = MODE if is_mode else EFFORT if is_effort else option.id
            if name not in _OPENING:
                named.setdefault(name, option)
        return named

    @property
    def mode_option(self) -> ConfigOption | None:
        """The option that is the agent's mode."""
        selects = [option for option in self.options if option.type == "select"]
        found = [option for option in selects if option.category == "mode"]
        return next(iter(found or [option for option in selects if option.id == MODE]), None)

    @property
    def values(self) -> dict[str, Any]:
        """The values of all settings."""
        return {name: option.value for name, option in self.named.items() if option.value is not None}

    def problem_with(self, name: str, value: Any) -> str | None:
        """What is the matter with a value for a setting, as the end of a sentence; `None` when nothing is."""
        option = self.named.get(name)
        if option is None:
            return f"has no setting {name!r}"
        if option.type == "boolean":
            return None if isinstance(value, bool) else f"has only true and false for {name!r}"
        if any(choice.value == value for choice in option.choices):
            return None
        return f"has these values for {name!r}: {', '.join(choice.value for choice in option.choices)}"

    def problem_with_model(self, model: str) -> str | None:
        """The same for a model."""
        if self.models.model_option is None:
            return "offers no choice of models"
        offered = [choice.value for choice in self.models.models]
        return None if model in offered else f"has these models: {', '.join(offered)}"


def schema_of(learned: Choices | None) -> t.SessionConfigSchema:
    """The settings of sessions with an agent.

    Args:
        learned: What one of its sessions has told; `None` when none has been yet.
    """
    properties: dict[str, t.SessionConfigPropertySchema] = {}
    if learned is None:
        properties[MODE] = _select("Mode", "How the agent works")
        properties[EFFORT] = _select("Effort", "How hard the agent thinks")
    for name, option in learned.named.items() if learned is not None else ():
        if option.type == "boolean":
            properties[name] = t.SessionConfigPropertySchema(
                type="boolean", title=option.name, description=option.description, session_mutable=True
            )
        else:
            properties[name] = _select(option.name, option.description, option.choices)
    return t.SessionConfigSchema(type="object", properties={**properties, **_OPENING})


def _select(
    title: str, description: str | None, choices: tuple[Choice, ...] | None = None
) -> t.SessionConfigPropertySchema:
    known = choices or ()
    return t.SessionConfigPropertySchema(
        type="string",
        title=title,
        description=description,
        enum=None if choices is None else [choice.value for choice in known],
        enum_labels=None if choices is None else [choice.name for choice in known],
        enum_descriptions=None if choices is None else [choice.description or "" for choice in known],
        enum_dynamic=True,  # the agent has the last word on what there is
        session_mutable=True,
    )


_MODEL = ""
"""Stands for the model where wishes have names; no setting has this one."""
_DEFAULT = "default"
"""The model of a session whose agent does not say which it uses, when the one that was wished is not used."""


class SessionSettings:
    """Model, mode and options of one session: people's wishes reach the agent, its choices reach people.

    The session's settings are what people wish and what the agent has, in one. So a wish is what differs from
    what the agent told last. It stands until the agent has answered it, or has not in the time that it has.
    """

    def __init__(self, harness: AcpHarness, seat: Seat, warn: Callable[[str], None]) -> None:
        self._harness = harness
        self._seat = seat
        self._warn = warn
        self._busy = asyncio.Lock()
        self._session: AcpSession | None = None
        self._actual = Choices()
        """What can be chosen, with the values that the agent had when that was last told."""
        self._model: str | None = None
        """The model that the agent told last; it may not tell of any now."""
        self._asked: str | None = None
        """What the agent is being asked to take. What it tells of that meanwhile may be older or newer."""

    def problem_with(self, session: AcpSession, wanted: Mapping[str, Any]) -> str | None:
        """What is the matter with settings that someone wants; `None` when nothing is."""
        choices, now = Choices.of(session.modes, session.config_options), self._seat.settings
        for name, value in wanted.items():
            if name in _OPENING or (name in now and now[name] == value):
                continue
            if problem := choices.problem_with(name, value):
                return problem
        return None

    def adopt(self, session: AcpSession) -> None:
        """The session has just been opened: what nobody has chosen is as the agent has it."""
        self._session = session
        choices = self._actual = Choices.of(session.modes, session.config_options)
        self._model = choices.model or self._model
        if not self._seat.turns:  # it has what all new ones have
            self._harness.learned(choices)
        chosen = self._seat.settings
        self._take_over(
            {name: value for name, value in choices.values.items() if name not in chosen},
            model=choices.model if self._seat.model is None else None,
        )

    def show(self, session: AcpSession) -> None:
        """The agent may have changed something by itself: tell what. Wishes stand."""
        before, choices = self._actual, Choices.of(session.modes, session.config_options)
        if choices == before:
            return
        self._actual = choices
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
            while wish := next((each for each in self._wishes() if tried.get(each[0], ...) != each[1]), None):
                name, value = wish
                tried[name] = value
                self._asked = name
                try:
                    if not await self._try(session, name, value):
                        return
                    self.show(session)
                finally:
                    self._asked = None
            # No wish is left that was not tried. Nobody can make one between that look and this.
            has = self._actual.values
            unused = _DEFAULT if _MODEL in tried and not self._harness.chooses_model_at_start else None
            gone = [name for name in tried if name not in has]
            self._take_over(has, gone=gone, model=self._actual.model or unused)

    def _take_over(
        self, values: Mapping[str, Any], *, gone: Collection[str] = (), model: str | None = None
    ) -> None:
        """Let people see what the agent has."""
        self._seat.configure(values, gone)
        if model is not None:
            self._seat.choose_model(t.ModelSelection(id=model))

    def _wishes(self) -> Iterator[tuple[str, Any]]:
        """What is wished: the model, which others depend on, before the rest."""
        has, model = self._actual.values, self._seat.model
        if model is not None and model.id != (self._model or _DEFAULT):
            yield _MODEL, model.id
        more = (model.config or {}) if model is not None else {}
        for name, value in {**self._seat.settings, **more}.items():
            if name not in _OPENING and not (name in has and has[name] == value):
                yield name, value

    async def _try(self, session: AcpSession, name: str, value: Any) -> bool:
        """Have the agent take a value, or complain. Returns whether there is still an agent to do so."""
        choices = self._actual
        is_model = name == _MODEL
        option = choices.models.model_option if is_model else choices.named.get(name)
        problem = choices.problem_with_model(value) if is_model else choices.problem_with(name, value)
        what = f"take the model {value}" if is_model else f"set {name} to {value!r}"
        label = self._harness.found.label
        if problem is not None:
            # Where the model is an argument of the program, it was given when the agent was started.
            if not (is_model and self._harness.chooses_model_at_start):
                has_others = option is not None or name in choices.values
                self._warn(f"{label} did not {what}: it {problem}." if has_others else f"{label} {problem}.")
            return True
        try:
            if option is None or option.id == _MODES:
                await session.set_mode(value)
            else:
                await session.set_config_option(option.id, value)
        except AgentError as error:
            if error.number is None and not isinstance(error, CapabilityNotSupportedError | AgentInactive):
                return False
            # Also of one that does not answer: it will not the next time, and each turn would wait for it.
            self._warn(f"{label} did not {what}: {error.message}.")
        return True
