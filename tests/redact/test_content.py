"""Bytes are read from base64 however it is written, and text is told from what is none."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable

import pytest

from serai.redact.redactor import decode_base64, is_text


def _bare(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


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

each_way = pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)

PICTURES = [
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff",
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + zlib.compress(b"BT (words) Tj ET" * 20),
    zlib.compress(b"words " * 200),
    "ein Wort für fünf".encode("utf-16"),
]


@pytest.mark.parametrize(
    "text",
    [
        "not base64:",
        "für",
        "YWJj.",
        "YW=Jj",
        "=",
        "data:;base64,YWJj",
        "\ud800AAA",
        "-----BEGIN X-----\nYWJj\n-----END X----",
    ],
)
def test_what_is_no_base64_is_none(text: str) -> None:
    assert decode_base64(text) is None


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
