"""The most tokens that a request can have: they are reserved for it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from serai.harness.model.client import most_input_tokens
from serai.session.messages import (
    DurableContentPart,
    LlmRequest,
    MediaPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from session.sessions import rows


def request(*content: DurableContentPart, most: int = 100) -> LlmRequest:
    return LlmRequest("x:m", "", rows(("user", content)), max_tokens=most, media={"pages": b"x" * 5000})


@given(st.text(max_size=200))
def test_text_has_no_more_tokens_than_bytes(text: str) -> None:
    more = most_input_tokens(request(TextPart(text=text))) - most_input_tokens(request(TextPart(text="")))
    assert more >= len(text.encode())


@pytest.mark.parametrize(
    "part",
    [
        TextPart(text="x" * 5000),
        ToolCallPart(id="1", name="look", input={"at": "x" * 5000}),
        ToolResultPart(id="1", name="look", output="x" * 5000),
        MediaPart(handle="picture", media_type="image/png"),
        MediaPart(handle="pages", media_type="application/pdf"),
    ],
)
def test_everything_that_is_sent_counts(part: DurableContentPart) -> None:
    assert most_input_tokens(request(part)) > 5000


def test_the_system_prompt_and_the_tools_count() -> None:
    tools = (ToolSpec("look", "d" * 1000, {"type": "object", "description": "s" * 1000}),)
    bare = request()
    assert most_input_tokens(bare._replace(system="p" * 1000, tools=tools)) > most_input_tokens(bare) + 3000
