"""What a stranger has written, as a message shows it."""

from __future__ import annotations

__all__ = ["briefly"]

_MOST = 160


def briefly(text: str) -> str:
    """A text in one line and not too long: its beginning, its end, and no sign that a terminal would obey."""
    if len(text) > _MOST:
        text = f"{text[: _MOST // 2]} … {text[-_MOST // 2 :]}"
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
