"""The one funnel for secrets: what goes to disk, index, log, telemetry or a client has passed it.

Two stages, one behind the other. Known values are masked everywhere, also in what a person typed. Shapes of
credentials are masked in what is *observed*: agents' text, tool input and output, terminals, notices. Masks
name the kind, never the value, and pass both stages unchanged.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Mapping
from functools import partial
from typing import TypeVar

from serai.redact.managed import SHORTEST, ManagedStage, ManagedValues
from serai.redact.shape_stage import ShapeStage, redact_shapes
from serai.redact.walk import Walker

_OWN_TOKEN = re.compile(r"srt_[A-Za-z0-9_-]{43}")
"""A token of a host: nobody types one for others to read."""
_GLIMPSE = 3
"""At most so many characters of a known value go out before its mask, where text stops within it."""
_LONE = 1024
"""Longest text that may be a key or some words alone, although it can be read as base64."""

T = TypeVar("T")


class Redactor:
    """Holds the known values and masks secrets.

    Args:
        secrets: Known values by their label, which is what a mask shows: `[secret:OPENAI_API_KEY]`.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._labels: dict[str, str] = {}
        """The label of each value: one that gets another value keeps the first one masked, too."""
        self.values = ManagedValues({})
        """What is looked for now. Streams ask for it with every piece of text."""
        self._observed = Walker(self.redact, self._redact_managed, self._redact_base64)
        self._typed = Walker(
            self._redact_managed, self._redact_managed, partial(self._redact_base64, observed=False)
        )
        if secrets:
            self.register_all(secrets)

    def register(self, label: str, value: str) -> bool:
        """Manage a value from now on, in streams that are under way too.

        Returns:
            Whether it is managed: one with fewer than eight characters, or only white space, is not.
        """
        return self.register_all({label: value}) == 1

    def register_all(self, secrets: Mapping[str, str]) -> int:
        """Manage several values at once, which is cheaper, and return how many are managed."""
        fit = {label: value for label, value in secrets.items() if len(value.strip()) >= SHORTEST}
        if fit:
            self._labels |= {value: label for label, value in fit.items()}
            self.values = ManagedValues(self._labels)
        return len(fit)

    def redact(self, text: str, *, observed: bool = True) -> str:
        """Mask the secrets in a text that is whole, and more than half of a known value at its end."""
        return redact_shapes(self.values.redact(text)) if observed else self._redact_managed(text)

    def redact_bytes(self, data: bytes, *, observed: bool = True) -> bytes:
        """Mask known values in content, and shapes of credentials where it is text.

        Returns:
            The same object when there was nothing to mask.
        """
        if not is_text(data):
            return self.values.redact_bytes(data)
        text = data.decode(errors="surrogateescape")
        masked = self.redact(text, observed=observed)
        return data if masked == text else masked.encode(errors="surrogateescape")

    def redact_value(self, value: T, *, observed: bool) -> T:
        """Mask the secrets in any value of the protocol, or in free-form JSON. Deltas belong into a `stream`.

        Args:
            value: An action, say.
            observed: Whether it tells what an agent, a tool or a terminal did. What a person typed is theirs:
                only known values are masked in it.

        Returns:
            The same object when there was nothing to mask.
        """
        return (self._observed if observed else self._typed).walk(value)

    def stream(self, *, observed: bool = True) -> StreamRedactor:
        """A redactor for one text that comes in pieces: one part of an answer, one terminal."""
        return StreamRedactor(self, observed=observed)

    def _redact_managed(self, text: str) -> str:
        text = self.values.redact(text)
        return _OWN_TOKEN.sub("srt_[masked:serai-token]", text) if "srt_" in text else text

    def _redact_base64(self, text: str, *, observed: bool = True) -> str:
        """Mask what base64 says, so that it still is base64; what is none is a text like any other."""
        data = decode_base64(text)
        if data is not None and (said := self.redact_bytes(data, observed=observed)) is not data:
            return base64.b64encode(said).decode()
        # A key alone can be read as base64 too, which then says nothing.
        is_base64 = data is not None and (is_text(data) or len(text) > _LONE)
        return self.redact(text, observed=observed and not is_base64)


class StreamRedactor:
    """Masks secrets in one text that comes in pieces of any size. Made by `Redactor.stream`.

    What is returned, put together, is what `Redactor.redact` makes of the whole text. Held back is only a
    tail that may still become a secret. It waits for text; who shows the text to someone who waits as well,
    and may have to type before more comes, lets it go.
    """

    __slots__ = ("_managed", "_owner", "_shapes")

    def __init__(self, owner: Redactor, *, observed: bool) -> None:
        self._owner = owner
        self._managed = ManagedStage()
        self._shapes = ShapeStage() if observed else None

    @property
    def held(self) -> int:
        """How many characters are held back."""
        known = len(self._managed.held) - self._managed.told
        return known + (self._shapes.held if self._shapes else 0)

    def feed(self, text: str) -> str:
        """Take more text, and return what may go out now."""
        values = self._owner.values
        if values.count or self._managed.held:
            text = self._managed.feed(values, text)
        return self._shapes.feed(text) if self._shapes else text

    def let_go(self) -> str:
        """No text has come for a while: return what is held, as far as it is a mere beginning of a secret.

        That is up to three characters of a known value, which say next to nothing, and what says nothing at
        all, such as the host in an address. If the rest of the secret does follow, it is masked from there.
        """
        text = self._managed.let_go(_GLIMPSE)
        if self._shapes:
            text = self._shapes.feed(text) + self._shapes.let_go()
        return text

    def flush(self) -> str:
        """The part has ended: return the rest. The stream may then be used for another text."""
        text = self._managed.flush(self._owner.values)
        if self._shapes:
            text = self._shapes.flush(text)
            self._shapes = ShapeStage()
        return text


# -- content as bytes ----------------------------------------------------------------------------------------

_NOT_IN_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that pictures, archives and programs have soon, and text never, also as a terminal shows it."""
_FEW = 8
"""Text in Latin-1 has fewer letters beyond ASCII than one in so many."""
_STRICT = str.maketrans("-_", "+/", " \t\r\n\v\f")
_PEM = "-----BEGIN "
"""The header of a key. Its dashes and letters could be read as base64, too."""


def decode_base64(text: str) -> bytes | None:
    """What a text in base64 says; `None` for what is none.

    Line breaks and other white space, padding that is missing, and the letters that are safe in an address
    are as good as the strict form: `base64`, mail and Python write it that way. Base64
    that is cut off at its end is read up to there.
    """
    if not text.isascii():
        return None
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        bare = text.translate(_STRICT)
    if _PEM in text:
        return None
    bare = bare[:-1] if len(bare) % 4 == 1 and bare[-1].isalnum() else bare + "=" * (-len(bare) % 4)
    try:
        return base64.b64decode(bare, validate=True)
    except ValueError:
        return None


def is_text(data: bytes) -> bool:
    """Whether bytes are text: UTF-8, perhaps cut off within its last character, or ASCII for the most part.

    What looks like a secret in a picture is chance, and a mask would break the picture: in doubt it is none.
    """
    try:
        codecs.utf_8_decode(data)
    except UnicodeDecodeError:
        stray = len(data) - len(data.decode(errors="ignore").encode())
        return stray * _FEW <= len(data) and _NOT_IN_TEXT.search(data) is None
    return True
