"""Whether text is of the format that a question hints at.

Only what is clearly something else is refused: whether an address exists, nobody can tell from its letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

__all__ = ["format_problem"]

_EMAIL = re.compile(r"[^\s@]+@[^\s@]+|\"[^\"]+\"@[^\s@]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATE_TIME = re.compile(
    r"(?P<minutes>\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2})"
    r"(:(?P<seconds>\d{2})([.,]\d+)?)?"
    r"(?P<zone>[Zz]|[+-]\d{2}:?\d{2})?",
    re.ASCII,
)
_LEAP_SECOND = 60


def format_problem(text: str, wanted: str | None) -> str | None:
    """Why a text is not of a format, or `None`. A format that this host does not know takes any text."""
    known = _FORMATS.get(wanted or "")
    if known is None:
        return None
    fits, description = known
    return None if fits(text) else f"must be {description}"


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    found = _DATE_TIME.fullmatch(text)
    if found is None or int(found["seconds"] or 0) > _LEAP_SECOND:
        return False
    try:
        datetime.fromisoformat(found["minutes"].upper() + (found["zone"] or "").upper())
    except ValueError:
        return False
    return True


_FORMATS: dict[str, tuple[Callable[[str], object], str]] = {
    "email": (_EMAIL.fullmatch, "an e-mail address, such as name@example.com"),
    "uri": (_URI.fullmatch, "a URI, such as https://example.com/"),
    "date": (_is_date, "a date, such as 2001-02-28"),
    "date-time": (_is_date_time, "a date and a time, such as 2001-02-28T12:30:00Z"),
}
