"""Rewrites the texts of any value of the protocol, and of free-form JSON inside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import is_
from types import NoneType
from typing import Any, TypeAlias, TypeVar, cast

import msgspec

from serai.ahp.types import (
    MessageEmbeddedResourceAttachment,
    SessionInputRequest,
    ToolResultEmbeddedResourceContent,
)
from serai.contract.messages import ImageAttachment
from serai.redact.shapes import is_secret_value, name_tells

T = TypeVar("T")
Rewrite: TypeAlias = Callable[[str], str]

_BINARY = (ToolResultEmbeddedResourceContent, MessageEmbeddedResourceAttachment, ImageAttachment)
_WORDS = frozenset({"kind", "status", "type", "state", "confirmed", "reason", "response", "lifecycle"})
"""Fields whose texts are keywords of the protocol."""

_WITHOUT_TEXT = frozenset({bool, int, float, NoneType, msgspec.UnsetType})


class Walker:
    """Rewrites texts in a value, and returns the same object where nothing has changed.

    Args:
        text: The rewrite for most texts.
        name: The rewrite for ids and other names that must stay usable.
        binary: The rewrite for bytes in base64.
    """

    def __init__(self, text: Rewrite, name: Rewrite, binary: Rewrite) -> None:
        self._rewrites = {"text": text, "name": name, "binary": binary}
        self._text = text
        self._by_name = text != name  # names of free-form fields are checked only where shapes are
        self._plans: dict[type[msgspec.Struct], list[tuple[str, Rewrite]]] = {}

    def walk(self, value: T) -> T:
        """Return the value with its texts rewritten."""
        return cast("T", self._any(value, self._text))

    def _any(self, value: Any, rewrite: Rewrite) -> Any:
        if isinstance(value, str):
            return rewrite(value)
        if isinstance(value, msgspec.Struct):
            return self._struct(value)
        if isinstance(value, list | tuple):
            values = cast("list[Any] | tuple[Any, ...]", value)
            after = [self._any(each, rewrite) for each in values]
            return values if all(map(is_, after, values)) else type(values)(after)
        if isinstance(value, dict):
            return self._dict(cast("dict[Any, Any]", value), rewrite)
        return value

    def _struct(self, value: msgspec.Struct) -> msgspec.Struct:
        struct = type(value)
        plan = self._plans.get(struct)
        if plan is None:
            plan = self._plans[struct] = [(field, self._rewrites[kind]) for field, kind in _plan(struct)]
        changes: dict[str, Any] | None = None
        for field, rewrite in plan:
            before = getattr(value, field)
            if before.__class__ in _WITHOUT_TEXT:
                continue
            after = rewrite(before) if before.__class__ is str else self._any(before, rewrite)
            if after is not before:
                changes = changes or {}
                changes[field] = after
        return msgspec.structs.replace(value, **changes) if changes else value

    def _dict(self, values: dict[Any, Any], rewrite: Rewrite) -> dict[Any, Any]:
        after: dict[Any, Any] = {}
        changed = False
        for key, value in values.items():
            new_key = self._rewrites["name"](key) if isinstance(key, str) else key
            new = self._any(value, rewrite)
            if self._by_name and new is value and isinstance(key, str) and isinstance(value, str):
                new = _named(key, value)
            changed = changed or new is not value or new_key != key
            after[new_key] = new
        return after if changed else values


def _named(name: str, value: str) -> str:
    """Return the value of a free-form field, masked if its name and its value show that it is a secret."""
    kind = name_tells(name)
    if kind is not None and "[" not in value and is_secret_value(kind, value):
        return f"[masked:{kind}]"
    return value


@cache
def _plan(struct: type[msgspec.Struct]) -> list[tuple[str, str]]:
    """List the fields of a type that may hold secrets, each with the kind of its rewrite."""
    words = _WORDS if struct.__module__.startswith("serai.ahp.") else ()
    return [(field, _kind(struct, field)) for field in struct.__struct_fields__ if field not in words]


def _kind(struct: type[msgspec.Struct], field: str) -> str:
    if issubclass(struct, _BINARY) and field == "data":
        return "binary"
    # A sign-in page cannot be opened with a masked address.
    if field == "id" or field.endswith("_id") or (issubclass(struct, SessionInputRequest) and field == "url"):
        return "name"
    return "text"
