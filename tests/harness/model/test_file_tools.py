from __future__ import annotations

from pathlib import Path

from harness.model.workbench import Workbench
from requirements import proves
from serai.ahp.types import FileEdit
from serai.harness.model.tool import Asking, BuiltIn
from serai.harness.model.tools.files import EditFile, ListDirectory, ReadFile, SearchFiles, WriteFile
from serai.session.agent_file import FsScopeTier

ALL: dict[type[BuiltIn], dict[str, str]] = {
    ReadFile: {},
    SearchFiles: {"text": "secret"},
    WriteFile: {"content": "mine"},
    EditFile: {"old": "secret", "new": "mine"},
}


def outside(bench: Workbench) -> Path:
    """A file beside the working directory that nobody may have."""
    folder = bench.folder.parent / "outside"
    folder.mkdir()
    (folder / "notes.txt").write_text("secret")
    return folder / "notes.txt"


# -- what they do ------------------------------------------------------------------------------------------


async def test_a_file_is_read_whole_or_by_its_lines(bench: Workbench) -> None:
    (bench.folder / "poem.txt").write_text("one\ntwo\nthree\n")
    assert (await bench.use(ReadFile, path="poem.txt")).text == "one\ntwo\nthree\n"
    assert (await bench.use(ReadFile, path="./poem.txt", first_line=2, lines=1)).text == "two\n"
    assert "no text" in await bench.refusal(ReadFile, path=_binary(bench))


def _binary(bench: Workbench) -> str:
    (bench.folder / "picture.bin").write_bytes(b"\0\1\2")
    return str(bench.folder / "picture.bin")


async def test_a_directory_is_listed(bench: Workbench) -> None:
    (bench.folder / "src").mkdir()
    (bench.folder / "a.txt").touch()
    assert (await bench.use(ListDirectory)).text == "a.txt\nsrc/"


async def test_a_search_tells_file_and_line_of_each_hit(bench: Workbench) -> None:
    (bench.folder / "src").mkdir()
    (bench.folder / "src" / "a.py").write_text("import os\nimport sys\n")
    (bench.folder / "b.txt").write_text("IMPORT\n")
    (bench.folder / ".git").mkdir()
    (bench.folder / ".git" / "c.py").write_text("import git\n")
    assert (await bench.use(SearchFiles, text="import s")).text == "src/a.py:2: import sys"
    found = await bench.use(SearchFiles, text="import", ignore_case=True)
    assert found.text == "b.txt:1: IMPORT\nsrc/a.py:1: import os\nsrc/a.py:2: import sys"
    assert "nothing" in (await bench.use(SearchFiles, text="import", files="*.txt")).text


async def test_a_file_that_is_written_is_shown_before_and_after(bench: Workbench) -> None:
    output = await bench.use(WriteFile, path="new/notes.txt", content="hello\n")
    assert (bench.folder / "new" / "notes.txt").read_text() == "hello\n"
    [edit] = bench.shown[-1].edits
    assert edit.before is None
    assert await _content(bench, edit, "after") == b"hello\n"
    assert len(output.content) == 1

    await bench.use(EditFile, path="new/notes.txt", old="hello", new="goodbye")
    assert (bench.folder / "new" / "notes.txt").read_text() == "goodbye\n"
    [edit] = bench.shown[-1].edits
    assert await _content(bench, edit, "before") == b"hello\n"
    assert await _content(bench, edit, "after") == b"goodbye\n"


async def _content(bench: Workbench, edit: FileEdit, side: str) -> bytes:
    return await bench.conversation.blob(getattr(edit, side).content.uri)


async def test_an_edit_needs_a_text_that_stands_in_the_file_once(bench: Workbench) -> None:
    (bench.folder / "a.txt").write_text("x x")
    assert "2 times" in await bench.refusal(EditFile, path="a.txt", old="x", new="y")
    assert "not in it" in await bench.refusal(EditFile, path="a.txt", old="z", new="y")
    assert "no such file" in await bench.refusal(EditFile, path="b.txt", old="z", new="y")
    await bench.use(EditFile, path="a.txt", old="x", new="y", everywhere=True)
    assert (bench.folder / "a.txt").read_text() == "y y"


async def test_what_changed_after_it_was_shown_is_not_overwritten(bench: Workbench) -> None:
    file = bench.folder / "a.txt"
    file.write_text("mine")
    bench.between = lambda: file.write_text("the person's own words")
    assert "has changed" in await bench.refusal(WriteFile, path="a.txt", content="new")
    assert file.read_text() == "the person's own words"


def test_reading_asks_nobody_and_writing_asks_unless_it_is_granted() -> None:
    assert {tool.asking for tool in (ReadFile, ListDirectory, SearchFiles)} == {Asking.NEVER}
    assert {tool.asking for tool in (WriteFile, EditFile)} == {Asking.UNLESS_GRANTED}
    patterns = [WriteFile(path=path, content="").pattern() for path in ("src/a", "./src//b")]
    assert patterns == ["src/*", "src/*"]


# -- how far they reach ------------------------------------------------------------------------------------


@proves("session:SessionContext.fsScopeTier")
async def test_a_tier_says_how_far_the_tools_reach(bench: Workbench) -> None:
    file = outside(bench)
    beside = f"../outside/{file.name}"
    assert "outside" in await bench.refusal(ReadFile, path=beside)
    bench.tier = FsScopeTier.PROJECT
    assert "outside" in await bench.refusal(ReadFile, path=beside)
    (bench.folder.parent / ".git").mkdir()
    assert (await bench.use(ReadFile, path=beside)).text == "secret"
    (bench.folder / ".git").mkdir()
    assert "outside" in await bench.refusal(ReadFile, path=beside)
    bench.tier = FsScopeTier.FULL
    assert (await bench.use(ReadFile, path=str(file))).text == "secret"


async def test_a_path_or_a_link_that_leads_out_is_refused(bench: Workbench) -> None:
    file = outside(bench)
    (bench.folder / "link").symlink_to(file)
    (bench.folder / "folder").symlink_to(file.parent)
    up = f"../outside/{file.name}"
    for tool, more in ALL.items():
        for path in (up, f"src/../{up}", str(file), "link", f"folder/{file.name}"):
            assert "outside of what may be" in await bench.refusal(tool, path=path, **more)
    assert file.read_text() == "secret"


async def test_a_folder_that_is_swapped_for_a_link_is_refused(bench: Workbench) -> None:
    file = outside(bench)
    inner, away = bench.folder / "src", bench.folder / "away"
    inner.mkdir()
    (inner / file.name).write_text("secret of the project")

    def swap() -> None:
        inner.rename(away)
        inner.symlink_to(file.parent)

    bench.between = swap
    for tool, more in ALL.items():
        path = "src" if tool is SearchFiles else f"src/{file.name}"
        assert "outside of what may be" in await bench.refusal(tool, path=path, **more)
        inner.unlink()
        away.rename(inner)
    assert file.read_text() == "secret"


async def test_a_file_with_a_second_name_is_refused(bench: Workbench) -> None:
    file = outside(bench)
    (bench.folder / "second").hardlink_to(file)
    for tool, more in ALL.items():
        if tool is not SearchFiles:
            assert "hard links" in await bench.refusal(tool, path="second", **more)
    assert "nothing" in (await bench.use(SearchFiles, text="secret")).text
    assert file.read_text() == "secret"


async def test_views_of_the_kernel_and_the_home_of_serai_are_refused_in_every_tier(bench: Workbench) -> None:
    bench.tier = FsScopeTier.FULL
    (bench.folder / "link").symlink_to(bench.home)
    for tool, more in ALL.items():
        for path in ("/proc/self/environ", "/proc/self", "/proc/1/../self/mem"):
            assert "view of the system" in await bench.refusal(tool, path=path, **more)
        for path in (bench.home / "history.db", bench.folder / "link" / "history.db", bench.home / "new"):
            assert "belongs to the host itself" in await bench.refusal(tool, path=str(path), **more)
    assert (bench.home / "history.db").read_text() == "sessions"
    found = await bench.use(SearchFiles, path=str(bench.home.parent), text="sessions")
    assert "history.db" not in found.text
