"""The line that a person writes in `serai chat`: while a turn runs, while something is asked, and at Tab."""

from __future__ import annotations

import re
from pathlib import Path

from cli.chat.conftest import chatting

CTRL_C, TAB = "\x03", "\t"


class TestWhileATurnRuns:
    async def test_enter_queues_what_was_written(self, inn: Path) -> None:
        async with chatting(inn) as seat:
            seat.type("work 600 every 50\r")
            await seat.sees("step 2")
            seat.type("first\r")
            await seat.sees(r"^> first\n(.|\n)*^\(queued: it follows this turn; /drop takes it back\)$")
            seat.type("second\r")
            await seat.sees(r"(?s)\(queued.*\(queued")
            seat.type("/drop 2\r")
            await seat.sees("^It is taken back.$")
            seat.type("/steer stop\r")
            await seat.sees("You said “first”(.|\n)*start.\n>$")
            assert "You said “second”" not in seat.screen
            assert not re.search(r"^. step .*[^s\n]$", seat.screen, re.MULTILINE)  # nothing broke their lines


class TestAtAnApproval:
    async def test_one_key_answers(self, inn: Path) -> None:
        async with chatting(inn) as seat:
            seat.type("tool ls; tool pwd; tool result\r")
            await seat.sees("Your choice:$")
            seat.type("y")
            await seat.sees("pretended to run .ls(.|\n)*Your choice:$")
            seat.type("n")
            await seat.sees("did not run(.|\n)*Your choice:$")
            seat.type("2\r")
            await seat.sees(r"use this result\? \[y/n\]$")
            seat.type("y\r")  # an Enter from habit does nothing
            await seat.sees("^>$")

    async def test_what_was_half_written_is_neither_lost_nor_split_and_allows_nothing(
        self, inn: Path
    ) -> None:
        async with chatting(inn) as seat:
            seat.type("work 1; tool ls; work 600 every 50\r")
            await seat.sees("I work for")
            seat.type("stop ever")
            await seat.sees("Your choice:$")
            seat.type("y")  # as it goes on: with something half written, an answer needs Enter
            await seat.sees("Your choice: y$")
            seat.type("thing\r")
            await seat.sees("(?s)say what to do instead.*s  do not allow.*s  do not allow.*Your choice:$")
            seat.type("n\r")
            await seat.sees("did not run(.|\n)*… stop everything$")
            seat.type(CTRL_C)
            await seat.sees(r"\(the turn was cancelled\)\n> stop everything$")


class TestTab:
    async def test_it_completes_commands_files_and_prompts(self, inn: Path, tmp_path: Path) -> None:
        folder = tmp_path / "project"
        (folder / ".claude/commands").mkdir(parents=True)
        (folder / ".claude/commands/review.md").write_text("Review it.")
        (folder / "notes.md").write_text("x")
        (folder / "nothing.md").write_text("x")
        async with chatting(inn, "--directory", str(folder)) as seat:
            seat.type("/he" + TAB)
            await seat.sees("^> /help$")
            seat.type("\r")
            await seat.sees("^  /steer TEXT")
            seat.type("look at @not" + TAB)
            await seat.sees("(?s)@notes.md.*@nothing.md|@nothing.md.*@notes.md")
            seat.type("e" + TAB)
            await seat.sees("^> look at @notes.md$")
            seat.type("now\r")
            await seat.sees("one attachment:(.|\n)*resource: .*notes.md(.|\n)*start.\n>$")
            seat.type("/rev" + TAB)
            await seat.sees("^> /review$")
            seat.type("\r")
            await seat.sees("You said “/review”(.|\n)*^>$")
            seat.type("/review it\r")
            await seat.sees("You said “/review it”(.|\n)*^>$")
            seat.type("/revieww\r")
            await seat.sees("There is no command /revieww")
