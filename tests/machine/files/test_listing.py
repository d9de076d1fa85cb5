"""`resourceList` and `resourceResolve`."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest

from machine.files.desk import Desk
from serai.machine.files import uri_of
from serai.machine.files.content import content_type


def test_links_are_what_they_lead_to_where_that_may_be_told(desk: Desk) -> None:
    (desk.work / "folder").mkdir()
    (desk.work / "file").write_text("")
    for name, target in {
        "to-folder": "folder",
        "to-file": "file",
        "to-library": desk.library,
        "to-nothing": "nothing",
        "to-itself": "to-itself",
        "to-outside": desk.outside,
    }.items():
        (desk.work / name).symlink_to(target)
    found = desk.list(desk.work)
    assert {name for name, kind in found.items() if kind == "directory"} == {
        "folder",
        "to-folder",
        "to-library",
    }
    assert len(found) == 8


# -- resourceResolve ---------------------------------------------------------------------------------------


def test_a_file_is_told_about(desk: Desk) -> None:
    path = desk.work / "a.md"
    path.write_text("# Hello")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    found = desk.resolve(path)
    assert found.uri == uri_of(path)
    assert (found.type, found.size, found.content_type) == ("file", 7, "text/markdown")
    assert found.mtime == "2023-11-14T22:13:20.123Z"
    assert found.etag
    if found.ctime is not None:  # when it was made, not when it was changed
        made = datetime.fromisoformat(found.ctime)
        assert timedelta(0) <= datetime.now(UTC) - made < timedelta(minutes=1)


def test_a_link_is_followed_unless_one_says_no(desk: Desk) -> None:
    (desk.work / "a").write_text("abc")
    (desk.work / "link").symlink_to("a")
    link = desk.work / "link"
    assert desk.resolve(link) == desk.resolve(desk.work / "a")
    assert desk.resolve(link, follow_symlinks=True).uri == uri_of(desk.work / "a")
    found = desk.resolve(link, follow_symlinks=False)
    assert (found.uri, found.type, found.size, found.etag) == (uri_of(link), "symlink", 1, None)


def test_the_version_changes_with_the_file(desk: Desk) -> None:
    path = desk.work / "a"
    path.write_text("one")
    seen = {desk.resolve(path).etag}
    assert {desk.resolve(path).etag} == seen, "looking changes nothing"
    desk.write(path, "two")
    seen.add(desk.resolve(path).etag)
    times = path.stat()
    path.write_text("three")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    seen.add(desk.resolve(path).etag)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.ts", "text/typescript"),
        ("a.tar.gz", "application/gzip"),
        ("a.toml", "application/toml"),
        ("a.unheard-of", None),
        ("a", None),
    ],
)
def test_a_name_tells_the_content_type(name: str, kind: str | None) -> None:
    assert content_type(name) == kind
