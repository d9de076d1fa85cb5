"""What a person has allowed."""

from __future__ import annotations

from machine.files.desk import DENIED, SECRET, Desk, refused
from serai.ahp.commands import ResourceRequestParams
from serai.machine.files import FileRoot, Roots, requested_root


def test_what_was_refused_is_had_with_the_grant_that_the_refusal_names(desk: Desk) -> None:
    (desk.work / "link").symlink_to(desk.secret)
    with refused(DENIED) as caught:
        desk.read(desk.work / "link")
    request = ResourceRequestParams(**caught.value.data["request"])
    root = requested_root(request)
    assert root.path == str(desk.secret), "the person sees where it really is"
    desk.roots |= [root]
    assert desk.read(desk.work / "link") == SECRET
    assert desk.read(desk.secret) == SECRET
    with refused(DENIED):
        desk.read(desk.outside / "folder" / "deep.txt")
    with refused(DENIED):
        desk.write(desk.secret)


def test_a_grant_follows_no_link_that_is_put_in_its_place(desk: Desk) -> None:
    (desk.work / "granted").mkdir()
    granted = FileRoot.of(desk.work / "granted", writable=True)
    desk.roots = Roots.of(granted)
    (desk.work / "granted").rmdir()
    (desk.work / "granted").symlink_to(desk.outside)
    with refused(DENIED):
        desk.read(desk.work / "granted" / "secret.txt")
    with refused(DENIED):
        desk.write(desk.work / "granted" / "new.txt")
