"""`serai chat` on a real terminal, as a person sees it."""

from __future__ import annotations

import re
import signal
import stat
from pathlib import Path

from cli.chat.conftest import chatting
from cli.programs import running, seated

UP, LEFT = "\x1b[A", "\x1b[D"
CTRL_A, CTRL_C, CTRL_D, CTRL_K = "\x01", "\x03", "\x04", "\x0b"


def pasted(text: str) -> str:
    """What a terminal sends when someone pastes."""
    return f"\x1b[200~{text}\x1b[201~"


async def test_what_is_pasted_is_one_message_and_arrows_edit_it(inn: Path) -> None:
    async with chatting(inn) as seat:
        seat.type(pasted("first line\r\nsecond ü") + LEFT + "e\r")
        await seat.sees("^> first line\n  second eü$")
        await seat.sees("You said “first line second eü”")
        await seat.sees("^>$")
        assert "queued" not in seat.screen
        seat.type(pasted("a\x1b[2J\x9b31mb\x07") + "\r")
        await seat.sees("You said “a.*b”(.|\n)*start.\n>$")
        assert not re.search("\x1b\\[2J|\x9b|\x07", seat.text)
        seat.type("one\x1b\rtwo\r")  # Alt-Enter begins a line
        await seat.sees("You said “one two”")
        await seat.sees("one two(.|\n)*start.\n>$")
        seat.type(CTRL_D)
        assert await seat.ended() == 0
        assert seat.is_as_before
        assert seat.text.rindex("\x1b[?2004l") > seat.text.rindex("\x1b[?2004h")
        await seat.sees("^Come back with: serai chat")


async def test_what_was_said_can_be_said_again_also_in_the_next_chat(inn: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    async with chatting(inn) as seat:
        seat.type("ask text\r")
        await seat.sees(r"\(text")
        seat.type("an answer\r")
        await seat.sees(r"\(text, at most")
        seat.type("\r")
        await seat.sees("an answer(.|\n)*\n>$")
        seat.type(f"my key is {key}\r")
        await seat.sees("You said(.|\n)*start.\n>$")
        seat.type("/quit\r")
        assert await seat.ended() == 0
        async with chatting(inn) as again:
            again.type(UP * 3)
            await again.sees("^> ask text$")
            again.type("\x1b[B" + CTRL_A + CTRL_K + "/quit\r")
            assert await again.ended() == 0
    history = inn / "chat-history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert "+ask text\n" in history.read_text()
    assert "an answer" not in history.read_text()
    assert key not in history.read_text()


async def test_text_streams_above_what_is_being_written(inn: Path) -> None:
    async with chatting(inn) as seat:
        seat.type("work 60 every 50\r")
        await seat.sees("step 2")
        seat.type("a draft")
        await seat.sees("step 4(.|\n)*\n… a draft$")
        await seat.sees("step 6(.|\n)*\n… a draft$")
        seat.resize(60, 20)
        await seat.sees("step 9(.|\n)*\n… a draft$")
        assert seat.screen.count("a draft") == 1
        seat.type(CTRL_C)
        await seat.sees(r"\(the turn was cancelled\)\n> a draft$")
        assert "(stopping the turn; Ctrl-C again leaves)" in seat.screen
        seat.type(CTRL_C)
        await seat.sees(r"\(Ctrl-C again leaves, and so does /quit\)")
        seat.type(CTRL_C)
        assert await seat.ended() == 0
        assert seat.is_as_before


async def test_an_edit_is_shown_before_it_is_allowed_and_its_input_can_be_changed(inn: Path) -> None:
    async with chatting(inn, NO_COLOR="") as seat:
        seat.type("tool edit\r")
        await seat.sees(
            r"Edit a file\?(.|\n)*  @@ -1,2 \+1,3 @@\n"
            r"  -Rooms: twelve.\n  \+Rooms: fourteen.\n   Water: yes.\n"
        )
        await seat.sees(r"^\(y/n/1/2/3/4/e/s\) Your choice:$")
        assert seat.style("-Rooms").fg == "red"
        assert seat.style("+Rooms").fg == "green"
        seat.type("e\r")
        await seat.sees(r"no change\): \{\"path\": \"notes.md\"")
        seat.type(CTRL_A + CTRL_K + '{"path": "notes.md", "text": "Rooms: one.\\\\n"}\r')
        await seat.sees("I have pretended to edit notes.md")
        await seat.sees(r"changed .*notes.md \(\+1 -2\)")
        await seat.sees("was touched.\n>$")
        assert seat.style("notes.md. No file").fg == "cyan"
        seat.type("tool ls\r")
        await seat.sees("Your choice:$")
        seat.type("e\r")
        await seat.sees(r'no change\): \{"command": "ls"\}$')
        seat.type(LEFT * 2 + " -a\r")
        await seat.sees("pretended to run ls -a;")


async def test_a_host_that_goes_away_is_told_and_comes_back(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        port = (await host.says(r"http://127.0.0.1:(\d+)"))[1]
        async with seated("chat", "--agent", "demo", home=tmp_path, size=(200, 40)) as seat:
            await seat.sees("^>$")
            seat.type("hello\r")
            await seat.sees("start.\n>$")
            host.process.send_signal(signal.SIGKILL)
            await host.process.wait()
            await seat.sees(r"\(connection lost: .*; trying again\)\n>$")
            async with running("serve", "--port", port, home=tmp_path) as second:
                await second.says("address")
                await seat.sees(r"\(connected again\)\n>$")
                seat.type("back\r")
                await seat.sees("You said “back”")
                seat.type("/quit\r")
                assert await seat.ended() == 0


async def test_markdown_is_rendered_where_there_are_colours(inn: Path) -> None:
    async with chatting(inn, size=(60, 90), NO_COLOR="") as seat:
        seat.type("write 120\r")
        await seat.sees("def greet(.|\n)*^>$")
        assert max(map(len, seat.screen.split("\n"))) <= 60
        assert ("```" in seat.screen.partition("def greet")[0]) is True
        assert not re.search("^#", seat.screen, re.MULTILINE)
        assert seat.style("def greet").fg == "cyan"
