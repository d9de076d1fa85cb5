"""What discovery gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from serai.ahp.types import Customization
from serai.customizations.definitions import Definition

__all__ = ["Found"]


@dataclass(frozen=True, slots=True)
class Found:
    """Customisations as AHP shows them, and what they say.

    Attributes:
        customizations: The containers, in a fixed order, as they are before anyone switches one on or off.
        definitions: What is in them, for those who use it.
        locked: Ids of containers that stay off whatever is asked, since their folder is not trusted.
    """

    customizations: list[Customization] = field(default_factory=list[Customization])
    definitions: tuple[Definition, ...] = ()
    locked: frozenset[str] = frozenset()
