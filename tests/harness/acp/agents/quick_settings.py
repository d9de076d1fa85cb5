"""What the quick agent lets people choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quick_wire import STATE, TOLD


def select(name: str, category: str | None, values: list[str]) -> dict[str, Any]:
    return {
        "id": name,
        "name": name.title(),
        "category": category,
        "type": "select",
        "currentValue": STATE[name],
        "options": [{"value": value, "name": value.title()} for value in values],
    }


def options() -> list[dict[str, Any]]:
    if "options" not in TOLD:
        return []
    loud = {"id": "loud", "name": "Loud", "type": "boolean", "currentValue": STATE["loud"]}
    return [
        select("model", "model", ["small", "large"]),
        select("effort", "thought_level", ["low", "high"]),
        loud,
    ]


def set_mode(params: dict[str, Any]) -> Any:
    if params["modeId"] == "do" and TOLD.get("stubborn"):
        return {"error": {"code": -32603, "message": "not today"}}
    STATE["mode"] = params["modeId"]
    return {}


def set_model(params: dict[str, Any]) -> Any:
    STATE["model"] = params["modelId"]
    return {}


def set_option(params: dict[str, Any]) -> Any:
    STATE[params["configId"]] = params["value"]
    return {"configOptions": options()}


CHOICES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "session/set_mode": set_mode,
    "session/set_config_option": set_option,
    "session/set_model": set_model,
}
