"""The answers that an agent offers to whoever is asked for permission, and what a person's answer means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from serai.acp import PermissionOption
from serai.ahp.types import ConfirmationOption, ConfirmationOptionKind, UserMessage

__all__ = ["Answer", "choose", "offered"]


class Answer(NamedTuple):
    """What a person said to a request for permission."""

    option: str | None
    """The agent's id of the option; `None` to cancel."""
    suggestion: UserMessage | None = None
    """What they would rather have."""
    is_unsayable: bool = False
    """Whether they said yes, and there is no option for that."""


def offered(options: Iterable[PermissionOption]) -> list[ConfirmationOption]:
    """The agent's options, as AHP has them.

    What is not known to reject stands among the ways to say yes: a no must never allow anything.
    """
    return [
        ConfirmationOption(
            id=option.id,
            label=option.name,
            kind=(ConfirmationOptionKind.DENY if _rejects(option) else ConfirmationOptionKind.APPROVE).value,
            group=1 if _rejects(option) else 0,
        )
        for option in options
    ]


def choose(options: Iterable[PermissionOption], chosen: str | None, *, approved: bool) -> str | None:
    """The option that a yes or a no means. A plain yes is for once; what cannot be said cancels."""
    options = list(options)
    if approved:
        if any(option.id == chosen and not _rejects(option) for option in options):
            return chosen
        fitting = [option for option in options if _allows(option)]
        once = next((option.id for option in fitting if option.kind == "allow_once"), None)
        if once is None and len(fitting) == 1:
            return fitting[0].id  # there is but one way to say yes
        return once
    also_yes = {option.id for option in options if not _rejects(option)}
    fitting = [option for option in options if _rejects(option) and option.id not in also_yes]
    if any(option.id == chosen for option in fitting):
        return chosen
    return next((option.id for option in fitting if option.kind == "reject_once"), None)


def _allows(option: PermissionOption) -> bool:
    return option.kind.startswith("allow")


def _rejects(option: PermissionOption) -> bool:
    return option.kind.startswith(("reject", "deny"))
