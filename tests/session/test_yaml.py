"""Documents: what is read, what is refused and where, and that what is written comes back."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st
from ruamel.yaml import YAML

from requirements import proves
from serai.errors import DocumentInvalid, Mismatch
from serai.session.yaml import MAX_BYTES, MAX_DEPTH, dump, load

ODD = (
    "yes no on off y N null Null ~ true False 1 -0 0o17 017 0x1f 1_000 1:30 1e3 1.5 .5 .inf .nan 2026-03-01 "
    "= << - ? : # & * ! | > % @ ` {} [] {{input}} ---"
)
"""Words that mean something else somewhere."""
WORDS = st.sampled_from(ODD.split())
TEXTS = st.text() | WORDS | st.text("ab \n\t:#-'\"\\\x85\u2028\ufeff{}[],&*!|>%@`", max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def read(text: str) -> Any:
    return load(text.encode(), "file.yaml").value


def read_by_others(text: str, version: tuple[int, int]) -> Any:
    yaml = cast("Any", YAML(typ="safe", pure=True))
    yaml.version = version
    return yaml.load(text)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types: `1` is neither `1.0` nor `True`, nor `0.0` the same as `-0.0`."""
    return repr(one) == repr(other)


def in_order(value: Any) -> Any:
    """A value with its keys in the order of a file."""
    if isinstance(value, dict):
        return {key: in_order(item) for key, item in sorted(value.items())}
    return [in_order(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_what_is_written_comes_back_and_is_written_the_same_again(value: Any) -> None:
    text = dump(value)
    assert same(read(text), in_order(value))
    assert dump(read(text)) == text


@pytest.mark.parametrize("version", [(1, 1), (1, 2)])
@given(value=VALUES)
def test_readers_of_both_yaml_versions_read_the_same(version: tuple[int, int], value: Any) -> None:
    assert same(in_order(read_by_others(dump(value), version)), in_order(value))


@proves("session:Export-mapping/keys-sorted")
def test_keys_are_sorted_and_lists_keep_their_order() -> None:
    value = {"b": [3, {"z": 1, "a": []}, [1, "two words"]], "a": {}, "B": "yes", "text": "a: b\nc"}
    assert dump(value) == (
        'B: "yes"\na: {}\nb:\n  - 3\n  - a: []\n    z: 1\n  - - 1\n    - two words\ntext: "a: b\\nc"\n'
    )


@pytest.mark.parametrize("length", [999, 1000, 1024, 1025, 5000])
def test_a_long_key_comes_back(length: int) -> None:
    value = {"k" * length: {"ü" * length: "v" * length}}
    assert read(dump(value)) == value
    assert read_by_others(dump(value), (1, 2)) == value


@pytest.mark.parametrize(
    "value", [math.inf, math.nan, {1: "a"}, {None: 1, "a": 2}, "\ud800", {"\udfff": 1}, object(), b"", {1, 2}]
)
def test_what_is_no_json_is_not_written(value: Any) -> None:
    with pytest.raises(Mismatch):
        dump({"a": [value]})


def nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    return value


def test_what_is_nested_too_deeply_is_neither_written_nor_read() -> None:
    assert read(dump(nested(MAX_DEPTH - 1))) == nested(MAX_DEPTH - 1)
    with pytest.raises(Mismatch, match="nested deeper"):
        dump(nested(MAX_DEPTH + 1))
    with pytest.raises(DocumentInvalid, match=r"file\.yaml:2: this is nested deeper"):
        read("\n" + "[" * 300 + "]" * 300)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("\ufeffa: 1\n", {"a": 1}),
        ("a: yes\nb: on\nc: ~\nd:\n", {"a": "yes", "b": "on", "c": None, "d": None}),
        ("a: 2026-03-01\nb: 1:30\nc: 1_000\n", {"a": "2026-03-01", "b": "1:30", "c": "1_000"}),
        ("a: 0x1F\nb: 0o17\nc: -12\nd: 1e3\n", {"a": 31, "b": 15, "c": -12, "d": 1000.0}),
        ("yes: 1\n1: 2\nnull: 3\n.inf: 4\n", {"yes": 1, "1": 2, "null": 3, ".inf": 4}),
        (
            "text: |\n  one\n  two # no comment\nmore: 'it''s'\n",
            {"text": "one\ntwo # no comment\n", "more": "it's"},
        ),
        ("- {a: [1, x y]}\r\n- >-\r\n  folded\r\n  text\r\n", [{"a": [1, "x y"]}, "folded text"]),
    ],
)
def test_what_people_write_is_read(text: str, value: Any) -> None:
    assert same(read(text), value)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: &x 1\n", 1, "anchors"),
        ("a: 1\nb: *x\n", 2, "aliases"),
        ("a: 1\nb: !!python/object:os.system x\n", 2, "tag"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", 4, "second time"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: 1\nb: [1\n", 3, "expected"),
        ("a: 1\nb: \x01\n", 2, "not allowed"),
        ("? [a]\n: b\n", 1, "key"),
        ("a: 1\nb: .inf\n", 2, "number"),
        ("a: " + "9" * 5000, 1, "number"),
    ],
)
def test_what_is_not_read_is_told_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(DocumentInvalid, match=rf"file\.yaml:{line}: .*{what}") as caught:
        read(text)
    assert (caught.value.file, caught.value.line) == ("file.yaml", line)
    assert "\n" not in caught.value.message


def test_what_is_no_utf8_is_told_with_its_line() -> None:
    with pytest.raises(DocumentInvalid, match=r"f:2: it is not UTF-8"):
        load(b"a: 1\nb: \xff\n", "f")


def test_what_is_too_large_is_not_read() -> None:
    with pytest.raises(DocumentInvalid, match=r"f:1: it is larger than 16 MiB"):
        load(b" " * (MAX_BYTES + 1), "f")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 'x # y'\nb: z#w\nc: \"#\"\nd: |\n  # text\n", None),
        ("a: 1\nb: 2 # here\n", 2),
        ("a: |  # here\n  text\n", 1),
        ("a: |\n  text\n# here\nb: 1\n", 3),
        ("a: b\n# here", 2),
        ("a:\n  - 1\n  # here\n  - 2\n", 3),
    ],
)
def test_the_first_comment_is_known(text: str, line: int | None) -> None:
    assert load(text.encode(), "f").comment == line


SIGNS = "ab1 \n\t:-?#,[]{}&*!|>'\"%@`~<=.\\\x00\x85\ufeff"


@given(st.binary(max_size=40) | st.text(SIGNS, max_size=30).map(str.encode) | st.text().map(str.encode))
def test_whatever_a_file_holds_it_is_a_document_or_told_to_be_none(data: bytes) -> None:
    try:
        document = load(data, "f")
    except DocumentInvalid:
        return
    assert same(read(dump(document.value)), in_order(document.value))
