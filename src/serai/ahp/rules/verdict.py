"""What the rules can say about an action."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Verdict(Enum):
    """What is to become of an action."""

    ACCEPT = "accept"
    """Apply it and tell every subscriber."""

    REJECT = "reject"
    """Change nothing, and send it back to its sender with the reason."""

    IGNORE = "ignore"
    """Change nothing and say nothing: there is no such channel."""

    DEFER = "defer"
    """Keep it, and apply it when the running turn has ended."""


class Judgement(NamedTuple):
    """A verdict and, unless the action is accepted, its reason: `code: what is the matter`."""

    verdict: Verdict
    reason: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the action may be applied now."""
        return self.verdict is Verdict.ACCEPT


ACCEPTED = Judgement(Verdict.ACCEPT)


def rejected(code: str, matter: str) -> Judgement:
    """The action goes back to its sender. `code` is stable; `matter` is for people."""
    return Judgement(Verdict.REJECT, f"{code}: {matter}")


LONGEST_TITLE = 1000
"""So many characters a client may give a title."""


def judge_title(title: str) -> Judgement:
    """Whether a client may give something this title."""
    if len(title) <= LONGEST_TITLE:
        return ACCEPTED
    return rejected("title_too_long", f"a title has up to {LONGEST_TITLE:,} characters, not {len(title):,}")
