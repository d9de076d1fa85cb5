"""The answer to the command."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from serai.ahp import wire
from serai.ahp.commands import CompletionItem, CompletionsResult
from serai.ahp.types import MessageResourceAttachment, SimpleMessageAttachment
from serai.completions.completion import KIND, Candidate, complete
from serai.completions.files import FileIndex, FileSource
from serai.completions.names import Prompt, PromptSource


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileSource]:
    (tmp_path / "src").mkdir()
    for name in ("src/main.py", "src/logo.png", "my notes.txt", "Makefile"):
        (tmp_path / name).write_text("1")
    index = FileIndex(tmp_path)
    yield FileSource(index)
    await index.close()


def inserted(items: list[CompletionItem]) -> list[str]:
    return [item.insert_text for item in items]


async def test_a_file_is_offered_with_a_reference_to_it(files: FileSource, tmp_path: Path) -> None:
    items = await complete("look at @mai", 12, [files])
    assert items[0] == CompletionItem(
        insert_text="@src/main.py",
        range_start=8,
        range_end=12,
        attachment=MessageResourceAttachment(
            uri=(tmp_path / "src/main.py").as_uri(),
            label="main.py",
            display_kind="document",
            content_type="text/x-python",
            meta={KIND: "file"},
        ),
    )
    result = CompletionsResult(items=items)
    assert wire.decode(wire.encode(result), CompletionsResult) == result


@pytest.mark.parametrize(
    ("query", "text", "kind"),
    [
        ("logo", "@src/logo.png", "image"),
        ("src", "@src/", "directory"),
        ("my n", '@"my notes.txt"', "document"),
    ],
)
async def test_what_is_offered_says_how_to_show_it(
    files: FileSource, query: str, text: str, kind: str
) -> None:
    mention = f'@"{query}'
    item = (await complete(mention, len(mention), [files]))[0]
    assert (item.insert_text, item.attachment.display_kind) == (text, kind)  # pyright: ignore[reportAttributeAccessIssue] - it is a reference


async def test_what_is_gone_is_not_offered(files: FileSource, tmp_path: Path) -> None:
    assert "@Makefile" in inserted(await complete("@Make", 5, [files]))
    (tmp_path / "Makefile").unlink()
    assert "@Makefile" not in inserted(await complete("@Make", 5, [files]))


async def test_a_leading_dot_and_slash_mean_the_folder_itself(files: FileSource) -> None:
    assert inserted(await complete("@./src/m", 8, [files]))[0] == "@src/main.py"


PROMPTS = [
    Prompt("review", "Look at changes", "file:///skills/review/SKILL.md", kind="skill"),
    Prompt("rename", "Give another name"),
    Prompt("preview", "See it before"),
    Prompt("rename", "The same name again"),
    Prompt("plan", "Review what to do"),
]


async def test_prompts_are_offered_by_their_names_then_by_what_they_say() -> None:
    source = PromptSource(lambda: PROMPTS)
    assert inserted(await complete("/re", 3, [source])) == [
        "/rename",
        "/rename",
        "/review",
        "/preview",
        "/plan",
    ]
    assert inserted(await complete("/REV", 4, [source])) == ["/review", "/preview", "/plan"]
    assert len(await complete("/", 1, [source])) == len(PROMPTS)
    assert await complete("/nothing", 8, [source]) == []


async def test_a_letter_with_a_sign_is_found_however_it_is_written(tmp_path: Path) -> None:
    for name in ("nfd-e\u0301.txt", "nfc-\u00e9.txt"):
        (tmp_path / name).write_text("1")
    index = FileIndex(tmp_path)
    for query in ("\u00e9", "e\u0301"):
        found = inserted(await complete(f"@{query}", len(query) + 1, [FileSource(index)]))
        assert sorted(found) == ["@nfc-\u00e9.txt", "@nfd-e\u0301.txt"]
    await index.close()
    source = PromptSource(lambda: [Prompt("re\u0301sume\u0301")])
    assert len(await complete("/r\u00e9s", 4, [source])) == 1


async def test_a_prompt_with_a_file_is_attached_by_reference_and_others_by_what_they_say() -> None:
    skill, *_ = await complete("/review", 7, [PromptSource(lambda: PROMPTS)])
    assert isinstance(skill.attachment, MessageResourceAttachment)
    assert skill.attachment.uri == "file:///skills/review/SKILL.md"
    assert skill.attachment.meta == {KIND: "skill", "serai.description": "Look at changes"}
    plain, *_ = await complete("/rename", 7, [PromptSource(lambda: PROMPTS)])
    assert isinstance(plain.attachment, SimpleMessageAttachment)
    assert plain.attachment.model_representation == "/rename: Give another name"


async def test_only_sources_of_the_trigger_are_asked_in_their_order() -> None:
    class People:
        trigger = "@"

        async def candidates(self, query: str) -> Sequence[Candidate]:
            return [Candidate(f"{query}{number}", SimpleMessageAttachment(label="x")) for number in range(30)]

    items = await complete("@a", 2, [PromptSource(lambda: PROMPTS), People(), People(), People()])
    assert len(items) == 50
    assert items[0].insert_text == "@a0"
    assert await complete("nothing", 7, [People()]) == []
