"""Readers of JSON of any shape: values of the wrong shape count as missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

MOST = 2**53
"""Largest number of tokens, or of a currency, that is believed."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a value is an object."""
    return isinstance(value, (dict, Mapping))  # nearly always a dictionary, which is checked fastest


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Tell whether a value is a list."""
    return isinstance(value, list)


def is_amount(value: Any) -> TypeGuard[int | float]:
    """Tell whether a value is an amount: a number from 0 to `MOST`."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


def object_of(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if is_object(value) else {}


def list_of(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if is_list(value) else []


def objects_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the entries of a list that are objects."""
    return [each for each in list_of(value) if is_object(each)]


def text_of(value: Any) -> str | None:
    """Return the value if it is text."""
    return value if isinstance(value, str) else None


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the entries of a list that are texts."""
    return tuple(each for each in list_of(value) if isinstance(each, str))


def line_of(value: Any) -> str | None:
    """Return the value if it is text, as one line without control characters."""
    return _CONTROLS.sub(" ", value).strip() if isinstance(value, str) else None


def mask_json(value: Any, mask: Callable[[str], str]) -> Any:
    """Mask all texts in JSON; keys stay."""
    if isinstance(value, str):
        return mask(value)
    if is_object(value):
        return {name: mask_json(each, mask) for name, each in value.items()}
    if is_list(value):
        return [mask_json(each, mask) for each in value]
    return value
