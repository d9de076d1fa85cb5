"""Frontmatter, as YAML has it and as people write it."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serai.customizations import frontmatter
from serai.customizations.frontmatter import MAX_FRONTMATTER, Broken, Value, first_paragraph, read


def fields(text: str) -> dict[str, Value]:
    return read(f"---\n{text}\n---\nBody.\n").fields


def test_a_file_is_taken_apart() -> None:
    document = read("---\nname: x\nlist:\n  - a\n  - 'b'\nblock: |\n  one\n  two\n---\nBody.\n")
    assert document.fields == {"name": "x", "list": ["a", "b"], "block": "one\ntwo\n"}
    assert document.body == "Body.\n"


@pytest.mark.parametrize("text", ["", "Body.\n", "# Title\n---\nname: x\n---\n", "--- \t-\n"])
def test_without_frontmatter_all_is_body(text: str) -> None:
    assert read(text) == ({}, text)


def test_lines_of_windows_are_read() -> None:
    assert read("---\r\nname: x\r\ndescription: y z\r\n---\r\nBody.\r\n") == (
        {"name": "x", "description": "y z"},
        "Body.\r\n",
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x: yes", "yes"),
        ("x: true", True),
        ("x: 'true'", "true"),
        ("x:", None),
        ("x: ~", None),
        ("x: 3.10", "3.10"),
        ("x: 012", "012"),
        ("x: 2024-01-02", "2024-01-02"),
        ("x: !!str true", "true"),
        ("x: [a, {b: c}]", ["a", {"b": "c"}]),
        ('x: "a\\u00e9"', "aé"),
        ("x: a # said", "a"),
        ("x: >\n  a\n  b", "a b\n"),
    ],
)
def test_values_are_those_of_yaml_1_2_and_numbers_and_dates_stay_text(text: str, value: Value) -> None:
    assert fields(text) == {"x": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x: *.ts", "*.ts"),
        ("x: **/*.ts,  src/**/*.py", "**/*.ts,  src/**/*.py"),
        ("x: {a,b}/*.ts", "{a,b}/*.ts"),
        ("x: Use when: always", "Use when: always"),
        ("x: it's: so", "it's: so"),
        ("x: @scope/name", "@scope/name"),
        ("x: `code`", "`code`"),
        ("x: [file] [count]", "[file] [count]"),
        ("x: [a, b] <more>", "[a, b] <more>"),
        ("x: [a]b: [c]", "[a]b: [c]"),
        ("x:\ty z", "y z"),
        ("x: \t [a, b]", ["a", "b"]),
        ("x:\t'a: b'", "a: b"),
        ("x:\tUse when: always", "Use when: always"),
        ("x:\t", None),
    ],
)
def test_what_is_not_quite_yaml_is_read_as_it_was_meant(text: str, value: Value) -> None:
    assert fields(text) == {"x": value}
    assert fields(f"{text}\nlist:\n  - a") == {"x": value, "list": ["a"]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x: [a, [b], {c: d}] # said", ["a", ["b"], {"c": "d"}]),
        ("x: [a, b] # said: so", ["a", "b"]),
        ('x: ["a]", b]', ["a]", "b"]),
        ("x: [a,\n  b]", ["a", "b"]),
    ],
)
def test_a_list_stays_one_beside_what_is_not_quite_yaml(text: str, value: Value) -> None:
    assert fields(f"{text}\ny: [c] [d]\nz:\t*.ts") == {"x": value, "y": "[c] [d]", "z": "*.ts"}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("name: x\nlist: [a", 3, "expected"),
        ("name: x\nname: y", 3, "'name' is there twice"),
        ("just text", 2, "no list of fields"),
        ("- a\n- b", 2, "no list of fields"),
        ("a: &x {k: v}\nb:\n  - *x", 4, "aliases"),
        ("[a, b]: c", 2, "name is no text"),
        ("x: 'open", 2, "end of stream"),
        ("a:\n\tb: c", 3, "tab|token"),
    ],
)
def test_what_is_broken_is_told_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(Broken, match=problem) as caught:
        fields(text)
    assert abs(caught.value.line - line) <= 1
    assert "\n" not in caught.value.problem


def test_frontmatter_without_an_end_is_told() -> None:
    with pytest.raises(Broken, match="no end"):
        read("---\nname: x\n")


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 8000,
        "a: " + "{a: " * 4000,
        "- " * 8000,
        "? " * 8000,
        "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a, *a, *a]\n" for n in range(50)),
        "a: &a {k: v}\nb: &b {<<: [*a, *a, *a]}\nc: {<<: [*b, *b, *b]}",
        "x: [\n" + "a,\n" * MAX_FRONTMATTER,
        "name: " + "n" * MAX_FRONTMATTER,
    ],
)
def test_what_would_take_long_is_refused_at_once(text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(Broken):
        fields(text)
    assert time.perf_counter() - began < 2


line = st.one_of(
    st.from_regex(r"\A[a-c]: [ -~]{0,12}\Z"),
    st.from_regex(r"\A[a-c]: [A-Za-z:,*/'\"{} -]{1,12}\Z"),
    st.sampled_from(["a: true", "b: null", 'c: "x"', "a: *.ts", "b: x: y", "c: True "]),
)


@given(st.lists(line, min_size=1, max_size=3))
def test_the_short_way_reads_what_the_long_way_reads(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    short = frontmatter._plain_fields(text)
    if short is not None:
        assert short == frontmatter._yaml_fields(text)


@given(st.text(max_size=200))
def test_nothing_else_is_raised(text: str) -> None:
    with suppress(Broken):
        fields(text)


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
