"""`resourceRead`."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from machine.files.desk import Desk
from serai.ahp.commands import ContentEncoding, ResourceReadParams, ResourceReadResult
from serai.ahp.types import ROOT
from serai.machine import files
from serai.machine.draft import PIECE
from serai.machine.files import content as content_module


def result(desk: Desk, path: Path, encoding: str | None = None) -> ResourceReadResult:
    return files.read(ResourceReadParams(channel=ROOT, uri=files.uri_of(path), encoding=encoding), desk.roots)


def test_text_is_text_and_all_else_is_base64(desk: Desk) -> None:
    (desk.work / "a.py").write_text("print('ü')\n")
    assert result(desk, desk.work / "a.py") == ResourceReadResult(
        data="print('ü')\n", encoding="utf-8", content_type="text/x-python"
    )
    (desk.work / "b.png").write_bytes(b"\x89PNG\xff")
    assert result(desk, desk.work / "b.png") == ResourceReadResult(
        data=base64.b64encode(b"\x89PNG\xff").decode(), encoding="base64", content_type="image/png"
    )


@pytest.mark.parametrize(
    ("data", "encoding", "content_type"),
    [
        (b"", "utf-8", "text/plain"),
        (b"text", "utf-8", "text/plain"),
        (b"te\0xt", "base64", "application/octet-stream"),
        (b"\xff", "base64", "application/octet-stream"),
        ("ü".encode()[:1], "base64", "application/octet-stream"),
        (b"\xed\xa0\x80", "base64", "application/octet-stream"),
    ],
)
def test_the_content_tells_when_the_name_does_not(
    desk: Desk, data: bytes, encoding: str, content_type: str
) -> None:
    (desk.work / "nameless").write_bytes(data)
    found = result(desk, desk.work / "nameless")
    assert (found.encoding, found.content_type) == (encoding, content_type)


def whole(content: files.Content) -> str:
    return json.loads(b'"' + b"".join(content.pieces()) + b'"')


@pytest.mark.parametrize("pad", range(5))
@pytest.mark.parametrize("encoding", ["utf-8", "base64"])
def test_pieces_make_one_json_string(desk: Desk, pad: int, encoding: str) -> None:
    """Characters, escapes and groups of three fall across the borders of pieces."""
    text = "x" * pad + '🦉"\\\n\x01ü' * (PIECE // 3)
    (desk.work / "a").write_text(text)
    with desk.open(desk.work / "a", encoding) as content:
        assert content.size == len(text.encode())
        pieces = list(content.pieces())
        assert len(pieces) > 2
        assert max(map(len, pieces)) < 3 * PIECE
        data = json.loads(b'"' + b"".join(pieces) + b'"')
        assert whole(content) == data, "it can be read again"
    assert (data if encoding == "utf-8" else base64.b64decode(data).decode()) == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=100))
def test_every_file_comes_back(desk: Desk, data: bytes) -> None:
    (desk.work / "a").write_bytes(data)
    found = result(desk, desk.work / "a")
    assert (found.data.encode() if found.encoding == "utf-8" else base64.b64decode(found.data)) == data


def test_a_file_that_changes_while_it_is_read_still_makes_a_json_string(desk: Desk) -> None:
    path = desk.work / "a"
    path.write_bytes(b"x" * 3 * PIECE)
    with desk.open(path) as content:
        assert content.encoding == ContentEncoding.UTF8
        pieces = content.pieces()
        first = next(pieces)
        with path.open("r+b") as other:
            other.seek(PIECE)
            other.write(b"\xff\xfe")
            other.truncate(2 * PIECE - 1)
        assert json.loads(b'"' + first + b"".join(pieces) + b'"') == "x" * PIECE + "\ufffd\ufffd" + "x" * (
            PIECE - 3
        )
        with path.open("ab") as other:
            other.write(b"y" * 3 * PIECE)
        assert len(whole(content)) == 3 * PIECE, "no more than there was when it was opened"


def some(desk: Desk, path: Path, first: int, last: int | None, most: int = 1000) -> str:
    params = ResourceReadParams(channel=ROOT, uri=files.uri_of(path))
    return files.read(params, desk.roots, first=first, last=last, most=most).data


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.sampled_from(["", "a", "\r", "\u2028", "ü" * 7, "x" * 40]), max_size=12),
    ends=st.booleans(),
    first=st.integers(0, 14),
    count=st.none() | st.integers(0, 14),
)
@example(lines=["a", "a"], ends=True, first=1, count=0)
def test_some_lines_are_those_of_the_whole(
    desk: Desk, lines: list[str], ends: bool, first: int, count: int | None
) -> None:
    text = "\n".join(lines) + ("\n" if ends else "")
    file = desk.work / "text"
    file.write_bytes(text.encode())
    last = None if count is None else first + count
    whole = [f"{line}\n" for line in text.split("\n")]
    whole[-1] = whole[-1][:-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content_module, "PIECE", 16)
        assert some(desk, file, first, last) == "".join(whole[first:last])
