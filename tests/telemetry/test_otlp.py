"""Which channels there are; and OTLP's JSON: values, masked text, payloads, and who is telling."""

from __future__ import annotations

import msgspec
import pytest

from serai.telemetry.otlp import (
    Cleaner,
    resource_of,
)
from telemetry.conftest import CLEANER, SECRET, mask


def test_secrets_are_masked_before_long_text_is_cut() -> None:
    assert CLEANER.text(f"the password is {SECRET}") == "the password is [masked]"
    assert "hunter" not in repr(CLEANER.attributes({"a": SECRET}))
    cut = Cleaner(mask).text("x" * (16 * 1024 - 3) + SECRET)
    assert cut.endswith("x[ma… (5 more)")


def test_text_that_json_cannot_hold_is_mended() -> None:
    assert CLEANER.text("a\udce9b ü 🎉") == "a?b ü 🎉"
    assert msgspec.json.encode(CLEANER.text("\ud800"))


def test_the_variables_go_before_what_is_found(caplog: pytest.LogCaptureFixture) -> None:
    environ = {
        "OTEL_RESOURCE_ATTRIBUTES": "service.name=a, place=a%20b%2Cc,secretword",
        "OTEL_SERVICE_NAME": "b",
    }
    attributes = resource_of(environ)
    assert (attributes["service.name"], attributes["place"]) == ("b", "a b,c")
    assert len(caplog.records) == 1
    assert "secretword" not in caplog.text
