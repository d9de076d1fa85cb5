"""Frontmatter, as YAML has it and as people write it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from serai.customizations import frontmatter
from serai.customizations.frontmatter import BrokenText, first_paragraph, take_apart


def read(text: str) -> tuple[dict[str, Any], str]:
    return take_apart("a.md", text)


def fields(text: str) -> dict[str, Any]:
    return read(f"---\n{text}\n---\nBody.\n")[0]


def test_a_file_is_taken_apart() -> None:
    assert read("---\nname: x\nlist:\n  - a\n  - 'b'\nblock: |\n  one\n  two\n---\nBody.\n") == (
        {"name": "x", "list": ["a", "b"], "block": "one\ntwo\n"},
        "Body.\n",
    )
    assert read("---\r\nname: x\r\n---\r\nBody.\r\n") == ({"name": "x"}, "Body.\r\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x: yes", "yes"),
        ("x: 'true'", "true"),
        ("x: 3.10", "3.10"),
        ("x: 2024-01-02", "2024-01-02"),
        ("x: !!python/object:os.system a", "a"),
        ("x: [a, {b: c}]", ["a", {"b": "c"}]),
        ('x: "a\\u00e9"', "aé"),
        ("x: a # said", "a"),
        ("x: >\n  a\n  b", "a b\n"),
        # What is not quite YAML is read as it was meant.
        ("x: *.ts", "*.ts"),
        ("x: **/*.ts,  src/**/*.py", "**/*.ts,  src/**/*.py"),
        ("x: {a,b}/*.ts", "{a,b}/*.ts"),
        ("x: Use when: always", "Use when: always"),
        ("x: it's: so", "it's: so"),
        ("x: @scope/name", "@scope/name"),
        ("x: [file] [count]", "[file] [count]"),
        ("x: [a, b] # said: so", ["a", "b"]),
    ],
)
def test_values_are_text_and_lists_whatever_stands_beside_them(text: str, value: Any) -> None:
    assert fields(text) == {"x": value}
    assert fields(f"{text}\nlist:\n  - a") == {"x": value, "list": ["a"]}


@pytest.mark.parametrize(
    ("text", "line"),
    [("name: x\nlist: [a", 3), ("name: x\nname: y", 3), ("just text", 2), ("x: 'open", 2), ("a:\n\tb: c", 3)],
)
def test_what_is_broken_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(BrokenText) as caught:
        fields(text)
    assert abs((caught.value.line or 0) - line) <= 1
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["a: " + "[" * 8000, "a: " + "{a: " * 4000, "- " * 8000, "name: " + "n" * 20_000]
)
def test_what_would_take_long_is_refused(text: str) -> None:
    with pytest.raises(BrokenText):
        fields(text)
    with pytest.raises(BrokenText, match="no end"):
        read("---\nname: x\n")


line = st.one_of(
    st.from_regex(r"\A[a-c]: [ -~]{0,12}\Z"),
    st.from_regex(r"\A[a-c]: [A-Za-z:,*/'\"{} -]{1,12}\Z"),
    st.sampled_from(["a: true", 'c: "x"', "a: *.ts", "b: x: y", "c: True ", "a:", "b: 1.0", "c: 012"]),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(line, min_size=1, max_size=3))
def test_the_short_way_reads_what_the_parser_reads(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    if all(map(frontmatter._PLAIN.fullmatch, lines)) and len({each[0] for each in lines}) == len(lines):
        assert fields(text) == frontmatter._yaml(frontmatter._LOOSE.sub(frontmatter._quoted, text))


@pytest.mark.parametrize(
    ("body", "about"),
    [
        ("# Title\n\nFirst line,\nsecond line.\n\nMore.\n", "First line, second line."),
        ("<!-- x -->\n\nText.", "Text."),
        ("# Only a title\n", "Only a title"),
        ("", None),
        ("word " * 200, ("word " * 60)[:299].rstrip() + "…"),
    ],
)
def test_a_text_is_about_its_first_paragraph(body: str, about: str | None) -> None:
    assert first_paragraph(body) == about
