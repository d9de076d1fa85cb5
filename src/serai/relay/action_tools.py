"""The actions that a caller may use, each as a tool of its own.

A tool's name has letters, digits, `_` and `-`, so `agent.create` is the tool `agent_create`. Where two would
have one name the relay's own tool has it, then the host's action, then the first by name; `invoke_action`
reaches them all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from serai.contract import ActionDescriptor, ActionState, InvokeResult

__all__ = ["ActionTool", "action_tools", "outcome"]

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


class ActionTool(NamedTuple):
    """An action as a tool."""

    action: ActionDescriptor
    schema: dict[str, Any]
    """The JSON Schema of the tool's arguments: those of MCP are always an object."""
    is_wrapped: bool
    """Whether the action's input is the argument `input`, since it is no object."""

    def input_of(self, arguments: Mapping[str, Any]) -> Any:
        """The action's input."""
        return arguments.get("input") if self.is_wrapped else dict(arguments)


def action_tools(actions: Collection[ActionDescriptor], taken: Collection[str]) -> dict[str, ActionTool]:
    """The tools of these actions, by name.

    Args:
        actions: Those that the caller may ask for.
        taken: The names that other tools have.
    """
    tools: dict[str, ActionTool] = {}
    for action in sorted(actions, key=lambda one: (one.owner is not None, one.name)):
        name = _NOT_IN_A_NAME.sub("_", action.name)[:_LONGEST_NAME]
        if name not in taken and name not in tools:
            tools[name] = _tool(action)
    return tools


def _tool(action: ActionDescriptor) -> ActionTool:
    schema = action.input_schema
    if not schema:
        return ActionTool(action, {"type": "object", "properties": {}}, is_wrapped=False)
    if schema.get("type") == "object":
        return ActionTool(action, {"properties": {}, **schema}, is_wrapped=False)
    wrapped = {"type": "object", "properties": {"input": schema}, "required": ["input"]}
    return ActionTool(action, wrapped, is_wrapped=True)


def outcome(result: InvokeResult) -> dict[str, Any]:
    """What came of an invocation, as it is told. Of one that still runs a message tells later."""
    told = {"invocation": result.invocation_id, "state": result.state.value}
    if result.state == ActionState.COMPLETED:
        return told | {"output": result.output}
    return told | ({"code": result.code, "error": result.error} if result.error is not None else {})
