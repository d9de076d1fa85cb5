"""Which models and efforts an agent has: what its session says, else what its program lists, else unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from serai.acp.options import Choice, ConfigOption

__all__ = ["EffortKind", "Models", "ModelsFrom", "models_of"]


class ModelsFrom(StrEnum):
    """Who has told the models."""

    SESSION = "session"
    LISTING = "listing"
    UNKNOWN = "unknown"


class EffortKind(StrEnum):
    """What kind of thing an agent's effort is."""

    NONE = "none"
    ENUM = "enum"
    """Words such as low and high."""
    BUDGET = "budget"
    """Numbers of tokens."""
    VARIANT = "variant"
    """Variants of the model."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of an agent and the efforts that can be chosen."""

    source: ModelsFrom = ModelsFrom.UNKNOWN
    models: tuple[Choice, ...] = ()
    model_option: ConfigOption | None = None
    """The option that chooses the model, where a session has one."""
    effort_option: ConfigOption | None = None
    effort_kind: EffortKind = EffortKind.NONE


def models_of(options: Iterable[ConfigOption], listed: Sequence[str] = ()) -> Models:
    """The models of an agent, from the best source that there is.

    Args:
        options: The options of its session, if it has one.
        listed: What its program lists.
    """
    selects = [option for option in options if option.type == "select"]
    model = _first(
        selects,
        lambda option: option.category == "model",
        lambda option: option.id == "model",
        lambda option: "model" in _words(option.id),
    )
    others = [option for option in selects if option is not model]
    effort = _first(
        others,
        lambda option: option.category == "thought_level",
        lambda option: bool({"effort", "thinking", "thought", "reasoning"} & _words(option.id)),
        lambda option: "variant" in _words(option.id),
    )
    kind = _kind(effort)
    if model is not None and model.choices:
        return Models(ModelsFrom.SESSION, model.choices, model, effort, kind)
    if listed:
        return Models(ModelsFrom.LISTING, tuple(Choice(name, name) for name in listed), model, effort, kind)
    return Models(ModelsFrom.UNKNOWN, (), model, effort, kind)


def _first(options: list[ConfigOption], *rules: Callable[[ConfigOption], bool]) -> ConfigOption | None:
    """The first option that fits the first rule that any fits."""
    for rule in rules:
        for option in options:
            if rule(option):
                return option
    return None


def _kind(effort: ConfigOption | None) -> EffortKind:
    if effort is None:
        return EffortKind.NONE
    if "variant" in _words(effort.id):
        return EffortKind.VARIANT
    if effort.choices and all(choice.value.isdecimal() for choice in effort.choices):
        return EffortKind.BUDGET
    return EffortKind.ENUM


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))
