"""What the reducers of all channels have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from msgspec.structs import replace

from serai.ahp.actions import StateAction
from serai.ahp.types import Number
from serai.ahp.wire import State

__all__ = ["Handlers", "LiveState", "SimpleLive"]

S = TypeVar("S", bound=State)
H = TypeVar("H", bound=Callable[..., None])


class Handlers(dict[type, Callable[[Any, Any, Number], None]]):
    """Which method handles which action."""

    def on(self, action: type) -> Callable[[H], H]:
        """Register the decorated method for an action."""

        def register(handler: H) -> H:
            self[action] = handler
            return handler

        return register


class LiveState(ABC, Generic[S]):
    """A channel's state, changed in place by `apply`. What it was made from stays as it is."""

    __slots__ = ()

    handlers: ClassVar[Handlers]

    def apply(self, action: StateAction, now: Number) -> None:
        """Change the state. An action that does not apply to it, or is unknown, changes nothing.

        Args:
            action: What happens.
            now: The time, in milliseconds since 1970; the reducer has no clock of its own.
        """
        handler = self.handlers.get(type(action))
        if handler is not None:
            handler(self, action, now)

    @abstractmethod
    def snapshot(self) -> S:
        """The state as a value of its own: later actions do not change it."""


class SimpleLive(LiveState[S]):
    """A state whose parts are all replaced, never changed: a copy of its top is a copy of it."""

    __slots__ = ("_state",)

    def __init__(self, state: S) -> None:
        self._state = replace(state)

    @property
    def head(self) -> S:
        """The state: to look at, not to change or keep."""
        return self._state

    def snapshot(self) -> S:
        """The state as a value of its own."""
        return replace(self._state)
