"""What a person has allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from machine.files.desk import DENIED, SECRET, Desk, refused
from serai.ahp.commands import ResourceRequestParams
from serai.ahp.types import ROOT
from serai.machine.files import Root, Roots, wanted


@pytest.mark.parametrize(
    ("read", "write", "root"),
    [
        (None, None, Root("/x")),
        (True, None, Root("/x")),
        (None, True, Root("/x", writable=True, readable=False)),
        (True, True, Root("/x", writable=True)),
        (False, False, Root("/x")),
    ],
)
def test_a_request_says_what_is_wanted(read: bool | None, write: bool | None, root: Root) -> None:
    assert wanted(ResourceRequestParams(channel=ROOT, uri="file:///x", read=read, write=write)) == root


def test_what_was_refused_is_had_with_the_grant_that_the_refusal_names(desk: Desk) -> None:
    (desk.work / "link").symlink_to(desk.secret)
    with refused(DENIED) as caught:
        desk.read(desk.work / "link")
    request = ResourceRequestParams(**caught.value.data["request"])
    root = wanted(request)
    assert root.path == str(desk.secret), "the person sees where it really is"
    desk.roots |= [root]
    assert desk.read(desk.work / "link") == SECRET
    assert desk.read(desk.secret) == SECRET
    with refused(DENIED):
        desk.read(desk.outside / "folder" / "deep.txt")
    with refused(DENIED):
        desk.write(desk.secret)


def test_a_grant_of_a_file_that_is_not_there_yet_lets_it_be_made_and_changed(
    desk: Desk, tmp_path: Path
) -> None:
    place = tmp_path / "new.txt"
    desk.roots |= [Root.of(place, writable=True)]
    desk.write(place, "one", create_only=True)
    desk.write(place, " two", mode="append")
    assert desk.read(place) == "one two"
    with refused(DENIED):
        desk.write(tmp_path / "other.txt")
    with refused(DENIED):
        desk.list(tmp_path)
    desk.delete(place)
    assert not place.exists()


def test_a_grant_follows_no_link_that_is_put_in_its_place(desk: Desk) -> None:
    (desk.work / "granted").mkdir()
    granted = Root.of(desk.work / "granted", writable=True)
    desk.roots = Roots.of(granted)
    (desk.work / "granted").rmdir()
    (desk.work / "granted").symlink_to(desk.outside)
    with refused(DENIED):
        desk.read(desk.work / "granted" / "secret.txt")
    with refused(DENIED):
        desk.write(desk.work / "granted" / "new.txt")
