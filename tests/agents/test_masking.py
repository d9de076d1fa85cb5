"""Secrets are taken out of what agents log."""

from __future__ import annotations

import pytest

from serai.agents.masking import make_mask


def test_values_of_secret_variables_are_taken_out_wherever_they_stand() -> None:
    mask = make_mask({"MY_API_KEY": "correct-horse", "MY_TOKEN": "correct-horse-battery", "LANG": "C.UTF-8"})
    assert mask("a correct-horse-battery, a correct-horse, C.UTF-8") == "a [redacted], a [redacted], C.UTF-8"


@pytest.mark.parametrize("value", ["short", ""])
def test_values_that_are_too_short_to_be_secrets_stay(value: str) -> None:
    assert make_mask({"TOKEN": value})("a short text") == "a short text"


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer S3CR3TS3CR3T",
        "sk-S3CR3T0123456789abcdef",
        "xoxb-S3CR3T012345",
        "ghp_S3CR3T0123456789",
        "AKIAS3CR3T0123456789"[:20],
        'api_key="S3CR3T0123"',
        "password=S3CR3T0123",
    ],
)
def test_known_shapes_are_taken_out(text: str) -> None:
    masked = make_mask({})(f"before {text} after")
    assert "S3CR3T" not in masked
    assert masked.startswith("before ")
    assert masked.endswith(" after")
