"""Checks of changes to settings."""

from __future__ import annotations

from typing import Any, cast

from serai.ahp.types import (
    ConfigPropertySchema,
    FreeForm,
    RootConfigState,
    SessionConfigPropertySchema,
    SessionConfigState,
)


def problem_with_change(
    config: RootConfigState | SessionConfigState, changes: FreeForm, *, replace: bool
) -> str | None:
    """Return why a client may not make this change; `None` when it may.

    Of a session only what is `sessionMutable` may change, and a replacement may not drop the rest.
    """
    properties = config.schema.properties
    for name, value in changes.items():
        schema = properties.get(name)
        if schema is None:
            return f"there is no setting {name!r}"
        if name in config.values and _same(config.values[name], value):
            continue
        if not _may_change(schema):
            return f"{name!r} cannot be changed now"
        problem = problem_with_value(schema, value)
        if problem:
            return f"{name!r} {problem}"
    for name in config.values if replace else ():
        schema = properties.get(name)
        if name not in changes and schema is not None:
            if not _may_change(schema):
                return f"{name!r} cannot be removed now"
            if name in (config.schema.required or ()):
                return f"{name!r} is required"
    return None


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)  # in Python, 1 equals True


def _may_change(schema: ConfigPropertySchema) -> bool:
    if schema.read_only:
        return False
    return bool(schema.session_mutable) if isinstance(schema, SessionConfigPropertySchema) else True


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def problem_with_value(schema: ConfigPropertySchema, value: Any) -> str | None:
    """Return why a setting cannot have this value; `None` when it can."""
    wanted = _TYPES.get(schema.type)
    if wanted is None:
        return None
    if not isinstance(value, wanted) or (isinstance(value, bool) and schema.type != "boolean"):
        return f"must be of type {schema.type}"
    dynamic = isinstance(schema, SessionConfigPropertySchema) and schema.enum_dynamic
    if schema.enum is not None and not dynamic and isinstance(value, str) and value not in schema.enum:
        return f"must be one of: {', '.join(schema.enum)}"
    if schema.type == "array" and schema.items is not None:
        items = cast("list[Any]", value)
        return next((p for item in items if (p := problem_with_value(schema.items, item))), None)
    return None
