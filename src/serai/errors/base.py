"""The root of all errors."""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = ["SeraiError"]


class SeraiError(Exception):
    """The root of the tree. Catch it to catch all that Serai raises on purpose.

    Args:
        message: What happened, as a sentence without a full stop at its end.
        remedy: What the person can do about it, in the same form.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON: `code` and `message`, and `remedy` where there is one."""
        wire = {"code": self.code, "message": self.message}
        if self.remedy:
            wire["remedy"] = self.remedy
        return wire
