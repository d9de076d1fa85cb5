"""What all actions have in common."""

from __future__ import annotations

from serai.ahp.wire import Value

__all__ = ["Action"]


class Action(Value, tag_field="type"):
    """A change to one channel's state. Which channel, its envelope says."""
