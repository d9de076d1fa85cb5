"""A session's modes and options, as the agent sends them. Model and effort are options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from serai.acp.shapes import is_object, object_of, objects_of, text_of

MODEL_OPTION = "serai.model"
"""Id of the option that stands for `models`, which some agents send instead of options."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A way in which a session can work."""

    id: str
    name: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes of a session, and the current one."""

    current: str
    available: tuple[Mode, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A possible value of an option."""

    value: str
    name: str
    description: str | None = None
    group: str | None = None
    """The name of its group."""


@dataclass(frozen=True, slots=True)
class ConfigOption:
    """An option of a session, with its possible values."""

    id: str
    name: str
    type: str
    """`select`, `boolean`, or something newer."""
    value: Any
    """The current value: that of a choice, or true or false."""
    description: str | None = None
    category: str | None = None
    """`model`, `mode`, `thought_level`, `model_config`, or the agent's own."""
    choices: tuple[Choice, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def at(self, value: Any) -> ConfigOption:
        """Return the same option with another value."""
        return replace(self, value=value, raw={**self.raw, "currentValue": value})


def read_modes(sent: Any) -> Modes | None:
    """Read the modes in an answer; `None` without any."""
    if not is_object(sent) or not isinstance(current := sent.get("currentModeId"), str):
        return None
    modes = (
        Mode(each["id"], text_of(each.get("name")) or each["id"], text_of(each.get("description")))
        for each in objects_of(sent.get("availableModes"))
        if isinstance(each.get("id"), str)
    )
    return Modes(current, tuple(modes))


def read_models(sent: Any) -> ConfigOption | None:
    """Read the `models` in an answer as an option; `None` without any."""
    models = [
        {"value": each.get("modelId"), "name": each.get("name"), "description": each.get("description")}
        for each in objects_of(object_of(sent).get("availableModels"))
    ]
    if not models:
        return None
    option = {"id": MODEL_OPTION, "name": "Model", "category": "model", "options": models}
    return read_options([{**option, "currentValue": object_of(sent).get("currentModelId")}])[0]


def read_options(sent: Any) -> tuple[ConfigOption, ...]:
    """Read the options in an answer or an update. Entries that are no options are left out."""
    return tuple(
        ConfigOption(
            id=each["id"],
            name=text_of(each.get("name")) or each["id"],
            type=text_of(each.get("type")) or "select",
            value=each.get("currentValue"),
            description=text_of(each.get("description")),
            category=text_of(each.get("category")),
            choices=tuple(_choices(objects_of(each.get("options")))),
            raw=each,
        )
        for each in objects_of(sent)
        if isinstance(each.get("id"), str)
    )


def _choices(sent: Iterable[Mapping[str, Any]], group: str | None = None) -> Iterable[Choice]:
    for each in sent:
        if isinstance(value := each.get("value"), str):
            yield Choice(value, text_of(each.get("name")) or value, text_of(each.get("description")), group)
        elif "options" in each:
            inner = text_of(each.get("name")) or text_of(each.get("group"))
            yield from _choices(objects_of(each["options"]), inner)
