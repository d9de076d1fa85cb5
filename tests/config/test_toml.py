"""TOML with bounds."""

from __future__ import annotations

import pytest

from serai.config.toml import BrokenToml, briefly, read_toml

DOTS = "a." * 450


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        "x = " + "[" * 50_000,
        "a." * 50_000 + "a = 1",
        "[" + '"!".' * 60_000 + "a]",
        "x = " + "9" * 5_000,
        "x = 0x" + "f" * 200_000,
        "x = 18446744073709551616",
        "x = " + "{a.a.a.a.a.a.a.a.a=" * 100 + "1" + "}" * 100,
        "#" * 300_000,
        f"{'a' * 100_000} = 1\n" * 2,
        "\n".join(f"k{number}.{DOTS}a = 1" for number in range(60)),
    ],
    ids=lambda text: text[:20] + f"… {len(text)}",
)
def test_what_is_broken_or_would_take_long_is_refused(text: str) -> None:
    with pytest.raises(BrokenToml) as refused:
        read_toml(text)
    assert len(str(refused.value)) < 300


def test_a_long_text_may_have_many_dots() -> None:
    assert read_toml(f'one = "{DOTS}"\na.b.c = 9223372036854775807')["one"] == DOTS


@pytest.mark.parametrize("sign", ["\x1b", "\n", "\x00", "\x9b", "\u202e", "\ud800"])
def test_what_a_terminal_would_obey_is_escaped(sign: str) -> None:
    shown = briefly(f"a{sign}b")
    assert shown.isprintable()
    assert shown == f"a{repr(sign)[1:-1]}b"
