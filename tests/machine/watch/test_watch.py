"""Watches on real folders and files."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from serai.ahp.commands import AhpErrorCode
from serai.errors import InvalidParams, ProtocolError
from serai.machine.watch import portable, watch
from serai.machine.watch.watch import Watch, Watches

SOURCES = [watch.watch_folder, portable.watch_folder] if sys.platform == "linux" else [watch.watch_folder]
linux = pytest.mark.skipif(sys.platform != "linux", reason="about inotify")
here_only = pytest.mark.parametrize("watches", [watch.watch_folder], indirect=True)


@pytest.fixture(params=SOURCES, ids=["here", "portable"][: len(SOURCES)])
async def watches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watches]:
    monkeypatch.setattr(watch, "watch_folder", request.param)
    watches = Watches()
    yield watches
    await watches.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


class Heard:
    """What a watch has told, put together until a marker arrives."""

    def __init__(self, watch: Watch, root: Path) -> None:
        self.watch = watch
        self.root = root
        self.told: dict[str, str] = {}
        self.first: dict[str, str] = {}
        self.sizes: list[int] = []

    async def until(self, name: str, kind: str | None = None) -> dict[str, str]:
        """All that was told up to this name, and then nothing."""
        async with asyncio.timeout(30):
            while name not in self.told or (kind is not None and self.told[name] != kind):
                for change in await anext(self.watch):
                    told_name = self._name(change.uri)
                    self.told[told_name] = change.type
                    self.first.setdefault(told_name, change.type)
        told, self.told = self.told, {}
        return told

    async def rest(self) -> dict[str, str]:
        """All that is told until the watch ends."""
        async with asyncio.timeout(30):
            async for changes in self.watch:
                self.sizes.append(len(changes))
                self.told |= {self._name(change.uri): change.type for change in changes}
        told, self.told = self.told, {}
        return told

    def _name(self, uri: str) -> str:
        root = self.root.as_uri()
        return "." if uri == root else uri.removeprefix(f"{root}/")


async def test_what_comes_changes_and_goes_is_told(watches: Watches, folder: Path) -> None:
    heard = Heard(await watches.watch(folder), folder)
    (folder / "a").write_text("1")
    assert await heard.until("a") == {"a": "added"}
    (folder / "a").write_text("22")
    assert await heard.until("a") == {"a": "updated"}
    (folder / "a").rename(folder / "b")
    assert await heard.until("b") == {"a": "deleted", "b": "added"}
    (folder / "b").unlink()
    assert await heard.until("b") == {"b": "deleted"}


async def test_everything_in_new_folders_is_told(watches: Watches, folder: Path) -> None:
    heard = Heard(await watches.watch(folder, recursive=True), folder)
    (folder / "a/b/c").mkdir(parents=True)
    (folder / "a/b/c/file").write_text("1")
    told = await heard.until("a/b/c/file")
    assert told == dict.fromkeys(["a", "a/b", "a/b/c", "a/b/c/file"], "added")
    (folder / "a/b/c/file").write_text("2")
    assert await heard.until("a/b/c/file") == {"a/b/c/file": "updated"}


async def test_a_folder_that_is_moved_is_followed(watches: Watches, folder: Path, tmp_path: Path) -> None:
    (folder / "old/deep").mkdir(parents=True)
    (folder / "old/deep/file").write_text("1")
    heard = Heard(await watches.watch(folder, recursive=True), folder)
    (folder / "old").rename(folder / "new")
    told = await heard.until("new/deep/file")
    assert told == {"old": "deleted", "new": "added", "new/deep": "added", "new/deep/file": "added"}
    (folder / "new/deep/more").write_text("1")
    assert (await heard.until("new/deep/more"))["new/deep/more"] == "added"
    (folder / "new").rename(tmp_path / "away")
    assert await heard.until("new") == {"new": "deleted"}
    (tmp_path / "away/deep/unseen").write_text("1")
    (folder / "z").write_text("1")
    assert await heard.until("z") == {"z": "added"}


@linux
@here_only
async def test_a_folder_that_is_moved_is_told_also_where_only_files_in_it_are_meant(
    watches: Watches, folder: Path, tmp_path: Path
) -> None:
    for name in ("old/deep/a.py", "old/deep/a.rs", "docs/a.md", "out/a.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1")
    watch = await watches.watch(
        folder, recursive=True, includes=["**/*.py", "docs/*.md"], excludes=["out/**"]
    )
    heard = Heard(watch, folder)
    (folder / "old").rename(folder / "new")
    assert await heard.until("new/deep/a.py") == {"old": "deleted", "new/deep/a.py": "added"}
    (folder / "new").rename(tmp_path / "away")
    assert await heard.until("new") == {"new": "deleted"}
    (tmp_path / "away").rename(folder / "back")
    assert await heard.until("back/deep/a.py") == {"back/deep/a.py": "added"}
    (folder / "out").rename(tmp_path / "out")
    shutil.rmtree(folder / "back")
    assert await heard.until("back/deep/a.py") == {"back/deep/a.py": "deleted"}
    (folder / "docs").rename(tmp_path / "docs")
    assert await heard.until("docs") == {"docs": "deleted"}


async def test_only_what_is_included_and_not_excluded_is_told(watches: Watches, folder: Path) -> None:
    (folder / "node_modules/x").mkdir(parents=True)
    heard = Heard(
        await watches.watch(
            folder, recursive=True, includes=["**/*.{py,txt}"], excludes=["**/node_modules/**", "no.py"]
        ),
        folder,
    )
    for name in ("a.py", "a.rs", "no.py", "node_modules/x/a.py", "z.txt"):
        (folder / name).write_text("1")
    assert await heard.until("z.txt") == {"a.py": "added", "z.txt": "added"}


async def test_a_file_may_be_replaced_and_deleted_and_come_again(watches: Watches, folder: Path) -> None:
    file = folder / "file"
    file.write_text("1")
    heard = Heard(await watches.watch(file), folder)
    (folder / "other").write_text("not meant")
    file.write_text("2")
    assert await heard.until("file") == {"file": "updated"}
    (folder / "temporary").write_text("3")
    (folder / "temporary").rename(file)
    assert await heard.until("file") == {"file": "updated"}
    file.unlink()
    assert await heard.until("file") == {"file": "deleted"}
    file.write_text("4")
    assert (await heard.until("file"))["file"] == "added"
    file.write_text("5")
    assert (await heard.until("file"))["file"] == "updated"


async def test_a_root_that_disappears_is_told_and_ends_the_watch(watches: Watches, folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "file").write_text("1")
    whole = Heard(await watches.watch(folder, recursive=True), folder)
    file = Heard(await watches.watch(folder / "file"), folder)
    shutil.rmtree(folder)
    assert (await whole.rest())["."] == "deleted"
    assert await file.rest() == {"file": "deleted"}
    with pytest.raises(StopAsyncIteration):
        await anext(whole.watch)


async def test_what_is_not_there_cannot_be_watched(watches: Watches, folder: Path) -> None:
    with pytest.raises(ProtocolError) as caught:
        await watches.watch(folder / "nothing")
    assert caught.value.number == AhpErrorCode.NOT_FOUND
    with pytest.raises(InvalidParams):
        await watches.watch(folder, includes=["{a,b}" * 20])


async def test_a_closed_watch_says_no_more_and_lets_its_reader_go(watches: Watches, folder: Path) -> None:
    watch = await watches.watch(folder)
    reader = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    await watch.close()
    await watch.close()
    with pytest.raises(StopAsyncIteration):
        await reader


@here_only
async def test_a_set_up_that_is_cancelled_leaves_nothing(watches: Watches, folder: Path) -> None:
    narrow = await watches.watch(folder, recursive=True, excludes=["out/**"])
    watching = asyncio.ensure_future(watches.watch(folder, recursive=True))
    for _ in range(3):
        await asyncio.sleep(0)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    (folder / "out").mkdir()
    (folder / "out/a").write_text("1")
    (folder / "z").write_text("1")
    assert await Heard(narrow, folder).until("z") == {"z": "added"}


@here_only
async def test_links_are_told_and_not_followed(watches: Watches, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (folder / "before").symlink_to(outside)
    heard = Heard(await watches.watch(folder, recursive=True), folder)
    (folder / "after").symlink_to(outside)
    assert await heard.until("after") == {"after": "added"}
    (outside / "secret").write_text("1")
    (outside / "deep/secret").write_text("1")
    (folder / "z").write_text("1")
    assert await heard.until("z") == {"z": "added"}


@here_only
async def test_a_burst_of_files_is_told_whole(watches: Watches, folder: Path) -> None:
    heard = Heard(await watches.watch(folder, recursive=True), folder)
    for number in range(1_000):
        if number % 100 == 0:
            (folder / f"d{number // 100}").mkdir()
        (folder / f"d{number // 100}/f{number}").write_text("1")
    shutil.rmtree(folder / "d0")
    (folder / "end").write_text("1")
    told = await heard.until("end")  # a file may be told as added, and then as updated
    stayed = {f"d{number // 100}/f{number}" for number in range(100, 1_000)}
    assert {name for name in stayed if heard.first.get(name) != "added"} == set()
    assert {f"d{number}" for number in range(1, 10)} <= told.keys()
    assert told.get("d0/f0") in (None, "deleted")


async def test_a_link_on_the_way_is_not_followed(watches: Watches, folder: Path) -> None:
    (folder / "a/b").mkdir(parents=True)
    (folder.parent / "outside/b").mkdir(parents=True)
    asked = folder / "a/b"
    watch = await watches.watch(asked)
    (asked / "c").write_text("1")
    assert await Heard(watch, asked).until("c") == {"c": "added"}
    await watch.close()
    (folder / "a").rename(folder / "away")
    (folder / "a").symlink_to(folder.parent / "outside")
    with pytest.raises(ProtocolError) as refused:
        await watches.watch(asked)
    assert refused.value.number == AhpErrorCode.NOT_FOUND


LIMITED = """
import asyncio, sys
from pathlib import Path
from serai.errors import ProtocolError
from serai.machine.watch.watch import Watches

async def main():
    folder = Path(sys.argv[1])
    watches = Watches()
    try:
        await watches.watch(folder, recursive=True)
    except ProtocolError as error:
        print(error.number, error.data["code"], error)
    for number in range(20):
        await watches.watch(folder / f"many/{number}")
    print("20 are watched")
    await watches.close()

asyncio.run(main())
"""


@linux
def test_the_systems_limits_are_told_with_a_remedy(folder: Path) -> None:
    """In a namespace of its own, where the limit is small: 30 folders."""
    unshare = shutil.which("unshare")
    script = 'echo 30 > /proc/sys/user/max_inotify_watches && exec "$@"'
    command = [unshare or "unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    for number in range(40):
        (folder / f"many/{number}").mkdir(parents=True)
    ran = subprocess.run(
        [*command, sys.executable, "-c", LIMITED, str(folder)], check=False, capture_output=True, text=True
    )
    if unshare is None or (ran.returncode and "unshare" in ran.stderr) or "sys/user" in ran.stderr:
        pytest.skip("NOT CHECKED: this system gives no namespace in which limits can be set")
    told, after = ran.stdout.splitlines()
    assert told.startswith("-32603 watch_limit")
    assert "fs.inotify.max_user_watches" in told
    assert "sysctl" in told
    assert after == "20 are watched"


def instances() -> int:
    """How many inotify instances this process has."""
    links = (os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if os.path.islink(entry.path))  # noqa: PTH114, PTH115 - no Path is needed
    return sum("inotify" in link for link in links)


@linux
@here_only
async def test_many_folders_need_one_instance_and_one_thread(watches: Watches, folder: Path) -> None:
    before = instances()
    heard: list[Heard] = []
    for number in range(100):
        (folder / f"{number}/src").mkdir(parents=True)
        heard.append(Heard(await watches.watch(folder / f"{number}", recursive=True), folder / f"{number}"))
    assert instances() - before <= 1
    assert sum(thread.name.startswith("watch ") for thread in threading.enumerate()) == 1
    for one in heard:
        (one.root / "src/a").write_text("1")
    for number, one in enumerate(heard):
        assert await one.until("src/a") == {"src/a": "added"}
        if number % 2:
            await one.watch.close()
    (folder / "0/src/b").write_text("1")
    assert await heard[0].until("src/b") == {"src/b": "added"}
