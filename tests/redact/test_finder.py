"""The quick ways through a text find what looking at every place finds."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, strategies as st

from redact.test_shapes import PEM, PROVIDER_KEYS, rnd
from redact.test_streams import FRAGMENTS, cuts, split
from serai.redact import Redactor
from serai.redact.managed import SHORTEST, ManagedValues

# What terminals and agents write, with much in it that is almost a credential.
ORDINARY = [
    "the quick brown fox jumps over the lazy dog, again and again and again\r\n",
    "drwxr-xr-x 2 root root 4096 2024-05-01 12:03 some_long-name.with-dots_and_more-of-it\r\n",
    "2024-05-01T12:00:03.123Z INFO [worker-7] request_id=00a1b2c3d4 path=/api/v1/items took=91ms\r\n",
    "def token_count(self, key: str = 'secret_name') -> dict[str, int]:  # see https://example.org/a?b=c\r\n",
    "\x1b[32mok\x1b[0m  tests/test_fox.py::test_jumps[once] 🦊 \x1b[2m0.01 s\x1b[0m\r\n",
    "-" * 70 + "\r\n",
    "Basic training, bearer of news: KEY=>value passwd:x:0:0:root --no-color --token-file=/etc/some/path\r\n",
]
fillers = st.integers(0, 1 << 30).map(lambda seed: _filler(random.Random(seed)))


def _filler(dice: random.Random) -> str:
    text = "".join(dice.choices(ORDINARY, k=dice.randint(1, 60)))
    return text[dice.randint(0, 80) :]


parts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), fillers), max_size=8)
long_texts = parts.map("".join)


def bit_by_bit(text: str) -> str:
    """What a stream makes of a text that comes in pieces too small for the quick ways."""
    stream = Redactor().stream()
    pieces = [text[place : place + 100] for place in range(0, len(text), 100)]
    return "".join([*map(stream.feed, pieces), stream.flush()])


@given(text=long_texts)
def test_much_text_is_searched_as_little_text_is(text: str) -> None:
    assert Redactor().redact(text) == bit_by_bit(text)


@pytest.mark.parametrize("at", [1, 60, 4000, 4095, 4096, 4097, 9000])
def test_a_credential_is_found_wherever_it_stands(at: int) -> None:
    for key in (*PROVIDER_KEYS, PEM, f"Bearer {rnd(30)}", f"api_KEY = '{rnd(30)}'", f"secret:{rnd(30)}"):
        before, after = ("words and words " * 1000)[: at - 1] + "\n", " and words" * 500
        masked = Redactor().redact(before + key + after)
        assert masked.startswith(before)
        assert masked.endswith(after)
        assert key not in masked


@given(texts=parts, at=cuts, data=st.data())
def test_large_pieces_give_what_small_pieces_give(
    texts: list[str], at: list[int], data: st.DataObject
) -> None:
    values = {"ONE": rnd(30), "TWO": "correct horse battery", "THREE": rnd(8)}
    planted = data.draw(st.lists(st.sampled_from(sorted(values.values())), max_size=3))
    text = "".join(texts + planted)
    redactor = Redactor(values)
    whole, pieces, small = redactor.redact(text), redactor.stream(), redactor.stream()
    assert "".join([*map(pieces.feed, split(text, at)), pieces.flush()]) == whole
    few = (text[place : place + 100] for place in range(0, len(text), 100))
    assert "".join([*map(small.feed, few), small.flush()]) == whole
    assert not any(value in whole for value in values.values())


@given(
    value=st.text(string.ascii_letters + string.digits + "-_/+= é🙂", min_size=SHORTEST, max_size=80),
    before=st.integers(0, 3000),
    after=st.integers(0, 3000),
)
def test_much_text_is_not_quiet_with_a_value_in_it(value: str, before: int, after: int) -> None:
    values = ManagedValues({value: "ONE", rnd(40): "TWO"})
    filler = "".join(ORDINARY) * 8
    text = filler[:before] + value + filler[:after]
    assert not values.is_quiet(text)
    assert value not in values.redact(text)
    half = text[: before + max(SHORTEST, len(value) // 2 + 1)]
    assert not values.is_quiet(half)
