"""What is offered of files, prompts and skills."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from serai.ahp import wire
from serai.ahp.commands import CompletionItem, CompletionsResult
from serai.ahp.types import MessageResourceAttachment, SimpleMessageAttachment
from serai.completions.completion import KIND, items, token_at
from serai.completions.files import FileIndex
from serai.completions.names import Prompt, prompts


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[FileIndex]:
    (tmp_path / "src").mkdir()
    for name in ("src/main.py", "src/logo.png", "my notes.txt", "Makefile"):
        (tmp_path / name).write_text("1")
    index = FileIndex(tmp_path)
    yield index
    await index.close()


async def offered(files: FileIndex, text: str) -> list[CompletionItem]:
    token = token_at(text, len(text))
    assert token is not None
    return items(token, await files.candidates(token.query))


def inserted(items: list[CompletionItem]) -> list[str]:
    return [item.insert_text for item in items]


def found(query: str) -> list[str]:
    return [one.name for one in prompts(query, PROMPTS)]


async def test_a_file_is_offered_with_a_reference_to_it(files: FileIndex, tmp_path: Path) -> None:
    found = await offered(files, "look at @mai")
    assert found[0] == CompletionItem(
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
    result = CompletionsResult(items=found)
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
    files: FileIndex, query: str, text: str, kind: str
) -> None:
    item = (await offered(files, f'@"{query}'))[0]
    assert (item.insert_text, item.attachment.display_kind) == (text, kind)  # pyright: ignore[reportAttributeAccessIssue] - it is a reference


async def test_what_is_gone_is_not_offered(files: FileIndex, tmp_path: Path) -> None:
    assert "@Makefile" in inserted(await offered(files, "@Make"))
    (tmp_path / "Makefile").unlink()
    assert "@Makefile" not in inserted(await offered(files, "@Make"))


async def test_a_leading_dot_and_slash_mean_the_folder_itself(files: FileIndex) -> None:
    assert inserted(await offered(files, "@./src/m"))[0] == "@src/main.py"


PROMPTS = [
    Prompt("review", "Look at changes", "file:///skills/review/SKILL.md", kind="skill"),
    Prompt("rename", "Give another name"),
    Prompt("preview", "See it before"),
    Prompt("rename", "The same name again"),
    Prompt("plan", "Review what to do"),
]


def test_prompts_are_offered_by_their_names_then_by_what_they_say() -> None:
    assert found("re") == ["rename", "rename", "review", "preview", "plan"]
    assert found("REV") == ["review", "preview", "plan"]
    assert len(found("")) == len(PROMPTS)
    assert found("nothing") == []


async def test_a_letter_with_a_sign_is_found_however_it_is_written(tmp_path: Path) -> None:
    for name in ("nfd-e\u0301.txt", "nfc-\u00e9.txt"):
        (tmp_path / name).write_text("1")
    index = FileIndex(tmp_path)
    for query in ("\u00e9", "e\u0301"):
        assert sorted(inserted(await offered(index, f"@{query}"))) == ["@nfc-\u00e9.txt", "@nfd-e\u0301.txt"]
    await index.close()
    assert len(prompts("r\u00e9s", [Prompt("re\u0301sume\u0301")])) == 1


def test_a_prompt_with_a_file_is_attached_by_reference_and_others_by_what_they_say() -> None:
    skill, *_ = prompts("review", PROMPTS)
    assert isinstance(skill.attachment, MessageResourceAttachment)
    assert skill.attachment.uri == "file:///skills/review/SKILL.md"
    assert skill.attachment.meta == {KIND: "skill", "serai.description": "Look at changes"}
    plain, *_ = prompts("rename", PROMPTS)
    assert isinstance(plain.attachment, SimpleMessageAttachment)
    assert plain.attachment.model_representation == "/rename: Give another name"
