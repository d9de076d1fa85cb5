"""A session's modes and options, as the agent sends them. Model and effort are options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from serai.acp.shapes import object_of, objects_of, text_of

MODES_OPTION = "serai.modes"
MODEL_OPTION = "serai.model"
_STAND_INS = (
    (
        {"id": MODES_OPTION, "name": "Mode", "category": "mode", "description": "How the agent works"},
        ("modes", "currentModeId", "availableModes", "id"),
    ),
    (
        {"id": MODEL_OPTION, "name": "Model", "category": "model"},
        ("models", "currentModelId", "availableModels", "modelId"),
    ),
)
"""The options that stand for `modes` and `models`, which many agents send beside or instead of options: the
option, and the keys of these in an answer, of the current value, of all values and of a value's id."""


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


def read_stand_ins(answer: Mapping[str, Any]) -> dict[str, ConfigOption]:
    """Read the `modes` and `models` in an answer as options, by their ids."""
    options: list[dict[str, Any]] = []
    for option, (key, current, available, name) in _STAND_INS:
        sent = object_of(answer.get(key))
        choices = [{**each, "value": each.get(name)} for each in objects_of(sent.get(available))]
        if choices:
            options.append({**option, "currentValue": sent.get(current), "options": choices})
    return {option.id: option for option in read_options(options)}


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
