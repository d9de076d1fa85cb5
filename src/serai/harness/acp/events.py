"""Who wants to know what happens in a session, and is told."""

from __future__ import annotations

import logging

from serai.contract import AgentSessionEvent
from serai.contract.session import EventHandler, Unsubscribe

__all__ = ["Listeners"]

_log = logging.getLogger(__name__)


class Listeners:
    """The handlers of one session's events."""

    def __init__(self) -> None:
        self._handlers: list[EventHandler] = []

    def __bool__(self) -> bool:
        return bool(self._handlers)

    def add(self, handler: EventHandler) -> Unsubscribe:
        """Tell a handler of each event from now on, until what this returns is called."""
        own = [handler]  # the same handler may be added twice

        def tell(event: AgentSessionEvent) -> None:
            own[0](event)

        def remove() -> None:
            if tell in self._handlers:
                self._handlers.remove(tell)

        self._handlers.append(tell)
        return remove

    def emit(self, event: AgentSessionEvent) -> None:
        """Tell all. One that fails does not keep the others from hearing it."""
        for handler in list(self._handlers):
            try:
                handler(event)
            except Exception:  # noqa: BLE001 - a listener's error is its own
                _log.exception("a listener failed")
