"""The redactor: everything that goes to disk, index, log, telemetry or a client passes through it.

There are two stages, one after the other. Known values are masked everywhere, also in a person's input.
Shapes of credentials are masked in *observed* text: agents' text, tool input and output, terminals, notices.
Masks name the kind, never the value, and pass both stages unchanged.
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
"""Token of a host, which is masked in all text."""
_GLIMPSE = 3
"""Most characters of a known value that are sent before its mask, when a text pauses within the value."""
_LONE = 1024
"""Longest text that may be a key or a few words although it is valid base64, in characters."""

T = TypeVar("T")


class Redactor:
    """Masks secrets: known values, and shapes of credentials.

    Args:
        secrets: Known values by their label, which is what a mask shows: `[secret:OPENAI_API_KEY]`.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._labels: dict[str, str] = {}
        """Label of each value. A label that gets another value keeps the first one masked, too."""
        self.values = ManagedValues({})
        """The current set of known values. Streams read it with every piece of text."""
        self._observed = Walker(self.redact, self._redact_managed, self._redact_base64)
        self._typed = Walker(
            self._redact_managed, self._redact_managed, partial(self._redact_base64, observed=False)
        )
        if secrets:
            self.register_all(secrets)

    def register(self, label: str, value: str) -> bool:
        """Manage a value from now on, in open streams, too.

        Returns:
            True if it is managed: a value of fewer than eight characters, or of white space, is not.
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
        """Mask the secrets in a complete text, and more than half of a known value at its end."""
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
        """Mask the secrets in any value of the protocol, or in free-form JSON. Use a `stream` for deltas.

        Args:
            value: An action, say.
            observed: Whether it comes from an agent, a tool or a terminal. In a person's own input
                only known values are masked.

        Returns:
            The same object when there was nothing to mask.
        """
        return (self._observed if observed else self._typed).walk(value)

    def stream(self, *, observed: bool = True) -> StreamRedactor:
        """Make a redactor for one text that comes in pieces: one part of an answer, or one terminal."""
        return StreamRedactor(self, observed=observed)

    def _redact_managed(self, text: str) -> str:
        text = self.values.redact(text)
        return _OWN_TOKEN.sub("srt_[masked:serai-token]", text) if "srt_" in text else text

    def _redact_base64(self, text: str, *, observed: bool = True) -> str:
        """Mask the content of base64, and encode the result again; other text is masked as text."""
        data = decode_base64(text)
        if data is not None and (said := self.redact_bytes(data, observed=observed)) is not data:
            return base64.b64encode(said).decode()
        # A key alone may be valid base64, too, whose content means nothing.
        is_base64 = data is not None and (is_text(data) or len(text) > _LONE)
        return self.redact(text, observed=observed and not is_base64)


class StreamRedactor:
    """Masks secrets in one text that comes in pieces of any size. Made by `Redactor.stream`.

    The returned pieces together are the result of `Redactor.redact` for the whole text. Only a tail is held
    back that may still become a secret, until more text comes. A caller that shows the text to a person, who
    may have to type before more comes, calls `let_go`.
    """

    __slots__ = ("_managed", "_owner", "_shapes")

    def __init__(self, owner: Redactor, *, observed: bool) -> None:
        self._owner = owner
        self._managed = ManagedStage()
        self._shapes = ShapeStage() if observed else None

    @property
    def held(self) -> int:
        """Number of characters that are held back."""
        known = len(self._managed.held) - self._managed.released
        return known + (self._shapes.held if self._shapes else 0)

    def feed(self, text: str) -> str:
        """Add text, and return the text that may be sent now."""
        values = self._owner.values
        if values.count or self._managed.held:
            text = self._managed.feed(values, text)
        return self._shapes.feed(text) if self._shapes else text

    def let_go(self) -> str:
        """Return the held text after a pause, as far as it is only the beginning of a secret.

        That is up to three characters of a known value, which reveal next to nothing, and text that reveals
        nothing at all, such as the host in an address. If the rest of the secret follows, it is masked.
        """
        text = self._managed.let_go(_GLIMPSE)
        if self._shapes:
            text = self._shapes.feed(text) + self._shapes.let_go()
        return text

    def flush(self) -> str:
        """Return the rest, since the text has ended. The stream may then be used for another text."""
        text = self._managed.flush(self._owner.values)
        if self._shapes:
            text = self._shapes.flush(text)
            self._shapes = ShapeStage()
        return text


# -- content as bytes ----------------------------------------------------------------------------------------

_NOT_IN_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that pictures, archives and programs contain early, and text never, also with terminal escapes."""
_FEW = 8
"""Text in Latin-1 has less than one letter beyond ASCII in this many characters."""
_STRICT = str.maketrans("-_", "+/", " \t\r\n\v\f")
_PEM = "-----BEGIN "
"""Header of a private key. Its dashes and letters are valid base64, too."""


def decode_base64(text: str) -> bytes | None:
    """Decode a text in base64; return `None` for any other text.

    White space, missing padding and the URL-safe alphabet are accepted, too: `base64`, mail and Python write
    them. Base64 that is cut off is decoded up to its end.
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
    """Tell whether bytes are text: UTF-8, perhaps cut within its last character, or mostly ASCII.

    A match in a picture is chance, and a mask would break the picture: in doubt the bytes are not text.
    """
    try:
        codecs.utf_8_decode(data)
    except UnicodeDecodeError:
        stray = len(data) - len(data.decode(errors="ignore").encode())
        return stray * _FEW <= len(data) and _NOT_IN_TEXT.search(data) is None
    return True
