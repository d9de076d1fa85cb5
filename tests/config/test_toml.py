"""TOML with bounds."""

from __future__ import annotations

import time

import pytest

from serai.config.toml import BrokenToml, briefly, read_toml

MANY = '"!".' * 60_000


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        "x = " + "[" * 50_000,
        "a." * 50_000 + "a = 1",
        '"a".' * 30_000 + "a = 1",
        f"{MANY}a = 1",
        "'!'.'=#'." * 20_000 + "a = 1",
        '"\\"" \t.\t' * 25_000 + "a = 1",
        '"".' * 60_000 + "a = 1",
        f"[{MANY}a]",
        f"x = [{{{MANY}a = 1}}]",
        f'x = """\'\\"""""\n{MANY}a = 1',
        f"x = '''\"'\\'''''\n{MANY}a = 1",
        '\\"' * 100_000,
        "x = " + "9" * 5_000,
        "x = 0x" + "f" * 200_000,
        "x = 9223372036854775808",
        "x = " + "{a.a.a.a.a.a.a.a.a=" * 100 + "1" + "}" * 100,
        "#" * 300_000,
        "a" * 200_000,
        f"{'a' * 100_000} = 1\n" * 2,
        "a = 1\n" * 2,
    ],
    ids=lambda text: text[:20] + f"… {len(text)}",
)
def test_what_is_broken_or_would_take_long_is_refused_at_once(text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(BrokenToml) as refused:
        read_toml(text)
    assert time.perf_counter() - began < 2
    assert len(str(refused.value)) < 300


def test_dots_count_in_keys_alone() -> None:
    dots = "a." * 1_000
    lines = [
        f"# {dots}\"'",
        f'one = "{dots}\\"{dots}" # \'',
        f"two = '{dots}\"{dots}'",
        f"""many = ["{dots}", "{dots}", 1.5, 2.5, {{ a."b.c".'d.e' = "{dots}" }}]""",
        f'long = """{dots}" ""{dots}\n{dots}\\""""""',
        f"longer = '''{dots}' ''{dots}\n{dots}\\''''",
        "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p = 9223372036854775807",
    ]
    table = read_toml("\n".join(lines))
    assert table["one"] == table["two"] == f'{dots}"{dots}'
    assert table["long"].endswith(f'\n{dots}"""')
    assert table["longer"].endswith(f"\n{dots}\\'")
    assert table["many"][-1]["a"] == {"b.c": {"d.e": dots}}
    assert table["a"]["b"]["c"]


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
