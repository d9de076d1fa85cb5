"""What is said to an agent, from a history."""

from __future__ import annotations

import asyncio

from pydantic_ai import BinaryContent, CachePoint, DocumentUrl, ImageUrl, TextContent
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

from serai.models.history import Said, downloaded, parts_of, said_in, with_standing


def asked(*texts: str) -> ModelRequest:
    return ModelRequest([UserPromptPart(text) for text in texts])


def answered(text: str, session: str | None = None, provider: str = "serai") -> ModelResponse:
    return ModelResponse([TextPart(text)], provider_name=provider, provider_response_id=session)


def test_a_prompt_is_said_as_it_is() -> None:
    assert said_in([asked("Hello")]) == Said(parts=["Hello"])
    assert said_in([asked("Hello", "there")]).parts == ["Hello\n\nthere"]
    assert said_in([asked("Hello"), asked("there")]).parts == ["Hello\n\nthere"]


def test_system_prompts_at_the_beginning_and_instructions_hold_throughout() -> None:
    first = ModelRequest([SystemPromptPart("Be kind."), UserPromptPart("Hello"), SystemPromptPart("Now.")])
    said = said_in([first], instructions=["\nBe brief.\n", " "])
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
    said = said_in(history)
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
    parts = said_in([shown, answered("Nice."), asked("Why?")]).parts
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
    assert said_in(history, session_id="s1") == Said(parts=["e"])
    assert said_in(history, session_id="s2").has_answers
    assert said_in([asked("a"), answered("b", "s1", "openai"), asked("c")], session_id="s1").has_answers


def test_answers_of_others_in_between_are_told_to_a_session() -> None:
    history: list[ModelMessage] = [asked("a"), answered("b", "s1"), asked("c"), answered("d"), asked("e")]
    said = said_in(history, session_id="s1")
    assert said.has_answers
    [text] = said.parts
    assert text == (
        "This is how the conversation went until now.\n\n"
        "User:\nc\n\nAssistant:\nd\n\nGo on with it. This is said now:\n\ne"
    )


def test_tool_turns_are_left_out() -> None:
    for call, came in (
        (ModelResponse([ToolCallPart("f", {}, "1")]), ModelRequest([ToolReturnPart("f", "x", "1")])),
        (ModelResponse([NativeToolCallPart("f", {}, "1"), NativeToolReturnPart("f", "x", "1")]), asked()),
    ):
        said = said_in([asked("a"), call, came, asked("b")])
        assert said == Said(parts=["a\n\nb"], has_tool_turns=True)
    assert not said_in([asked("a"), answered("b", "s1"), asked("c")], session_id="s1").has_tool_turns


def test_what_is_wrong_with_an_answer_is_said() -> None:
    wrong = RetryFeedbackPart("Try again.", retry=RetryInfo(cause="model_retry"))
    [text] = said_in([ModelRequest([wrong])]).parts
    assert "Try again." in str(text)


def test_what_holds_throughout_is_said_once() -> None:
    said = Said(standing="Be kind.", parts=["Hello"])
    assert with_standing(said, None) == ["Be kind.\n\nHello"]
    assert with_standing(said, "Be kind.") == ["Hello"]
    assert with_standing(said, "Be brief.") == [
        "These instructions hold from now on, instead of the earlier ones:\n\nBe kind.\n\nHello"
    ]
    assert with_standing(Said(parts=["Hello"]), "Be kind.") == [
        "The earlier instructions do not hold any more.\n\nHello"
    ]
    assert with_standing(Said(parts=["Hello"]), None) == ["Hello"]
    assert with_standing(Said(standing="Be kind."), None) == ["Be kind."]


def test_a_command_stays_at_the_beginning() -> None:
    assert with_standing(Said(standing="Be kind.", parts=["/review it"]), None) == ["/review it", "Be kind."]


def test_texts_are_texts_and_marks_are_nothing() -> None:
    assert parts_of("a", {}) == ["a"]
    assert parts_of(["a", TextContent("b"), CachePoint()], {}) == ["a", "b"]


def test_a_text_that_is_not_quite_one_is_still_readable() -> None:
    [part] = parts_of([BinaryContent(b"caf\xe9", media_type="text/plain", identifier="x")], {})
    assert part == {
        "type": "resource",
        "resource": {"uri": "attachment:///x", "mimeType": "text/plain", "text": "caf\ufffd"},
    }


async def test_a_file_that_is_to_be_downloaded_is() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\npng")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        wanted = ImageUrl(f"http://127.0.0.1:{port}/a.png", force_download="allow-local")
        linked = DocumentUrl("https://a.example/b.pdf")
        content = [wanted, linked]
        files = await downloaded([ModelRequest([UserPromptPart(content), UserPromptPart("a")])])
    assert parts_of(content, files) == [
        {"type": "image", "data": "cG5n", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "https://a.example/b.pdf", "name": "b.pdf"},
    ]
