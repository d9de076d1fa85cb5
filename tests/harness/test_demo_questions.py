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
from serai.harness.demo.questions import KINDS

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

    async def test_they_use_every_field_that_a_question_can_have(self, demo: Conversation) -> None:
        demo.start("ask")
        request = await demo.request()
        used = {
            f"{type(question).__name__.removeprefix('SessionInput').removesuffix('Question')}.{field}"
            for question in request.questions or ()
            for field in question.__struct_fields__
            if field not in {"extra", "id", "message"} and getattr(question, field) is not None
        }
        fields = {
            "Text": ("title", "required", "format", "min", "max", "default_value"),
            "Number": ("title", "min", "max", "default_value"),
            "Integer": ("title", "min", "max", "default_value"),
            "Boolean": ("title", "default_value"),
            "SingleSelect": ("title", "options", "allow_freeform_input"),
            "MultiSelect": ("title", "options", "allow_freeform_input", "min", "max"),
        }
        assert used == {f"{kind}.{field}" for kind, names in fields.items() for field in names}

    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "url"])
    async def test_ask_kind_asks_that_kind_alone(self, demo: Conversation, kind: str) -> None:
        demo.start(f"ask {kind.upper()}")
        request = await demo.request()
        assert len({type(question) for question in request.questions or ()}) == 1
        assert request.url is None

    async def test_ask_url_asks_to_open_an_address_and_nothing_else(self, demo: Conversation) -> None:
        demo.start("ask url")
        request = await demo.request()
        assert (request.url, request.questions) == ("https://example.com/", None)
        await demo.answer(None)
        assert "Thank you for looking" in prose(await demo.end())

    async def test_each_request_of_a_turn_has_its_own_id(self, demo: Conversation) -> None:
        demo.start("ask boolean; ask boolean")
        first = await demo.request()
        await demo.answer({})
        await demo.heard("session/inputRequested", 2)
        assert (await demo.request()).id != first.id
        await demo.answer({})
        assert (await demo.end()).state == TurnState.COMPLETE


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
        ("kind", "answers"),
        [
            ("text", {}),
            ("text", {"name": SessionInputSkipped()}),
            ("text", {"name": SessionInputSubmitted(value=SessionInputTextAnswerValue(value="A"))}),
            ("number", {"warmth": submitted_number(99)}),
            ("integer", {"nights": submitted_number(1.5)}),
            ("single", {"bread": SessionInputSubmitted(value=SessionInputSelectedAnswerValue(value="cake"))}),
            (
                "multi",
                {"extras": SessionInputSubmitted(value=SessionInputSelectedManyAnswerValue(value=[]))},
            ),
        ],
    )
    async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays(
        self, demo: Conversation, kind: str, answers: dict[str, SessionInputAnswer]
    ) -> None:
        demo.start(f"ask {kind}")
        await demo.answer(answers)
        [reason] = await demo.until(lambda: demo.rejections)
        assert reason.startswith("bad_answer: ")
        assert demo.state.input_requests

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
