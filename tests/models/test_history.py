"""What is said to an agent, from a history."""

from __future__ import annotations

from pydantic_ai import CachePoint, ImageUrl, TextContent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from serai.models.history import AgentPrompt, parts_of, prompt_for, with_instructions


def asked(*texts: str) -> ModelRequest:
    return ModelRequest([UserPromptPart(text) for text in texts])


def answered(text: str, session: str | None = None, provider: str = "serai") -> ModelResponse:
    return ModelResponse([TextPart(text)], provider_name=provider, provider_response_id=session)


def test_a_prompt_is_said_as_it_is() -> None:
    assert prompt_for([asked("Hello")]) == AgentPrompt(parts=["Hello"])
    assert prompt_for([asked("Hello", "there")]).parts == ["Hello\n\nthere"]
    assert prompt_for([asked("Hello"), asked("there")]).parts == ["Hello\n\nthere"]


def test_system_prompts_at_the_beginning_and_instructions_hold_throughout() -> None:
    first = ModelRequest([SystemPromptPart("Be kind."), UserPromptPart("Hello"), SystemPromptPart("Now.")])
    said = prompt_for([first], instructions=["\nBe brief.\n", " "])
    assert (said.standing, said.parts) == ("Be kind.\n\nBe brief.", ["Hello\n\nNow."])
    assert isinstance(first.parts[0], SystemPromptPart)  # the history itself is not touched


def test_answers_that_are_not_known_are_told() -> None:
    history: list[ModelMessage] = [
        asked("Hello"),
        answered("Hi!"),
        asked("Name?"),
        ModelResponse([ThinkingPart("hm"), TextPart("Hal")]),
        asked("Again?"),
    ]
    said = prompt_for(history)
    assert said.has_answers
    [text] = said.parts
    assert text == (
        "This is how the conversation went until now.\n\n"
        "User:\nHello\n\nAssistant:\nHi!\n\n"
        "User:\nName?\n\nAssistant:\nHal\n\n"
        "Go on with it. This is said now:\n\nAgain?"
    )


def test_a_picture_stays_where_it_was() -> None:
    shown = ModelRequest([UserPromptPart(["Look:", ImageUrl("https://a.example/b.png")])])
    parts = prompt_for([shown, answered("Nice."), asked("Why?")]).parts
    assert parts[0] == "This is how the conversation went until now.\n\nUser:\nLook:"
    assert parts[1] == {"type": "resource_link", "uri": "https://a.example/b.png", "name": "b.png"}
    assert parts[2] == "Assistant:\nNice.\n\nGo on with it. This is said now:\n\nWhy?"


def test_a_session_knows_all_up_to_its_own_last_answer() -> None:
    history: list[ModelMessage] = [
        asked("a"),
        answered("b", "s1"),
        asked("c"),
        answered("d", "s1"),
        asked("e"),
    ]
    assert prompt_for(history, session_id="s1") == AgentPrompt(parts=["e"])
    assert prompt_for(history, session_id="s2").has_answers
    assert prompt_for([asked("a"), answered("b", "s1", "openai"), asked("c")], session_id="s1").has_answers


def test_tool_turns_are_left_out() -> None:
    for call, came in (
        (ModelResponse([ToolCallPart("f", {}, "1")]), ModelRequest([ToolReturnPart("f", "x", "1")])),
        (ModelResponse([NativeToolCallPart("f", {}, "1"), NativeToolReturnPart("f", "x", "1")]), asked()),
    ):
        said = prompt_for([asked("a"), call, came, asked("b")])
        assert said == AgentPrompt(parts=["a\n\nb"], has_tool_turns=True)
    assert not prompt_for([asked("a"), answered("b", "s1"), asked("c")], session_id="s1").has_tool_turns


def test_what_is_wrong_with_an_answer_is_said() -> None:
    wrong = RetryFeedbackPart("Try again.", retry=RetryInfo(cause="model_retry"))
    [text] = prompt_for([ModelRequest([wrong])]).parts
    assert "Try again." in str(text)


def test_a_command_stays_at_the_beginning() -> None:
    assert with_instructions(AgentPrompt(standing="Be kind.", parts=["/review it"]), None) == [
        "/review it",
        "Be kind.",
    ]


def test_texts_are_texts_and_marks_are_nothing() -> None:
    assert parts_of("a") == ["a"]
    assert parts_of(["a", TextContent("b"), CachePoint()]) == ["a", "b"]
