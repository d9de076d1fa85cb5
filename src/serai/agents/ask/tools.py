"""Content of tool calls, until `harness/acp` uses `acp/tool_calls.py`."""

from __future__ import annotations

from serai.acp import ToolCall, ToolCallUpdate
from serai.acp.tool_calls import Content, text_in

__all__ = ["Content", "content_after", "content_answered", "text_in"]

_OVER = frozenset({"completed", "failed"})


def content_after(
    content: Content, before: Content | None, told: ToolCall | ToolCallUpdate, *, asked: bool
) -> tuple[Content, Content | None]:
    """The content of a call when more is told of it.

    Agents put into a request for permission what a person should know, and not what has come of the call: it
    stands there only as long as there is nothing else.

    Args:
        content: Its content until now.
        before: While that is what it asked permission with: the content that it had until then.
        told: What is new.
        asked: Whether that came with a request for permission.

    Returns:
        Its content, and `before` of that.
    """
    if told.content is not None:
        own = content if before is None else before
        return tuple(told.content), own if asked else None
    if asked or before is None:
        return content, before
    left = content_answered(content, before)
    is_told = told.raw_output is not None or told.status in _OVER
    return (left, None) if left or is_told else (content, before)


def content_answered(asked: Content, before: Content) -> Content:
    """What a call has once its question is answered: the edits that it asked with, or what it had before."""
    return tuple(each for each in asked if each.get("type") == "diff") or before
