"""`serai sessions`, in-process."""

from __future__ import annotations

import json

import pytest

from cli.screens import parse
from client.hosts import House, soon
from serai.ahp.types import SessionSummary
from serai.cli.sessions import ago, find_session, session_table, status_words
from serai.client import Client, SessionGone, ToolWaiting
from serai.host.turn import Turn


async def agent(turn: Turn) -> None:
    await turn.say(f"you said {turn.message.text}")
    if turn.message.text == "tool":
        call = await turn.tool("ls", "List files", message="ls", confirmed="not-needed")
        await call.done("Listed one", text="a.txt\n")
        await turn.tool("rm", "Remove", message="rm")
        await turn.notice("a notice")
    if turn.message.text == "fail":
        raise ValueError("it broke")


async def run(house: House, *words: str) -> int:
    """The command, with a client of the house instead of one over the network."""
    options = parse("sessions", *words)
    async with house.client() as client:
        return await soon(options.command(client, options))


def summary(name: str, *, title: str = "A title", status: int = 1, modified: int = 0) -> SessionSummary:
    return SessionSummary(
        resource=f"ahp-session:/{name}",
        provider="demo",
        title=title,
        status=status,
        created_at=0,
        modified_at=modified,
    )


async def filled(client: Client) -> tuple[str, str]:
    """Two sessions: one with a turn, and one that failed."""
    first = await soon(client.create_session(uri="ahp-session:/aaaa1111-0000"))
    await soon((await soon(first.prompt("hello"))).result())
    second = await soon(client.create_session(uri="ahp-session:/aaaa2222-0000"))
    await soon((await soon(second.prompt("fail"))).result())
    return first.uri, second.uri


class TestCommands:
    async def test_list(self, capsys: pytest.CaptureFixture[str]) -> None:
        async with House(agent=agent) as house, house.client() as client:
            assert await run(house) == 0
            assert "There are no sessions" in capsys.readouterr().err
            await filled(client)
            assert await run(house) == 0
            head, *rows = capsys.readouterr().out.splitlines()
            assert head.split() == ["ID", "AGENT", "TITLE", "STATUS", "CHANGED"]
            assert {tuple(row.split()) for row in rows} == {
                ("aaaa1111", "agent", "hello", "idle", "now"),
                ("aaaa2222", "agent", "fail", "failed", "now"),
            }
            assert await run(house, "list", "--json") == 0
            listed = json.loads(capsys.readouterr().out)
            assert {one["title"] for one in listed} == {"hello", "fail"}
            assert await run(house, "--json", "list") == 0
            assert json.loads(capsys.readouterr().out) == listed

    async def test_show(self, capsys: pytest.CaptureFixture[str]) -> None:
        async with House(agent=agent) as house, house.client() as client:
            await filled(client)
            assert await run(house, "show", "aaaa2") == 0
            text = capsys.readouterr().out
            assert "ahp-session:/aaaa2222-0000" in text
            assert "> fail\nyou said fail\n(failed: it broke)" in text
            assert await run(house, "show", "aaaa1", "--json") == 0
            assert json.loads(capsys.readouterr().out)["turns"][0]["state"] == "complete"

    async def test_show_tells_what_tools_did_and_what_was_noticed(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        async with House(agent=agent) as house, house.client() as client:
            session = await soon(client.create_session(uri="ahp-session:/tools"))
            turn = await soon(session.prompt("tool"))
            async for event in turn:
                if isinstance(event, ToolWaiting):
                    await soon(session.deny(event.call.tool_call_id, reason="not now"))
            assert await run(house, "show", "tools") == 0
            text = capsys.readouterr().out
            assert "* List files: Listed one\n  | a.txt\n* Remove: did not run (denied: not now)\n" in text
            assert "(a notice)\n" in text

    async def test_rename_and_archive(self, capsys: pytest.CaptureFixture[str]) -> None:
        async with House(agent=agent) as house, house.client() as client:
            first, _ = await filled(client)
            assert await run(house, "rename", first, "Another title") == 0
            assert "Another title" in capsys.readouterr().out
            assert await run(house, "archive", "aaaa1") == 0
            assert "idle, archived" in capsys.readouterr().out
            assert await run(house, "archive", "aaaa1", "--undo", "--json") == 0
            assert json.loads(capsys.readouterr().out)["status"] & 64 == 0

    async def test_dispose(self, capsys: pytest.CaptureFixture[str]) -> None:
        async with House(agent=agent) as house, house.client() as client:
            first, second = await filled(client)
            assert await run(house, "dispose", "aaaa1") == 0
            assert "stays in the host's database" in capsys.readouterr().out
            assert [one.resource for one in await soon(client.list_sessions())] == [second]
            assert await run(house, "dispose", second, "--json") == 0
            assert json.loads(capsys.readouterr().out) == {"disposed": second}
            assert first != second

    async def test_a_name_must_mean_one_session(self) -> None:
        async with House(agent=agent) as house, house.client() as client:
            first, _ = await filled(client)
            assert await soon(find_session(client, "aaaa1111-0000")) == first
            assert await soon(find_session(client, "ahp-session:/x")) == "ahp-session:/x"
            with pytest.raises(SessionGone, match=r"2 sessions begin with 'aaaa'.*Write more of the id"):
                await soon(find_session(client, "aaaa"))
            with pytest.raises(SessionGone, match="there is no session 'b'"):
                await soon(find_session(client, "b"))
            with pytest.raises(SessionGone):
                await soon(find_session(client, ""))


class TestWords:
    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (1, "idle"),
            (2, "failed"),
            (8, "working"),
            (24, "waits for you"),
            (1 | 32, "idle"),
            (8 | 64, "working, archived"),
        ],
    )
    def test_status(self, status: int, words: str) -> None:
        assert status_words(summary("a", status=status)) == words

    @pytest.mark.parametrize(
        ("seconds", "words"),
        [(-5, "now"), (59, "now"), (60, "1 minute ago"), (7200, "2 hours ago"), (90_000, "1 day ago")],
    )
    def test_ago(self, seconds: int, words: str) -> None:
        assert ago(0, seconds * 1000) == words

    def test_ids_are_as_long_as_they_must_be_and_the_title_gives_way(self) -> None:
        rows = session_table(
            [summary("0123456789-a", title="x" * 200 + "\n\x1b[2J"), summary("0123456789-b")], 0, 70
        )
        assert [row.split()[0] for row in rows] == ["ID", "0123456789-a", "0123456789-b"]
        assert all(len(row) <= 70 for row in rows)
        assert "x…" in rows[1]
        assert "\x1b" not in "".join(rows)

    def test_no_title_turns_the_direction_of_what_stands_behind_it(self) -> None:
        turning = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
        rows = session_table([summary("a", title=f"one{turning}two"), summary("b", title="שלום עולם")], 0, 80)
        assert "onetwo" in rows[1]
        assert not set(turning) & set("".join(rows))
        assert "שלום עולם" in rows[2]
