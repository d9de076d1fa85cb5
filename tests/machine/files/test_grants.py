"""What a person has allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from machine.files.desk import DENIED, SECRET, Desk, refused
from serai.ahp.commands import ResourceRequestParams
from serai.ahp.types import ROOT
from serai.machine.files import Grant, GrantHolder, Grants, Root, Roots, wanted

ANNA = GrantHolder("client", "anna")
TALK = GrantHolder("session", "anna")  # the same word, another kind


def test_a_grant_is_for_its_holder_until_it_runs_out() -> None:
    grants = Grants()
    grants.add(Grant(ANNA, Root("/a"), expires=10.0))
    grants.add(Grant(TALK, Root("/b", writable=True), expires=20.0))
    assert grants.roots({ANNA}, 9.9) == Roots.of(Root("/a"))
    assert grants.roots({ANNA}, 10.0) == Roots()
    assert grants.roots({TALK}, 0) == Roots.of(Root("/b", writable=True))
    assert set(grants.roots({ANNA, TALK}, 0)) == {Root("/a"), Root("/b", writable=True)}
    assert grants.roots({GrantHolder("client", "berta")}, 0) == Roots()


def test_what_has_run_out_is_forgotten_and_what_is_given_anew_replaces() -> None:
    grants = Grants([Grant(ANNA, Root("/a"), 10)])
    for expires in (10, 30, 20):
        grants.add(Grant(ANNA, Root("/b"), expires))
    assert [grant.expires for grant in grants] == [10, 20]
    grants.expire(10)
    assert [grant.root.path for grant in grants] == ["/b"]


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
    grants = Grants([Grant(ANNA, root, expires=10)])
    desk.roots |= grants.roots({ANNA}, now=5)
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
