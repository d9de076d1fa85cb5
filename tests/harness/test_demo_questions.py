"""What the demo agent asks, and what it makes of the answers."""

from __future__ import annotations

import pytest

from harness.conversation import Conversation, prose
from serai.ahp.types import (
    SessionInputAnswer,
    SessionInputBooleanAnswerValue,
    SessionInputBooleanQuestion,
    SessionInputIntegerQuestion,
    SessionInputMultiSelectQuestion,
    SessionInputNumberAnswerValue,
    SessionInputNumberQuestion,
    SessionInputSelectedAnswerValue,
    SessionInputSelectedManyAnswerValue,
    SessionInputSingleSelectQuestion,
    SessionInputSkipped,
    SessionInputSubmitted,
    SessionInputTextAnswerValue,
    SessionInputTextQuestion,
    TurnState,
)

NAME: SessionInputAnswer = SessionInputSubmitted(value=SessionInputTextAnswerValue(value="Ada"))


def submitted_number(value: float) -> SessionInputAnswer:
    return SessionInputSubmitted(value=SessionInputNumberAnswerValue(value=value))


class TestTheQuestions:
    async def test_ask_has_a_question_of_every_kind_and_an_address(self, demo: Conversation) -> None:
        demo.start("ask")
        request = await demo.request()
        assert {type(question) for question in request.questions or ()} == {
            SessionInputTextQuestion,
            SessionInputNumberQuestion,
            SessionInputIntegerQuestion,
            SessionInputBooleanQuestion,
            SessionInputSingleSelectQuestion,
            SessionInputMultiSelectQuestion,
        }
        assert request.url
        assert request.message

    async def test_ask_url_asks_to_open_an_address_and_nothing_else(self, demo: Conversation) -> None:
        demo.start("ask url")
        request = await demo.request()
        assert (request.url, request.questions) == ("https://example.com/", None)
        await demo.answer(None)
        assert "Thank you for looking" in prose(await demo.end())


class TestTheAnswers:
    async def test_all_of_them_are_repeated(self, demo: Conversation) -> None:
        demo.start("ask")
        await demo.answer(
            {
                "name": NAME,
                "email": SessionInputSubmitted(value=SessionInputTextAnswerValue(value="ada@example.com")),
                "warmth": submitted_number(20.5),
                "nights": submitted_number(3),
                "camel": SessionInputSubmitted(value=SessionInputBooleanAnswerValue(value=True)),
                "bread": SessionInputSubmitted(value=SessionInputSelectedAnswerValue(value="rye")),
                "extras": SessionInputSubmitted(
                    value=SessionInputSelectedManyAnswerValue(
                        value=["tea", "lamp"], freeform_values=["a window"]
                    )
                ),
            }
        )
        assert prose(await demo.end()).splitlines()[2:] == [
            "- Name: “Ada”",
            "- Address: “ada@example.com”",
            "- Warmth: 20.5",
            "- Nights: 3",
            "- Camel: yes",
            "- Bread: Rye bread",
            "- Extras: Tea, A lamp, “a window”",
        ]

    async def test_skipped_and_missing_ones_are_told_apart(self, demo: Conversation) -> None:
        demo.start("ask")
        await demo.answer(
            {
                "name": NAME,
                "email": SessionInputSkipped(),
                "warmth": SessionInputSkipped(freeform_values=["as it is"]),
                "bread": SessionInputSubmitted(
                    value=SessionInputSelectedAnswerValue(value="", freeform_values=["barley"])
                ),
            }
        )
        assert prose(await demo.end()).splitlines()[2:] == [
            "- Name: “Ada”",
            "- Address: skipped",
            "- Warmth: skipped (“as it is”)",
            "- Nights: no answer, so I take 2",
            "- Camel: no answer, so I take no",
            "- Bread: “barley”",
            "- Extras: no answer",
        ]

    @pytest.mark.parametrize(
        ("response", "said"),
        [("decline", "You would rather not say"), ("cancel", "You closed the questions")],
    )
    async def test_nobody_has_to_answer(self, demo: Conversation, response: str, said: str) -> None:
        demo.start("ask")
        await demo.answer(None, response)
        turn = await demo.end()
        assert turn.state == TurnState.COMPLETE
        assert said in prose(turn)
