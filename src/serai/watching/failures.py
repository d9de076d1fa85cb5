"""What keeps a watch from being made, or ends it."""

from __future__ import annotations

from serai.ahp.errors import AhpErrorCode
from serai.errors import ProtocolError

__all__ = ["limit_reached", "not_found", "watch_failed"]


def not_found(path: str) -> ProtocolError:
    """There is nothing at that path (-32008)."""
    return ProtocolError(f"there is no {path}", number=AhpErrorCode.NOT_FOUND)


def limit_reached(setting: str, path: str) -> ProtocolError:
    """The system lets this person watch no more: one of its settings says so (-32603, `watch_limit`)."""
    return _failure(
        "watch_limit",
        f"{path} cannot be watched: the system's limit {setting} is reached",
        f"Raise it (sysctl -w {setting}=...), or exclude folders such as **/node_modules/**",
    )


def watch_failed(path: str, reason: str) -> ProtocolError:
    """The system does not watch this path for another reason (-32603, `watch_failed`)."""
    return _failure("watch_failed", f"{path} cannot be watched: {reason}", "Watch another folder")


def _failure(code: str, message: str, remedy: str) -> ProtocolError:
    error = ProtocolError(message, data={"code": code, "remedy": remedy})
    error.remedy = remedy
    return error
