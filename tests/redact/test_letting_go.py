"""Text that stops for a while: a mere beginning of a secret is shown, and what follows of it is masked."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from redact.test_shapes import PROVIDER_KEYS
from redact.test_streams import FRAGMENTS, cuts, gaps, known, shapely, split
from serai.redact import Redactor, StreamRedactor

MASK = re.compile(r"\[(?:secret|masked:[a-z-]+|secret:\w+)\]")
quiet = st.sets(st.integers(0, 60))
"""After which of the pieces the text stops for a while."""

typed = st.lists(
    st.sampled_from([*FRAGMENTS, "--name ", "--name=", "--token-count ", "git", "gh", "--", "e", "r8"]),
    max_size=10,
).map("".join)


def shown(stream: StreamRedactor, pieces: list[str], silences: set[int]) -> str:
    """What is shown of a text that comes in pieces, some of them followed by silence."""
    out: list[str] = []
    for number, piece in enumerate(pieces):
        out.append(stream.feed(piece))
        if number in silences:
            out.append(stream.let_go())
            assert stream.let_go() == ""
    return "".join([*out, stream.flush()])


def is_glimpse(out: str, whole: str) -> bool:
    """Whether a text is another one with no more than a glimpse added before each of its masks.

    That is three characters of a known value, or letters in an address.
    """
    kept = [re.escape(part) for part in MASK.split(whole)]
    masks = [re.escape(mask) for mask in MASK.findall(whole)]
    glimpse = r"(?:.{0,3}|(?<=://)[^:0-9]*)"
    expression = kept[0] + "".join(
        f"{glimpse}{mask}{part}" for mask, part in zip(masks, kept[1:], strict=True)
    )
    return re.fullmatch(expression, out, re.DOTALL) is not None


@given(data=st.data(), secrets=known, at=cuts, silences=quiet)
def test_at_most_three_characters_of_a_known_value_are_shown_before_its_mask(
    data: st.DataObject, secrets: dict[str, str], at: list[int], silences: set[int]
) -> None:
    embedded = st.lists(st.one_of(gaps, st.sampled_from(sorted(secrets.values()))), max_size=8)
    text = "".join(data.draw(embedded))
    redactor = Redactor(secrets)
    out = shown(redactor.stream(observed=False), split(text, at), silences)
    assert is_glimpse(out, redactor.redact(text, observed=False))


@given(text=typed, at=cuts, silences=quiet)
def test_at_most_three_characters_of_a_credential_are_shown_before_its_mask(
    text: str, at: list[int], silences: set[int]
) -> None:
    redactor = Redactor()
    assert is_glimpse(shown(redactor.stream(), split(text, at), silences), redactor.redact(text))


@given(text=st.one_of(st.text(), shapely), secrets=known, at=cuts, silences=quiet)
def test_text_without_secrets_is_complete(
    text: str, secrets: dict[str, str], at: list[int], silences: set[int]
) -> None:
    redactor = Redactor(secrets)
    if redactor.redact(text) == text:
        assert shown(redactor.stream(), split(text, at), silences) == text


# -- what a person types, and what a program asks ----------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("git", "sk", "--", "echo", "e", "gh", "-", "Type s", "Which? e", "pip install pypi"),
        *("ls --all --name r2d2-branch", "git clone https://github.com/a/b"),
    ],
)
def test_what_is_typed_is_shown_key_by_key(text: str) -> None:
    stream = Redactor({"KEY": "sky-high-secret", "OTHER": "echelons-of-it"}).stream()
    out = ""
    for number, key in enumerate(text, 1):
        out += stream.feed(key) + stream.let_go()
        assert (out, stream.held) == (text[:number], 0)


@pytest.mark.parametrize(("key", "masked"), PROVIDER_KEYS.items())
def test_a_key_that_is_typed_is_masked_after_its_beginning(key: str, masked: str) -> None:
    stream = Redactor().stream()
    assert "".join(stream.feed(char) + stream.let_go() for char in f"{key} ") == f"{masked} "


def test_a_known_value_is_masked_from_where_it_was_let_go() -> None:
    stream = Redactor({"X": "abcdefghijkl", "Y": "bcd-efgh-ijk"}).stream()
    assert (stream.feed("ab"), stream.let_go(), stream.held) == ("", "ab", 0)
    assert stream.feed("cdefghijkl.") == "[secret:X]."
    assert stream.feed("abc") + stream.let_go() == "abc"
    assert (stream.feed("d"), stream.let_go(), stream.held) == ("", "", 1)
    assert stream.feed("-e") == ""  # it is the other one, of which two characters are out
    assert stream.feed("fgh-ijk") == "[secret:Y]"
    assert stream.feed("abc") + stream.let_go() + stream.feed("x") + stream.flush() == "abcx"


def test_more_than_a_beginning_waits_for_more() -> None:
    stream = Redactor({"X": "abcdefghijkl"}).stream()
    for text in ("abcd", "ghp_a", "github_pat_x", "token=ab", "password: x", "://me:p", "://t0", "Bearer a"):
        before = stream.feed(text)
        assert stream.held, text
        assert (stream.let_go(), before + stream.flush()) == ("", text)
