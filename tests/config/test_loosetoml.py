"""TOML with bounds."""

from __future__ import annotations

import time
import tomllib

import pytest

from serai.config.loosetoml import read_toml


def test_a_table_is_read() -> None:
    assert read_toml('a.b.c = "1.2.3.4"\n[t]\nx = 1') == {"a": {"b": {"c": "1.2.3.4"}}, "t": {"x": 1}}


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        "x = " + "[" * 50_000,
        "a." * 50_000 + "a = 1",
        '"a".' * 30_000 + "a = 1",
        "#" * 300_000,
        "a" * 200_000,
    ],
)
def test_what_is_broken_or_would_take_long_is_refused_at_once(text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(tomllib.TOMLDecodeError):
        read_toml(text)
    assert time.perf_counter() - began < 2
