"""How old numbers are. Rows have no time: of each day the first number is known, at no cost per row."""

from __future__ import annotations

__all__ = ["day_of", "first_day_kept"]

_SECONDS = 86_400


def day_of(seconds: float) -> int:
    """The day of a moment: days since 1970, UTC."""
    return int(seconds // _SECONDS)


def first_day_kept(seconds: float, days: int) -> int:
    """The first day whose rows are all to stay, so that none goes before it is so many days old.

    Rows of a day go when the last of them is old enough: at most a day later than the first.

    Raises:
        ValueError: It is not at least one day.
    """
    if days < 1:
        raise ValueError(f"rows stay for at least one day, not {days}")
    return max(0, day_of(seconds) - days)
