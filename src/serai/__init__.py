"""Serai: an inn for AI agents, where sessions live and people and programs meet them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from serai.version import __version__

if TYPE_CHECKING:
    from serai import agents
    from serai.client import connect

__all__ = ["__version__", "agents", "connect"]


def __getattr__(name: str) -> Any:
    """Import a name on first use: the command's help must not wait for it."""
    if name == "agents":
        return import_module("serai.agents")
    if name == "connect":
        from serai.client import connect  # noqa: PLC0415 - that is the point

        return connect
    raise AttributeError(f"module 'serai' has no attribute {name!r}")
