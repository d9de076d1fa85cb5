"""Looking at JSON that may have any shape: what has the wrong one counts as nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

__all__ = ["is_list", "is_object", "list_of", "object_of", "objects_of", "text_of", "texts_of"]


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether it is an object."""
    return isinstance(value, (dict, Mapping))  # nearly always a dictionary, which is told at once


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether it is a list."""
    return isinstance(value, list)


def object_of(value: Any) -> Mapping[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if is_object(value) else {}


def list_of(value: Any) -> list[Any]:
    """The value when it is a list, else an empty one."""
    return value if is_list(value) else []


def objects_of(value: Any) -> list[Mapping[str, Any]]:
    """Those entries of a list that are objects."""
    return [each for each in list_of(value) if is_object(each)]


def text_of(value: Any) -> str | None:
    """The value when it is text."""
    return value if isinstance(value, str) else None


def texts_of(value: Any) -> tuple[str, ...]:
    """Those entries of a list that are texts."""
    return tuple(each for each in list_of(value) if isinstance(each, str))
