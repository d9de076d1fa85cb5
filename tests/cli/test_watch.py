"""`serai watch`: who does what, and who waits for whom."""

from __future__ import annotations

import json
from pathlib import Path

from cli.programs import run, running, seated
from serai.ahp.types import ChangesetSummary, SessionStatus, SessionSummary
from serai.cli.sessions import fleet
from serai.client import ToolWaiting, connect

NOW = 1e12


def session(name: str, status: int, **more: object) -> SessionSummary:
    fields = {"title": name, "created_at": NOW, "modified_at": NOW - 120_000, **more}
    return SessionSummary(resource=f"ahp-session:/{name}", provider="demo", status=status, **fields)  # pyright: ignore[reportArgumentType]


def test_sessions_stand_in_groups_those_that_need_someone_first() -> None:
    change = ChangesetSummary(label="all", uri_template="x:/session", additions=12, deletions=3)
    lines = fleet(
        [
            session("read", SessionStatus.IDLE | SessionStatus.IS_READ),
            session("new", SessionStatus.IDLE),
            session("busy", SessionStatus.IN_PROGRESS, activity="runs\x1b[2J tests", changesets=[change]),
            session("asks", SessionStatus.INPUT_NEEDED, working_directory="file:///work/my%20inn"),
            session("broken", SessionStatus.ERROR | SessionStatus.IS_READ),
            session("away", SessionStatus.INPUT_NEEDED | SessionStatus.IS_ARCHIVED),
        ],
        {"ahp-session:/new"},
        NOW,
        100,
    )
    names = [line.split()[0] for line in lines if line]
    assert " ".join(names) == "ID Needs asks Running busy Waiting new Done read broken"
    assert "my inn" in lines[3]
    assert "runs[2J tests" in lines[6]
    assert lines[6].endswith("2 minutes  +12 -3")
    assert all(len(line) <= 40 for line in fleet([session("long" * 30, 1)], (), NOW, 40))
    assert fleet([], (), NOW) == ["There are no sessions. `serai chat` begins one."]


async def test_the_table_changes_with_the_sessions_and_with_the_window(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await host.says("address")
        async with seated("watch", home=tmp_path, size=(110, 20)) as seat:
            await seat.sees("There are no sessions")
            async with connect(home=tmp_path) as client:
                session = await client.create_session("demo")
                await session.set_title("The inn")
                turn = await session.prompt("activity counting; tool ls")
                call = await anext(event.call async for event in turn if isinstance(event, ToolWaiting))
                await seat.sees(r"^Needs you \(1\)\n\w+ +waits for you +The inn +demo +\S+ +counting")
                seat.resize(60, 20)
                await seat.sees(r"^ID +STATE +TITLE +AGENT +FOLDER +DO\w*$")
                await session.approve(call.tool_call_id)
                await seat.sees(r"^Done \(1\)\n\w+ +idle")
                assert "Needs you" not in seat.screen
            table = await run("watch", home=tmp_path)
            assert "The inn" in table.out
            assert "\x1b" not in table.out
            found = json.loads((await run("watch", "--json", home=tmp_path)).out)
            assert sorted(found) == ["Done", "Needs you", "Running", "Waiting"]
            assert sum(map(len, found.values())) == 1
            seat.type("\x03")
            assert await seat.ended() == 0
            assert seat.text.endswith("\x1b[?25h\x1b[?1049l")
