"""Titles stand in every list, so they have a length."""

from __future__ import annotations

from serai.ahp.rules.verdict import ACCEPTED, Judgement, rejected

__all__ = ["LONGEST_TITLE", "judge_title"]

LONGEST_TITLE = 1000
"""So many characters a client may give a title."""


def judge_title(title: str) -> Judgement:
    """Whether a client may give something this title."""
    if len(title) <= LONGEST_TITLE:
        return ACCEPTED
    return rejected("title_too_long", f"a title has up to {LONGEST_TITLE:,} characters, not {len(title):,}")
