"""What text may go out."""

from __future__ import annotations

import msgspec

from serai.telemetry.cleaning import Cleaner
from telemetry.conftest import CLEANER, SECRET, mask


def test_secrets_are_masked_in_text_values_and_lists() -> None:
    assert CLEANER.text(f"the password is {SECRET}") == "the password is [masked]"
    assert CLEANER.attributes({"a": SECRET, "b": [SECRET, 1], "c": 1, "d": True}) == {
        "a": "[masked]",
        "b": ["[masked]", 1],
        "c": 1,
        "d": True,
    }


def test_a_secret_that_would_be_cut_in_half_is_masked_first() -> None:
    text = Cleaner(mask, limit=10).text(f"12345{SECRET}")
    assert text.startswith("12345[mask")
    assert "hunter" not in text


def test_long_text_is_cut_and_says_so() -> None:
    assert Cleaner(mask, limit=4).text("abcdefgh") == "abcd… (4 more)"
    assert Cleaner(mask, limit=4).text("abcd") == "abcd"


def test_text_that_json_cannot_hold_is_mended() -> None:
    assert CLEANER.text("a\udce9b ü 🎉") == "a?b ü 🎉"
    assert msgspec.json.encode(CLEANER.text("\ud800"))
