from __future__ import annotations

import pytest

from harness.model.workbench import Workbench
from serai.ahp.types import (
    SessionInputSelectedAnswerValue,
    SessionInputSubmitted,
    SessionInputTextAnswerValue,
    ToolCallRunningState,
)
from serai.errors import ToolError
from serai.harness.model.tools.person import AskUser


async def test_the_person_answers_in_their_own_words(bench: Workbench) -> None:
    asking = bench.begin(AskUser, question="Which colour?")
    request = await bench.conversation.request()
    call = await bench.conversation.call(ToolCallRunningState)
    assert request.id == f"{call.tool_call_id}-question"
    value = SessionInputTextAnswerValue(value="blue")
    await bench.conversation.answer({"answer": SessionInputSubmitted(value=value)})
    assert (await asking).text == "blue"


async def test_the_person_chooses_or_says_something_else(bench: Workbench) -> None:
    asking = bench.begin(AskUser, question="Which colour?", options=["red", "green"])
    value = SessionInputSelectedAnswerValue(value="1", freeform_values=["a dark one"])
    await bench.conversation.answer({"answer": SessionInputSubmitted(value=value)})
    assert (await asking).text == "green; a dark one"


async def test_a_person_who_does_not_answer_is_told_of(bench: Workbench) -> None:
    asking = bench.begin(AskUser, question="Which colour?")
    await bench.conversation.answer(None, "decline")
    with pytest.raises(ToolError, match="did not answer"):
        await asking
