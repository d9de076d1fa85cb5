"""Fetching the files of a plugin from a client, whatever it answers."""

from __future__ import annotations

import asyncio
import base64
from typing import Any
from urllib.parse import unquote

import pytest

from serai.ahp import commands as c
from serai.errors import FileUnreadable, SeraiError
from serai.host.customizations import plugins as fetching
from serai.host.customizations.plugins import Ask, PluginFetch

BASE = "virtual://plugin"


async def fetch_files(ask: Ask, uri: str) -> PluginFetch:
    fetch = PluginFetch(ask, uri)
    await fetch.run()
    return fetch


class Shelf:
    """A client with some files. Values that are errors are raised, others are answers as they are."""

    def __init__(self, files: dict[str, str | SeraiError | c.ResourceReadResult]) -> None:
        self.files = files
        self.asked: list[str] = []
        self.under_way = 0
        self.most = 0

    async def ask(self, method: str, params: Any) -> Any:
        self.asked.append(params.uri)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        path = unquote(params.uri.removeprefix(BASE).strip("/"))
        return self.read(path) if method == "resourceRead" else self.list(path)

    def read(self, path: str) -> c.ResourceReadResult:
        content = self.files[path]
        if isinstance(content, SeraiError):
            raise content
        return content if not isinstance(content, str) else text(content)

    def list(self, path: str) -> c.ResourceListResult:
        below = f"{path}/" if path else ""
        names = {name.removeprefix(below).split("/")[0] for name in self.files if name.startswith(below)}
        kinds = {name: "file" if f"{below}{name}" in self.files else "directory" for name in names}
        return c.ResourceListResult(entries=[c.DirectoryEntry(name=n, type=k) for n, k in kinds.items()])


def text(data: str, encoding: str = "utf-8") -> c.ResourceReadResult:
    return c.ResourceReadResult(data=data, encoding=encoding)


async def test_the_files_that_say_something_are_fetched() -> None:
    shelf = Shelf(
        {
            ".plugin/plugin.json": "{}",
            "skills/a b/SKILL.md": "ä",
            "rules/r.MDC": text(base64.b64encode(b"r").decode(), "base64"),
            "skills/a b/model.bin": "large",
            "node_modules/x/readme.md": "not ours",
            ".git/notes.md": "nor this",
        }
    )
    fetched = await fetch_files(shelf.ask, f"{BASE}/")
    assert fetched.files == {
        ".plugin/plugin.json": b"{}",
        "skills/a b/SKILL.md": "ä".encode(),
        "rules/r.MDC": b"r",
    }
    assert fetched.problems == []
    assert f"{BASE}/skills/a%20b" in shelf.asked
    assert not any("node_modules" in uri or ".git" in uri or ".bin" in uri for uri in shelf.asked)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({f"{number}.md": "x" for number in range(1001)}, "more than 1,000 files"),
        ({f"{number}.md": "x" * 1_000_000 for number in range(20)}, "more than 4 MiB"),
    ],
)
async def test_a_plugin_that_is_too_large_is_refused(files: Any, problem: str) -> None:
    shelf = Shelf(files)
    with pytest.raises(FileUnreadable, match=problem):
        await fetch_files(shelf.ask, BASE)
    assert len(shelf.asked) < 20, "as soon as that is known"


async def test_folders_without_end_end() -> None:
    async def ask(method: str, params: Any) -> Any:
        if method == "resourceRead":
            return text(params.uri)
        entries = [
            c.DirectoryEntry(name="again", type="directory"),
            c.DirectoryEntry(name="a.md", type="file"),
        ]
        return c.ResourceListResult(entries=entries)

    fetched = await fetch_files(ask, BASE)
    assert len(fetched.files) == 9
    assert fetched.problems == ["what is more than 8 folders deep is not read"]


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../../etc"])
async def test_what_is_no_name_is_left_out(name: str) -> None:
    async def ask(method: str, params: Any) -> Any:
        del params
        assert method == "resourceList"
        return c.ResourceListResult(entries=[c.DirectoryEntry(name=name, type="directory")])

    assert (await fetch_files(ask, BASE)).problems == [f"{name} is no name of a file"]


async def test_a_client_that_does_not_answer_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetching, "_WITHIN", 0.01)

    async def ask(method: str, params: Any) -> Any:
        del method, params
        await asyncio.Event().wait()

    with pytest.raises(FileUnreadable, match="did not send it within"):
        await fetch_files(ask, BASE)
