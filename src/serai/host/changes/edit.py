"""A block that may change files, as whoever runs it knows it."""

from __future__ import annotations

__all__ = ["Edit"]


class Edit:
    """Does nothing: git sees every change."""

    is_off = False

    async def begin(self) -> None:
        """Do nothing."""
