"""Over the port: which changesets a session lists, and what it counts in them."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from conformance.changesets.conftest import (
    SESSION,
    UNCOMMITTED,
    begin,
    counts,
    files,
    follow,
    git,
    make_repository,
    refused,
    tell,
)
from conformance.client import Client
from conformance.conftest import ONE, Connect, new_session, say
from hosts import WITHIN, House
from requirements import proves


async def test_a_session_in_a_repository_lists_its_changesets(client: Client, repository: Path) -> None:
    (repository / "a.txt").write_text("one\n2\n3\n")
    await begin(client, repository)
    assert [one.uri_template for one in client.session(ONE).summary.changesets or ()] == [
        UNCOMMITTED,
        SESSION,
        "ahp-changeset:/one/turn/{turnId}",
    ]
    await client.until(lambda: counts(client, UNCOMMITTED) == (1, 2, 1))
    assert counts(client) == (0, 0, 0)
    await client.note("root/sessionSummaryChanged", session=ONE)


async def test_counts_follow_the_files_while_the_session_is_followed(
    client: Client, repository: Path
) -> None:
    await begin(client, repository)
    (repository / "new.txt").write_text("1\n2\n")
    await client.until(lambda: counts(client) == (1, 2, 0))
    git(repository, "add", "new.txt")
    git(repository, "commit", "-q", "-m", "second")
    await client.until(lambda: counts(client, UNCOMMITTED) == (0, 0, 0))
    assert counts(client) == (1, 2, 0)
    git(repository, "reset", "-q", "--soft", "HEAD^")
    await client.until(lambda: counts(client, UNCOMMITTED) == (1, 2, 0))


@proves("ahp:SessionSummary/changesets-name-their-uri")
async def test_all_that_is_listed_can_be_followed(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    templates = [one.uri_template for one in client.session(ONE).summary.changesets or ()]
    assert len(templates) == 3
    for template in templates:
        uri = template.replace("{turnId}", "t1")
        assert "{" not in uri
        assert (await follow(client, uri)).status == "ready"
        assert files(client, uri) == {"a.txt"}


def catalogue(action: dict[str, Any]) -> dict[str, int | None]:
    """What an action lists: how many files each has, by the last part of its URI."""
    return {one["uriTemplate"].rpartition("/")[2]: one.get("files") for one in action["changesets"]}


@proves("ahp:session/changesetsChanged/sent-on-every-change", "ahp:session/changesetsChanged/same-stream")
async def test_what_comes_goes_or_is_counted_anew_is_told_to_those_who_follow_the_session(
    house: House, client: Client, connect: Connect, folder: Path
) -> None:
    def told(who: Client) -> list[dict[str, int | None]]:
        return [catalogue(action) for action in who.heard("changesetsChanged", ONE)]

    await begin(client, folder)  # what there is at first may have come with the subscription already
    make_repository(folder)
    await tell(client, "b.txt: new")
    with_git: dict[str, int | None] = {"uncommitted": 1, "session": 1, "{turnId}": None}
    await client.until(lambda: told(client)[-1:] == [with_git])
    (folder / "a.txt").write_text("other\n")
    await client.until(lambda: told(client)[-1] == {**with_git, "uncommitted": 2, "session": 2})
    assert len({str(one) for one in told(client)}) == len(told(client)), "nothing is told that is not new"
    await client.close()
    await house.close()
    shutil.rmtree(folder / ".git")
    await house.open()
    again = await connect("again", ONE)
    await again.until(lambda: told(again))
    assert list(told(again)[0]) == ["session", "{turnId}"]


async def test_counts_are_right_after_a_turn_that_nobody_followed(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await client.notify("unsubscribe", channel=ONE)
    await client.ping()
    await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": "b.txt: hello"})

    def counted() -> Any:
        [summary] = house.host.sessions.summaries()
        return [one.files for one in summary.changesets or ()]

    async with asyncio.timeout(WITHIN):
        while counted() != [1, 1, None]:
            await client.ping()
    assert len(house.host.watches) == 0


async def test_without_a_folder_a_session_has_no_changesets(client: Client) -> None:
    await new_session(client)
    await say(client, ONE, "hello")
    assert client.session(ONE).summary.changesets is None
    assert await refused(client, "subscribe", SESSION) == -32008
