"""References in prompts, and text that only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from requirements import proves
from serai.errors import Mismatch
from serai.session.workflow import neutralise, references, render

TEXTS = st.text(st.sampled_from("{} aé\n")) | st.text()


@proves("session:Export-mapping/openers-neutralised")
@given(TEXTS)
def test_neutralised_text_has_no_reference_and_comes_back(text: str) -> None:
    harmless = neutralise(text)
    assert "{{" not in harmless
    assert render(harmless, {}) == text


@pytest.mark.parametrize(
    ("text", "harmless"),
    [("{{input}}", "{ {input}}"), ("{ {", "{  {"), ("{{{", "{ { {"), ("{a} {", "{a} {"), ("}} {", "}} {")],
)
def test_an_opener_gets_one_space_more(text: str, harmless: str) -> None:
    assert neutralise(text) == harmless


def test_references_are_replaced_and_what_stands_in_a_value_is_not() -> None:
    values = {"input": "{{ctx.name}} { {", "ctx.name": "Ada", "turn-1.output": "done"}
    template = "{{input}} by {{ ctx.name }}: {{turn-1.output}} { {input}}"
    assert render(template, values) == "{{ctx.name}} { { by Ada: done {{input}}"
    assert list(references(template)) == ["input", "ctx.name", "turn-1.output"]


@pytest.mark.parametrize("template", ["{{ctx.other}}", "{{turn-2.output}}", "{{what}}", "{{", "{{{input}}}"])
def test_what_has_no_value_is_an_error(template: str) -> None:
    with pytest.raises(Mismatch):
        render(template, {"input": "x", "ctx.name": "Ada"})
