"""What can be chosen for a session with an agent: its modes and options, as settings of the session.

The model is none of them: AHP has a place of its own for it. The option that the agent calls its mode, or its
modes, are the setting `mode`; what it calls effort, thinking or the like is `effort`. Every other option has
the name that the agent gave it. Beside these stand the two that ACP takes when a session is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from serai.acp import AcpSession, Choice, ConfigOption, Modes
from serai.acp.options import read_modes, read_options
from serai.acp.shapes import is_list
from serai.agents.catalogue.introduction import Models, models_of
from serai.ahp.types import (
    ConfigPropertySchema,
    SessionConfigPropertySchema,
    SessionConfigSchema,
    SessionModelInfo,
)
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, MORE_FOLDERS

__all__ = ["EFFORT", "MCP_SERVERS", "MODE", "Choices", "schema_of", "texts_in"]

MODE = "mode"
EFFORT = "effort"
MCP_SERVERS = "mcpServers"

_OPENING: dict[str, SessionConfigPropertySchema] = {
    ADDITIONAL_DIRECTORIES: MORE_FOLDERS,
    MCP_SERVERS: SessionConfigPropertySchema(
        type="array",
        title="MCP servers",
        description="Servers whose tools the agent gets: name, and command, args, env or type, url, headers",
        items=ConfigPropertySchema(
            type="object",
            title="A server",
            properties={
                "name": ConfigPropertySchema(type="string", title="Name"),
                "type": ConfigPropertySchema(type="string", title="stdio, http or sse"),
                "command": ConfigPropertySchema(type="string", title="Program"),
                "url": ConfigPropertySchema(type="string", title="Address"),
            },
            required=["name"],
        ),
    ),
}
_UNKNOWN: dict[str, SessionConfigPropertySchema] = {
    MODE: SessionConfigPropertySchema(
        type="string",
        title="Mode",
        description="How the agent works",
        enum_dynamic=True,
        session_mutable=True,
    ),
    EFFORT: SessionConfigPropertySchema(
        type="string",
        title="Effort",
        description="How hard the agent thinks",
        enum_dynamic=True,
        session_mutable=True,
    ),
}


@dataclass(frozen=True)
class Choices:
    """The modes and options of a session, with their values now."""

    modes: Modes | None = None
    options: tuple[ConfigOption, ...] = ()

    @classmethod
    def of(cls, session: AcpSession) -> Choices:
        """What a session has now."""
        return cls(session.modes, session.config_options)

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Choices:
        """What `to_json` has written."""
        return cls(read_modes(written.get("modes")), read_options(written.get("options")))

    def to_json(self) -> dict[str, Any]:
        """All of it but the values, which are one session's."""
        modes = self.modes and {
            "currentModeId": "",
            "availableModes": [
                {"id": mode.id, "name": mode.name, "description": mode.description}
                for mode in self.modes.available
            ],
        }
        options = [{**option.raw, "currentValue": None} for option in self.options]
        return {"modes": modes, "options": options}

    def beside(self, other: Choices) -> Choices:
        """These, and of the settings of the other those that are not among them."""
        names = {*self.named, *([MODE] if self.has_modes else [])}
        more = tuple(option for name, option in other.named.items() if name not in names)
        takes_modes = MODE not in names and other.has_modes
        return Choices(other.modes if takes_modes else self.modes, (*self.options, *more))

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

    def model_infos(self, provider: str) -> list[SessionModelInfo]:
        """The models as the root channel lists them."""
        return [
            SessionModelInfo(id=choice.value, provider=provider, name=choice.name)
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
            name = MODE if option is self._mode else EFFORT if option is models.effort_option else option.id
            if name not in _OPENING:
                named.setdefault(name, option)
        return named

    @property
    def _mode(self) -> ConfigOption | None:
        selects = [option for option in self.options if option.type == "select"]
        found = [option for option in selects if option.category == "mode"]
        return next(iter(found or [option for option in selects if option.id == MODE]), None)

    @property
    def has_modes(self) -> bool:
        """Whether modes are chosen as such, and not as an option."""
        return self.modes is not None and bool(self.modes.available) and self._mode is None

    @property
    def values(self) -> dict[str, Any]:
        """The values of all settings."""
        values = {name: option.value for name, option in self.named.items() if option.value is not None}
        if self.modes is not None and self.has_modes:
            values[MODE] = self.modes.current
        return values

    def offered(self, name: str) -> list[Choice] | None:
        """What a setting can be; `None` when it is yes or no, or there is no such setting."""
        if name == MODE and self.modes is not None and self.has_modes:
            return [Choice(mode.id, mode.name, mode.description) for mode in self.modes.available]
        option = self.named.get(name)
        return list(option.choices) if option is not None and option.type == "select" else None

    def problem_with(self, name: str, value: Any) -> str | None:
        """What is the matter with a value for a setting, as the end of a sentence; `None` when nothing is."""
        offered = self.offered(name)
        if offered is None:
            if name not in self.named:
                return f"has no setting {name!r}"
            return None if isinstance(value, bool) else f"has only true and false for {name!r}"
        if any(choice.value == value for choice in offered):
            return None
        return f"has these values for {name!r}: {', '.join(choice.value for choice in offered)}"

    def problem_with_model(self, model: str) -> str | None:
        """The same for a model."""
        if self.models.model_option is None:
            return "offers no choice of models"
        offered = [choice.value for choice in self.models.models]
        return None if model in offered else f"has these models: {', '.join(offered)}"


def schema_of(learned: Choices | None) -> SessionConfigSchema:
    """The settings of sessions with an agent.

    Args:
        learned: What one of its sessions has told; `None` when none has been yet.
    """
    if learned is None:
        return SessionConfigSchema(type="object", properties={**_UNKNOWN, **_OPENING})
    properties: dict[str, SessionConfigPropertySchema] = {}
    if learned.has_modes:
        properties[MODE] = _select("Mode", "How the agent works", learned.offered(MODE) or [])
    for name, option in learned.named.items():
        if option.type == "boolean":
            properties[name] = SessionConfigPropertySchema(
                type="boolean", title=option.name, description=option.description, session_mutable=True
            )
        else:
            properties[name] = _select(option.name, option.description, list(option.choices))
    return SessionConfigSchema(type="object", properties={**properties, **_OPENING})


def _select(title: str, description: str | None, choices: list[Choice]) -> SessionConfigPropertySchema:
    return SessionConfigPropertySchema(
        type="string",
        title=title,
        description=description,
        enum=[choice.value for choice in choices],
        enum_labels=[choice.name for choice in choices],
        enum_descriptions=[choice.description or "" for choice in choices],
        enum_dynamic=True,  # the agent has the last word on what there is
        session_mutable=True,
    )


def texts_in(value: Any) -> list[str]:
    """A setting that is a list of texts."""
    return [each for each in value if isinstance(each, str)] if is_list(value) else []
