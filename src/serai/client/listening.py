"""Those who want to hear of the connection: functions that are called, and loops that read."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable

from serai.client.events import ClientEvent
from serai.client.inbox import Inbox
from serai.errors import SeraiError

__all__ = ["Listeners"]

_log = logging.getLogger(__name__)

# A loop that reads nothing must not fill the memory.
_MAX_EVENTS = 10_000


class Listeners:
    """All who listen to one client."""

    def __init__(self) -> None:
        self._functions: list[Callable[[ClientEvent], None]] = []
        self._inboxes: list[Inbox[ClientEvent]] = []

    def add(self, listener: Callable[[ClientEvent], None]) -> Callable[[], None]:
        """Call a function with each event. Returns a function that ends it."""
        self._functions.append(listener)

        def stop() -> None:
            if listener in self._functions:
                self._functions.remove(listener)

        return stop

    async def events(self) -> AsyncGenerator[ClientEvent, None]:
        """The events from now on."""
        inbox: Inbox[ClientEvent] = Inbox()
        self._inboxes.append(inbox)
        try:
            while True:
                try:
                    yield await inbox.get()
                except StopAsyncIteration:
                    return
        finally:
            self._inboxes.remove(inbox)

    def tell(self, event: ClientEvent) -> None:
        """Tell all of an event."""
        for listener in self._functions.copy():
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - a listener's fault is not the connection's
                _log.exception("a listener failed on %r", event)
        for inbox in self._inboxes:
            inbox.put(event)
            if len(inbox) >= _MAX_EVENTS:
                inbox.end(SeraiError(f"{_MAX_EVENTS} events were not read: later ones are missing"))

    def end(self, error: SeraiError | None) -> None:
        """There will be no more events."""
        for inbox in self._inboxes:
            inbox.end(error)
