"""What a tool takes, as agents and models are told of it."""

from __future__ import annotations

from typing import Any

import msgspec


def tool_schema(kind: type[Any]) -> dict[str, Any]:
    """The JSON Schema of what a tool takes, in one piece: not all agents and models follow references."""
    (root,), parts = msgspec.json.schema_components([kind], ref_template="{name}")

    def whole(value: Any) -> Any:
        if isinstance(value, list):
            return [whole(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(value, dict):
            return value
        found: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        if found.get("default", ...) is None:  # what may be left out is left out, and never null
            found = {key: each for key, each in found.items() if key != "default"}
            kinds = [one for one in found.pop("anyOf", ()) if one != {"type": "null"}]
            found |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}
        if "$ref" in found:
            named = {key: each for key, each in parts[found["$ref"]].items() if key != "description"}
            found = {**named, **{key: each for key, each in found.items() if key != "$ref"}}
        return {key: whole(each) for key, each in found.items() if key != "title"}

    schema = whole(root)
    schema.setdefault("properties", {})
    return schema
