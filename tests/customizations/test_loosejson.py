"""JSON with comments, and where things stand in it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serai.customizations.loosejson import BrokenJson, member_spans, parse, text_range

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1} // end', {"a": 1}),
        ('/* x */ {"a": /* y */ [1, 2,], }', {"a": [1, 2]}),
        ('{"url": "http://x/*y*/", "t": ",]"}', {"url": "http://x/*y*/", "t": ",]"}),
        ('{"a": 1, // one\n /* two */ }', {"a": 1}),
        ('{"a": "\\"// no"}', {"a": '"// no'}),
    ],
)
def test_comments_and_last_commas_are_read_over(text: str, value: Any) -> None:
    assert parse(text) == value


@given(values)
def test_what_is_json_stays_what_it_is(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        assert parse(text) == value
        assert parse(f"// c\n{text}/* d */") == value


@pytest.mark.parametrize(
    ("text", "line"),
    [('{\n"a": 1,\n"b" 2\n}', 3), ("{", 1), ("", 1), ("/* open", 1), ('{"a": NaN}', 1), ("[" * 100_000, 1)],
)
def test_what_is_broken_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(BrokenJson) as caught:
        parse(text)
    assert caught.value.line == line


@pytest.mark.parametrize("piece", ["/*", "//", '"', ",", ", ", "\\", '"\\', "*/", "[", "{}"])
def test_no_input_takes_long(piece: str) -> None:
    began = time.perf_counter()
    with pytest.raises(BrokenJson):
        parse("{" + piece * (500_000 // len(piece)))
    assert time.perf_counter() - began < 2


def test_members_are_found_where_they_stand() -> None:
    text = """{ // "mcpServers"
  "x": {"mcpServers": {"no": 1}},
  "mcpServers": {
    "😀": {"a": [1, {"b": 2}]},
    "two": 3
  }
}"""
    spans = member_spans(text, ("mcpServers",))
    assert {name: text[slice(*span)] for name, span in spans.items()} == {
        "😀": '"😀": {"a": [1, {"b": 2}]}',
        "two": '"two": 3',
    }
    assert set(member_spans(text, ())) == {"x", "mcpServers"}
    where = text_range(text, *spans["😀"])
    assert (where.start.line, where.start.character) == (3, 4)
    assert (where.end.line, where.end.character) == (3, 4 + len('"xx": {"a": [1, {"b": 2}]}'))


@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_every_member_has_its_place(value: dict[str, Any]) -> None:
    text = json.dumps({"k": value}, ensure_ascii=False)
    spans = member_spans(text, ("k",))
    assert set(spans) == set(value)
    for name, span in spans.items():
        assert parse("{" + text[slice(*span)] + "}") == {name: value[name]}
