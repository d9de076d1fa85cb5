"""Bytes are read from base64 however it is written, and text is told from what is none."""

from __future__ import annotations

import base64
import random
import time
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serai.redact import embedded
from serai.redact.embedded import decode_base64, in_pieces, is_text, may_be_words, without_beginning


def _bare(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


def _cut_off(lines: str) -> str:
    """Lines that end with one character alone, of the four that belong together."""
    left = lines.rstrip("\n=")
    while left and len(left.replace("\n", "")) % 4 != 1:
        left = left[:-1]
    return left


WAYS: dict[str, Callable[[bytes], str]] = {
    "strict": lambda data: base64.b64encode(data).decode(),
    "lines": lambda data: base64.encodebytes(data).decode(),
    "lines of mail": lambda data: base64.encodebytes(data).decode().replace("\n", "\r\n"),
    "indented": lambda data: "\n  " + base64.encodebytes(data).decode().replace("\n", "\n  "),
    "one line and its end": lambda data: base64.b64encode(data).decode() + "\n",
    "no padding": _bare,
    "half of the padding": lambda data: _bare(data) + "=" * (len(data) % 3 == 1),
    "safe in an address": lambda data: base64.urlsafe_b64encode(data).decode(),
    "safe, no padding": lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
}

AROUND: dict[str, Callable[[str], str]] = {
    "cut off": _cut_off,
    "behind another": lambda lines: base64.encodebytes(b"ab").decode() + lines,
    "behind another at once": lambda lines: base64.b64encode(b"x").decode() + lines,
    "in quotes": lambda lines: f'"{lines}"',
    "a mark before": lambda lines: f"\ufeff{lines}",
    "a nought behind": lambda lines: f"{lines}\0",
    "dots behind": lambda lines: f"{lines}...",
    "one sign of dots behind": lambda lines: f"{lines}…",
    "a note behind": lambda lines: f"{lines}\n[truncated]",
    "a note before": lambda lines: f"# base64\n{lines}",
    "a header before": lambda lines: f"Content-Transfer-Encoding: base64\n\n{lines}",
    "odd space behind": lambda lines: f"{lines}\u00a0",
    "an address": lambda lines: f"data:text/plain;base64,{lines}",
    "PEM": lambda lines: f"-----BEGIN X-----\n{lines}-----END X-----\n",
    "quoted": lambda lines: "".join(f"> {line}" for line in lines.splitlines(keepends=True)),
    "line breaks written out": lambda lines: lines.replace("\n", "\\n"),
    "too much padding": lambda lines: f"{lines.rstrip()}===",
}
"""What base64 is found in, or is left of it. Each is given lines, as mail has them."""

each_way = pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
each_surrounding = pytest.mark.parametrize("surround", AROUND.values(), ids=AROUND)

PICTURES = [
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff",
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + zlib.compress(b"BT (words) Tj ET" * 20),
    zlib.compress(b"words " * 200),
    "ein Wort für fünf".encode("utf-16"),
]


@each_way
@given(data=st.binary(max_size=400))
def test_base64_is_read_in_every_way_it_is_written(write: Callable[[bytes], str], data: bytes) -> None:
    assert decode_base64(write(data)) == data


@pytest.mark.parametrize(
    "text",
    [
        "not base64:",
        "für",
        "YWJj.",
        "YWJjZ",
        "YW=Jj",
        "=",
        "data:;base64,YWJj",
        "\ud800AAA",
        "-----BEGIN X-----\nYWJj\n-----END X----",
    ],
)
def test_what_is_no_base64_is_none(text: str) -> None:
    assert decode_base64(text) is None


@each_surrounding
def test_base64_is_found_in_what_is_around_it(surround: Callable[[str], str]) -> None:
    text = surround(base64.encodebytes(b"words that are long enough for some lines " * 5 + b"  ").decode())
    assert decode_base64(text) is None
    found: list[bytes] = []

    def keep(data: bytes) -> bytes:
        found.append(data)
        return data

    assert in_pieces(text, keep) is text
    assert found[-1].startswith(b"words that are ")
    assert found[-1].count(b"for some line") == 5
    masked = in_pieces(text, lambda _: b"[masked]")
    assert base64.b64encode(b"[masked]").decode() in masked
    assert len(masked) < 100


@pytest.mark.parametrize("cut", range(1, 12))
@pytest.mark.parametrize(
    "text", ["some words and a secret for fifty people at least ", "fünf süße Wörter, ein secret "]
)
@pytest.mark.parametrize("write", [base64.b64encode, base64.urlsafe_b64encode], ids=["strict", "safe"])
def test_base64_is_read_rightly_whose_beginning_is_cut_off(
    cut: int, text: str, write: Callable[[bytes], bytes]
) -> None:
    def mask(data: bytes) -> bytes:
        return data.replace(b"secret", b"[masked]") if b"secret" in data else data

    whole = (text * 3).encode()
    left = write(whole).decode()[cut:]
    masked = in_pieces(f"{left}…", mask).removesuffix("…")
    assert masked[: -cut % 4] == left[: -cut % 4]
    said = base64.b64decode(masked[-cut % 4 :])
    assert said == whole.replace(b"secret", b"[masked]")[-(-cut // 4) * 3 :]
    if cut % 4:
        assert without_beginning(left, mask) == masked


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_picture_whose_beginning_is_cut_off_is_not_looked_into(cut: int) -> None:
    picture = base64.b64encode(random.Random(cut).randbytes(30_000)).decode()
    seen: list[bytes] = []
    text = f"{picture[cut:]}…"
    assert in_pieces(text, lambda data: seen.append(data) or data) is text
    assert len(seen) == 1


def test_only_so_many_pieces_are_looked_at_for_their_beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_MOST_CUT", 2)
    piece = base64.b64encode(b"words that are long enough for being read " * 3).decode()[1:]
    seen: list[bytes] = []
    in_pieces(f"{piece}!" * 5, lambda data: seen.append(data) or data)
    assert sum(is_text(data) for data in seen) == 2


@pytest.mark.parametrize(
    "text", ["", "=", "a-key: of/short+words " * 500, "für fünf Leute, und mehr. " * 100, "+" * 23 + "."]
)
def test_text_without_long_runs_has_no_pieces(text: str) -> None:
    assert in_pieces(text, lambda _: b"") is text


@pytest.mark.parametrize(
    "text", ["A" * 23 + "!", "A" * 5_000_000 + "!", ">\n" * 2_500_000, "A" * 24 + ("\n" * 9 + "A") * 99_999]
)
def test_pieces_are_found_in_one_go(text: str) -> None:
    began = time.perf_counter()
    in_pieces(f"{text}!", lambda data: data)
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("words", ["ghp_" + "a1B2" * 9, "key ghp_" + "a1B2" * 9, "some words and more " * 60])
def test_a_key_alone_and_words_may_be_words(words: str) -> None:
    assert decode_base64(words) is not None
    assert may_be_words(words)


@each_way
def test_long_base64_is_not_taken_for_words(write: Callable[[bytes], str]) -> None:
    assert not may_be_words(write(b"x" * 3000))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain",
        b"NAME=x\0OTHER=y\0",
        "ü 🙂 日本".encode(),
        "weather: 🙂".encode()[:-1],
        "日本語".encode()[:-2],
        "Ein Wort für fünf Leute".encode("latin-1"),
        "“so”, he said—and he left the room… for 5 € and some more money".encode("cp1252"),
        b"\x1b[31mred\x1b[0m for f\xfcnf people",
        "日本語 and one stray byte of another: ".encode() + b"f\xfcnf",
    ],
)
def test_text_is_text_in_the_encodings_it_comes_in(data: bytes) -> None:
    assert is_text(data)


@pytest.mark.parametrize("before", PICTURES)
def test_a_picture_or_an_archive_is_no_text_even_with_much_text_in_it(before: bytes) -> None:
    assert not is_text(before + b"words that are in it " * 500)


def test_random_bytes_are_no_text() -> None:
    chance = random.Random(7)
    assert not any(is_text(chance.randbytes(24)) for _ in range(20_000))
