"""What a stranger has written, in a message."""

from __future__ import annotations

import pytest

from serai.config.showing import briefly


def test_a_short_text_stays_as_it_is() -> None:
    assert briefly("Grüße, 'x'") == "Grüße, 'x'"


def test_of_a_long_text_beginning_and_end_are_shown() -> None:
    shown = briefly("<" + "x" * 200_000 + ">")
    assert shown.startswith("<xxx")
    assert shown.endswith("xxx>")
    assert len(shown) < 200


@pytest.mark.parametrize("sign", ["\x1b", "\n", "\x00", "\x9b", "\u202e", "\ud800"])
def test_what_a_terminal_would_obey_is_escaped(sign: str) -> None:
    shown = briefly(f"a{sign}b")
    assert shown.isprintable()
    assert shown == f"a{repr(sign)[1:-1]}b"
