"""What may stand in telemetry: text without secrets, of bounded length, that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from serai.telemetry.records import Attributes, Scalar

__all__ = ["LENGTH_LIMIT", "Cleaner"]

LENGTH_LIMIT = 16 * 1024
"""How long one text may be, in characters. A stack trace fits; a file does not."""


class Cleaner:
    """Masks, cuts and mends text.

    Args:
        mask: Takes secrets out of a text.
        limit: How many characters a text may have.
    """

    def __init__(self, mask: Callable[[str], str], limit: int = LENGTH_LIMIT) -> None:
        self._mask = mask
        self._limit = limit

    def text(self, text: str) -> str:
        """A text as it may go out."""
        text = self._mask(text)  # before it is cut: half a secret is not recognised
        if len(text) > self._limit:
            text = f"{text[: self._limit]}… ({len(text) - self._limit} more)"
        if not text.isascii():
            text = text.encode(errors="replace").decode()  # lone surrogates cannot be sent
        return text

    def value(self, value: Scalar | Sequence[Scalar]) -> Scalar | Sequence[Scalar]:
        """The value of an attribute as it may go out."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Sequence):
            return [self.text(each) if isinstance(each, str) else each for each in value]
        return value

    def attributes(self, attributes: Mapping[str, Scalar | Sequence[Scalar]]) -> Attributes:
        """Attributes as they may go out. Their names are ours."""
        return {name: self.value(value) for name, value in attributes.items()}
