from __future__ import annotations

import json
from time import perf_counter
from typing import Any

import pytest

from serai.acp.mending import head_of, mended


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (b'{"a": "caf\xe9"}', {"a": "caf\ufffd"}),
        (b'{"a": "cut \xf0\x9f", "b": 1}', {"a": "cut \ufffd", "b": 1}),
        (rb'{"a": "half \ud83d and \\ud83d"}', {"a": "half \ufffd and \\ud83d"}),
        (b'{"a": [NaN, Infinity, -Infinity, -1]}', {"a": [None, None, None, -1]}),
        (
            rb'{"NaN": "Infinity, \"NaN\", -Infinity", "b": NaN}',
            {"NaN": 'Infinity, "NaN", -Infinity', "b": None},
        ),
        (b'{"a": "\xe9", "b": NaN, "c": "\\udc00"}', {"a": "\ufffd", "b": None, "c": "\ufffd"}),
    ],
)
def test_what_is_neither_text_nor_a_number_is_replaced_alone(line: bytes, meant: Any) -> None:
    assert json.loads(mended(line)) == meant


@pytest.mark.parametrize(
    ("line", "head"),
    [
        (b'{"jsonrpc":"2.0","id":3,"method":"x","params":{"a":', {"jsonrpc": "2.0", "id": 3, "method": "x"}),
        (b' { "method" : "a\\"b" , "id" : null , "params"', {"method": 'a"b', "id": None}),
        (b'{"id": "i", "method": "x", garbage', {"id": "i", "method": "x"}),
        (b'{"id": 3}', None),
        (b'{"params": {}, "id": 3, "method": "x"', None),
        (b'{"id": {"a": 1}, "method": "x", ', None),
        (b"Loading...", None),
    ],
)
def test_a_head_is_what_stands_first(line: bytes, head: Any) -> None:
    found = head_of(line)
    assert (None if found is None else json.loads(found)) == head


@pytest.mark.parametrize("piece", [b'\\"', b'"\\"', b"NaN", b"\xe9", b'"id":1,', b"\\ud83d", b"   "])
def test_no_line_takes_long(piece: bytes) -> None:
    line = b'{"id": 1, "method": "NaN' + piece * 200_000
    began = perf_counter()
    head_of(mended(line))
    assert perf_counter() - began < 2
