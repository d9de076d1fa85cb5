"""The base of the reducers: states that change in place, growing text, lists of items with ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from msgspec.structs import replace

from serai.ahp.actions import RootConfigChangedAction, SessionConfigChangedAction, StateAction
from serai.ahp.types import Number, RootConfigState, SessionConfigState
from serai.ahp.wire import State, Unknown

S = TypeVar("S", bound=State)
T = TypeVar("T")
H = TypeVar("H", bound=Callable[..., None])


class Handlers(dict[type, Callable[[Any, Any, Number], None]]):
    """The handler of each action."""

    def on(self, *actions: type) -> Callable[[H], H]:
        """Register the decorated method for some actions."""

        def register(handler: H) -> H:
            self.update(dict.fromkeys(actions, handler))
            return handler

        return register

    def puts(self, action: type, *fields: str, in_summary: bool = False, touches: bool = False) -> None:
        """Make an action replace fields of the state, or of a session's summary, with its own ones.

        With `touches`, the session counts as changed.
        """

        def put(live: Any, action: Any, now: Number) -> None:
            target = live.head.summary if in_summary else live.head
            for field in fields:
                setattr(target, field, getattr(action, field))
            if touches:
                target.modified_at = now

        self[action] = put


class LiveState(ABC, Generic[S]):
    """A channel's state, changed in place by `apply`. What it was made from stays as it is."""

    __slots__ = ("_state",)

    handlers: ClassVar[Handlers]

    _state: S

    @property
    def head(self) -> S:
        """The state without text and turns that still grow: only to be read."""
        return self._state

    def apply(self, action: StateAction, now: Number) -> None:
        """Apply an action to the state. One that does not fit the state, or is unknown, changes nothing.

        Args:
            action: What happens.
            now: The time, in milliseconds since 1970; the reducer has no clock of its own.
        """
        handler = self.handlers.get(type(action))
        if handler is not None:
            handler(self, action, now)

    @abstractmethod
    def snapshot(self) -> S:
        """Return the state as a separate value, which later actions do not change."""


class SimpleLive(LiveState[S]):
    """A state whose parts are all replaced, never changed: a copy of its top is a copy of it."""

    __slots__ = ()

    def __init__(self, state: S) -> None:
        self._state = replace(state)

    def snapshot(self) -> S:
        """Return the state as a separate value."""
        return replace(self._state)


_FOLD_PIECES = 256
_FOLD_CHARACTERS = 64 * 1024


class GrowingText:
    """Pieces of text, joined when read.

    A short string costs five times its size, and one character outside Latin-1 doubles or quadruples a whole
    string. So pieces are folded, now and then, into blocks of UTF-8: what is kept is about as large as what
    was sent.
    """

    __slots__ = ("_blocks", "_characters", "_pieces", "_start")

    def __init__(self, start: str = "") -> None:
        self._start = start  # others share this string: to fold it would make a second copy
        self._blocks: list[bytes] = []
        self._pieces: list[str] = []
        self._characters = 0

    def append(self, piece: str) -> None:
        """Add a piece at the end."""
        self._pieces.append(piece)
        self._characters += len(piece)
        if self._characters >= _FOLD_CHARACTERS or len(self._pieces) >= _FOLD_PIECES:
            # Code in this process may pass a lone surrogate; it is refused when it is encoded.
            self._blocks.append("".join(self._pieces).encode("utf-8", "surrogatepass"))
            self._pieces.clear()
            self._characters = 0

    def __str__(self) -> str:
        folded = b"".join(self._blocks).decode("utf-8", "surrogatepass")
        return "".join((self._start, folded, *self._pieces))


def find(items: Sequence[Any], item_id: Any) -> int | None:
    """Return the position of the first item with an id; `None` when there is none, or no id."""
    found = (position for position, item in enumerate(items) if id_of(item) == item_id)
    return None if item_id is None else next(found, None)


def id_of(item: Any) -> Any:
    """Return the id of an item, also of one of an unknown kind."""
    return item.raw.get("id") if isinstance(item, Unknown) else item.id


def placed(items: Sequence[T] | None, item: T) -> list[T]:
    """Return the items with this one in the place of the one that has its id, or at the end."""
    items = items or []
    position = find(items, id_of(item))
    return [*items, item] if position is None else [*items[:position], item, *items[position + 1 :]]


def without(items: Sequence[T] | None, item_id: Any) -> list[T]:
    """Return the items without the first one that has this id."""
    items = items or []
    position = find(items, item_id)
    return [*items] if position is None else [*items[:position], *items[position + 1 :]]


C = TypeVar("C", RootConfigState, SessionConfigState)


def merged(config: C, action: RootConfigChangedAction | SessionConfigChangedAction) -> C:
    """Return the settings with new values merged into the old ones, or in their place."""
    values = action.config if action.replace else {**config.values, **action.config}
    return replace(config, values=values)
