"""An agent's choices as settings of the session, and the synchronisation of both.

The model is no setting: AHP has a place of its own for it. The agent's mode, or its modes, are the setting
`mode`; what it calls effort, thinking or the like is `effort`; other options keep their names. Two more
settings are those that ACP takes when a session is opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from serai.acp.options import Choice, ConfigOption, read_options
from serai.acp.session import AcpSession
from serai.agents.catalogue.introduction import models_of
from serai.ahp import types as t
from serai.errors import AgentError, AgentInactive, CapabilityNotSupportedError
from serai.host.seat import Seat
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, MORE_FOLDERS

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

MODE = "mode"
EFFORT = "effort"
MODEL = ""
"""The name of the model among the choices. No setting has it."""
MCP_SERVERS = "mcpServers"

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
    """The options of a session, with their current values. Modes are an option among them."""

    options: tuple[ConfigOption, ...] = ()

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Choices:
        """Read the result of `to_json`."""
        return cls(read_options(written.get("options")))

    def to_json(self) -> dict[str, Any]:
        """Return the options without their values, which belong to one session."""
        return {"options": [{**option.raw, "currentValue": None} for option in self.options]}

    def model_infos(self, provider: str) -> list[t.SessionModelInfo]:
        """Return the models as the root channel lists them."""
        return [
            t.SessionModelInfo(id=choice.value, provider=provider, name=choice.name)
            for choice in models_of(self.options).models
        ]

    @property
    def named(self) -> dict[str, ConfigOption]:
        """The options that can be chosen, by the setting's name; the model's is `MODEL`."""
        models, mode = models_of(self.options), self.mode_option
        named: dict[str, ConfigOption] = {}
        for option in self.options:
            if option.type in ("select", "boolean"):
                roles = ((MODEL, models.model_option), (MODE, mode), (EFFORT, models.effort_option))
                name = next((name for name, each in roles if each is option), option.id)
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
        """The current values of the options, as far as the agent sends them."""
        return {name: option.value for name, option in self.named.items() if option.value is not None}

    def problem_with(self, name: str, value: Any) -> str | None:
        """Return what is wrong with a choice, as the end of a sentence; `None` if it is fine."""
        option = self.named.get(name)
        if option is None:
            return "offers no choice of models" if name == MODEL else f"has no setting {name!r}"
        if option.type == "boolean":
            return None if isinstance(value, bool) else f"has only true and false for {name!r}"
        offered = [choice.value for choice in option.choices]
        what = "these models" if name == MODEL else f"these values for {name!r}"
        return None if value in offered else f"has {what}: {', '.join(offered)}"


def schema_of(learned: Choices | None) -> t.SessionConfigSchema:
    """Return the settings of sessions with an agent.

    Args:
        learned: The choices of one of its sessions; `None` when none is known.
    """
    properties: dict[str, t.SessionConfigPropertySchema] = {}
    if learned is None:
        properties[MODE] = _select("Mode", "How the agent works")
        properties[EFFORT] = _select("Effort", "How hard the agent thinks")
    for name, option in learned.named.items() if learned is not None else ():
        if name == MODEL:
            continue
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


_DEFAULT = "default"
"""The model that is shown when the agent refuses the chosen one and does not say which it uses."""


class SessionSettings:
    """Model, mode and options of one session: people's choices reach the agent, its values reach people.

    The session's settings hold both people's wishes and the agent's values. A wish is a setting that differs
    from the agent's last value. It stands until the agent has answered it, or has not answered in time.
    """

    def __init__(self, harness: AcpHarness, seat: Seat, warn: Callable[[str], None]) -> None:
        self._harness = harness
        self._seat = seat
        self._warn = warn
        self._busy = asyncio.Lock()
        self._session: AcpSession | None = None
        self._actual = Choices()
        """The choices that the agent sent last."""
        self._has: dict[str, Any] = {}
        """The agent's values. A model that it sent before stays when it sends none now."""
        self._asked: str | None = None
        """The setting that the agent is being asked to change. Its updates of that are ignored meanwhile."""

    def problem_with(self, session: AcpSession, wanted: Mapping[str, Any]) -> str | None:
        """Return what is wrong with settings that someone wants; `None` if they are fine."""
        choices, now = Choices(session.config_options), self._seat.settings
        for name, value in wanted.items():
            if name in _OPENING or (name in now and now[name] == value):
                continue
            if problem := choices.problem_with(name, value):
                return problem
        return None

    def adopt(self, session: AcpSession) -> None:
        """Adopt the values of a session that was just opened, where nobody has chosen another."""
        self._session = session
        values = self._take(Choices(session.config_options))
        if not self._seat.turns:  # it has what all new ones have
            self._harness.learned(self._actual)
        wanted = self._wanted()
        self._take_over({name: value for name, value in values.items() if name not in wanted})

    def show(self, session: AcpSession) -> None:
        """Publish changes by the agent. Wishes stand."""
        choices = Choices(session.config_options)
        if choices == self._actual:
            return
        old, wished = self._has, {*self._wishes(), self._asked}
        new = self._take(choices)
        self._take_over(
            {name: value for name, value in new.items() if name not in wished},
            gone=[name for name in old if name not in new and name not in wished],
        )

    def _take(self, choices: Choices) -> dict[str, Any]:
        """Take the agent's choices and values."""
        self._actual = choices
        model = {MODEL: self._has[MODEL]} if MODEL in self._has else {}
        self._has = {**model, **choices.values}
        return self._has

    async def choose(self, session: AcpSession) -> None:
        """Apply the wishes. Those that the agent refuses, lacks or does not answer are reset, with a warning.

        When the agent is gone, all wishes stand for the next time; so do the remaining ones when this is
        cancelled.
        """
        async with self._busy:
            if session is not self._session:
                return  # another one was opened meanwhile, with all wishes
            tried: dict[str, Any] = {}
            self.show(session)
            while wish := next(
                (each for each in self._wishes().items() if tried.get(each[0], ...) != each[1]), None
            ):
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
            has = dict(self._has)
            if MODEL in tried and not self._harness.chooses_model_at_start:
                has.setdefault(MODEL, _DEFAULT)
            self._take_over(has, gone=[name for name in tried if name not in has])
            if isinstance(model := has.get(MODEL), str):  # what was wished with it has been tried, too
                self._seat.choose_model(t.ModelSelection(id=model))

    def _take_over(self, values: Mapping[str, Any], *, gone: Collection[str] = ()) -> None:
        """Publish the agent's values."""
        self._seat.configure({name: values[name] for name in values if name != MODEL}, gone)
        model = values.get(MODEL)
        if isinstance(model, str) and (self._seat.model is None or self._seat.model.id != model):
            self._seat.choose_model(t.ModelSelection(id=model))

    def _wanted(self) -> dict[str, Any]:
        """Return the chosen values: the model first, because others depend on it."""
        model = self._seat.model
        chosen = {} if model is None else {MODEL: model.id, **(model.config or {})}
        wanted = {MODEL: chosen.get(MODEL), **self._seat.settings, **chosen}
        return {name: value for name, value in wanted.items() if name not in _OPENING and value is not None}

    def _wishes(self) -> dict[str, Any]:
        """Return the chosen values that the agent does not have yet."""
        has = {MODEL: _DEFAULT, **self._has}
        return {
            name: value for name, value in self._wanted().items() if not (name in has and has[name] == value)
        }

    async def _try(self, session: AcpSession, name: str, value: Any) -> bool:
        """Have the agent take a value, or warn. Returns whether the agent still runs."""
        is_model = name == MODEL
        option, problem = self._actual.named.get(name), self._actual.problem_with(name, value)
        what = f"take the model {value}" if is_model else f"set {name} to {value!r}"
        label = self._harness.found.label
        if problem is not None or option is None:
            # Where the model is an argument of the program, it was given when the agent was started.
            if not (is_model and self._harness.chooses_model_at_start):
                self._warn(
                    f"{label} {problem}." if option is None else f"{label} did not {what}: it {problem}."
                )
            return True
        try:
            await session.set_config_option(option.id, value)
        except AgentError as error:
            if error.number is None and not isinstance(error, CapabilityNotSupportedError | AgentInactive):
                return False
            # Also without an answer: there will be none the next time, and each turn would wait for it.
            self._warn(f"{label} did not {what}: {error.message}.")
        return True
