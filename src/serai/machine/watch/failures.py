"""What keeps a watch from being made, or ends it."""

from __future__ import annotations

from serai.ahp.errors import AhpErrorCode
from serai.errors import ProtocolError

__all__ = ["instances_used_up", "not_found", "replaced", "watch_failed", "watches_used_up"]


def not_found(path: str) -> ProtocolError:
    """There is nothing at that path (-32008)."""
    return ProtocolError(f"there is no {path}", number=AhpErrorCode.NOT_FOUND)


def replaced(path: str) -> ProtocolError:
    """It is not what it was found to be any more (-32009)."""
    return ProtocolError(
        f"{path} was replaced while it was about to be watched", number=AhpErrorCode.PERMISSION_DENIED
    )


def watches_used_up(path: str) -> ProtocolError:
    """The system lets this person watch no more folders (-32603, `watch_limit`)."""
    return _limit_reached(path, "fs.inotify.max_user_watches", "exclude folders such as **/node_modules/**")


def instances_used_up(path: str) -> ProtocolError:
    """The system lets this person have no more programs that watch (-32603, `watch_limit`)."""
    return _limit_reached(
        path, "fs.inotify.max_user_instances", "end other programs that watch files: only one is needed here"
    )


def _limit_reached(path: str, setting: str, otherwise: str) -> ProtocolError:
    return _failure(
        "watch_limit",
        f"{path} cannot be watched: the system's limit {setting} is reached",
        f"Raise it (sysctl -w {setting}=...), or {otherwise}",
    )


def watch_failed(path: str, reason: str) -> ProtocolError:
    """The system does not watch this path for another reason (-32603, `watch_failed`)."""
    return _failure("watch_failed", f"{path} cannot be watched: {reason}", "Watch another folder")


def _failure(code: str, message: str, remedy: str) -> ProtocolError:
    error = ProtocolError(message, data={"code": code, "remedy": remedy})
    error.remedy = remedy
    return error
