"""`serai ask`, as people run it: a process of its own, with an agent of the test's."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.players import PLAYER
from cli.programs import Done, run, running, seated
from machine.processes.watching import runs

KEY = "k-0123456789abcdef"


class Asking:
    """A home with an agent in its configuration."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.record = home / "record"
        self.tell()

    def tell(self, **told: Any) -> None:
        """What the agent is told when it starts."""
        args = ["-I", "-S", "-u", str(PLAYER), json.dumps({"record": str(self.record), **told})]
        (self.home / "serai.toml").write_text(
            f"[agents.player]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps(args)}\n"
            f'env = {{ PLAYER_API_KEY = "{KEY}" }}\n'
        )

    async def ask(self, *words: str, typed: str | None = None) -> Done:
        return await run("ask", "player", *words, home=self.home, typed=typed)

    @property
    def prompt(self) -> str:
        """The text of the last prompt."""
        last = [json.loads(line) for line in self.record.read_text().splitlines()][-1]
        return last["params"]["prompt"][0]["text"]


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


async def test_the_answer_is_printed(asking: Asking) -> None:
    done = await asking.ask("echo Hello , world")
    assert done == Done(0, "Hello,world\n", "")


async def test_the_prompt_can_be_piped_in(asking: Asking) -> None:
    assert (await asking.ask(typed="echo a\n")).out == "a\n"
    await asking.ask("Why?", typed="\n\necho a\n")
    assert asking.prompt == "Why?\n\necho a"
    done = await asking.ask()
    assert done.code == 2
    assert "nothing to ask" in done.err


async def test_the_prompt_can_be_an_option_or_a_file(asking: Asking, tmp_path: Path) -> None:
    file = tmp_path / "prompt"
    file.write_text("echo from a file")
    assert (await asking.ask("-p", "echo a")).out == "a\n"
    assert (await asking.ask("--prompt-file", str(file))).out == "fromafile\n"
    assert "[file_unreadable]" in (await asking.ask("--prompt-file", "nowhere")).err
    assert "more than once" in (await asking.ask("-p", "echo a", "echo b")).err


async def test_the_result_as_json(asking: Asking) -> None:
    done = await asking.ask("--json", "work")
    result = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert result["text"] == "Let me look.\n\nIt is fine."
    assert (result["agent"], result["sessionId"], result["stopReason"]) == ("player", "s1", "end_turn")
    assert result["cost"] == {"amount": 0.25, "currency": "USD"}
    assert result["usage"]["outputTokens"] == 100
    assert result["toolCalls"][0]["title"] == "ls -l"


async def test_an_answer_under_a_schema(asking: Asking, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "required": ["x"]}')
    asking.tell(answers=["{}", '```json\n{"x": "é"}\n```'])
    done = await asking.ask("--schema", str(schema), "Where?")
    assert (done.code, json.loads(done.out)) == (0, {"x": "é"})
    done = await asking.ask("--schema", schema.read_text(), "Where?")
    assert (done.code, json.loads(done.out)) == (0, {"x": "é"})
    done = await asking.ask("--json", "--schema", str(schema), "Where?")
    document = json.loads(done.out)
    assert (document["data"], document["repaired"]) == ({"x": "é"}, True)
    asking.tell(answers=["no", "no"])
    done = await asking.ask("--schema", str(schema), "Where?")
    assert (done.code, done.out) == (1, "")
    assert "[json_validation]" in done.err
    assert "[file_unreadable]" in (await asking.ask("--schema", "nowhere", "Where?")).err


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ((), "reject_once"),
        (("--permission", "auto-reject"), "reject_once"),
        (("--permission", "auto-allow-once"), "allow_once"),
        (("--permission", "auto-allow"), "allow_always"),
        (("--permission", "ask"), "reject_once"),
        (("--permission", "auto-allow", "--block-kind", "execute"), "reject_once"),
        (("--permission", "auto-allow", "--allow-kind", "read"), "reject_once"),
        (("--permission", "auto-allow", "--allow-kind", "read", "--allow-kind", "execute"), "allow_once"),
    ],
)
async def test_nothing_is_allowed_that_nobody_allowed(
    asking: Asking, words: tuple[str, ...], answer: str
) -> None:
    done = await asking.ask(*words, "permit allow_once allow_always reject_once")
    assert (done.code, done.out) == (0, f"{answer}\n")


async def test_a_person_at_a_terminal_is_asked(asking: Asking) -> None:
    async with seated("ask", "player", "permit allow_once reject_once", home=asking.home) as seat:
        await seat.shows(
            r"May it\? rm x \(execute\)\s+1  allow once\s+2  reject once\s+A number, or Enter for no: "
        )
        seat.type("1\r")
        await seat.shows(r"allow_once\s+$")
        assert await seat.ended() == 0


async def test_what_an_agent_thinks_stands_on_lines_of_its_own(tmp_path: Path) -> None:
    async with seated("ask", "demo", "rivers", home=tmp_path) as seat:
        await seat.shows(r"I say back what I am told\.\s*\n\s*rivers\s+$")
        assert await seat.ended() == 0


async def test_model_folder_and_system_prompt_reach_the_agent(asking: Asking, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    done = await asking.ask(
        "--cwd", str(folder), "--model", "large", "--mode", "do", "--system-prompt", "Brief.", "told"
    )
    told = json.loads(done.out)
    assert told["opened"]["cwd"] == str(folder)
    assert told["methods"][2:4] == ["session/set_mode", "session/set_config_option"]
    assert told["prompt"][0]["text"] == "Brief.\n\ntold"
    done = await asking.ask("--cwd", str(tmp_path / "nowhere"), "told")
    assert (done.code, "there is no folder" in done.err) == (2, True)


async def test_a_model_that_there_is_not_is_a_warning(asking: Asking) -> None:
    done = await asking.ask("--model", "huge", "echo a")
    assert (done.code, done.out) == (0, "a\n")
    assert done.err.startswith("serai: Agent \"player\" did not take the model 'huge'")


async def test_a_budget(asking: Asking) -> None:
    done = await asking.ask("--max-cost-usd", "0.5", "cost 0.2 0.5 wait")
    assert done.code == 1
    assert "[budget_exceeded]" in done.err
    assert (await asking.ask("--max-cost-usd", "0", "echo a")).code == 2


async def test_an_agent_that_there_is_not(asking: Asking) -> None:
    done = await run("ask", "plaier", "hi", home=asking.home)
    assert (done.code, "Did you mean player?" in done.err) == (1, True)


async def test_the_agent_is_gone_when_the_command_is_interrupted(asking: Asking) -> None:
    async with running("ask", "player", "pid", home=asking.home) as program:
        pid = int((await program.says(r"(\d+)\n"))[1])
        assert await program.ended() == 0
    assert not runs(pid)
    async with running("ask", "player", "wait", home=asking.home) as program:
        await program.says("waiting")
        program.process.send_signal(2)
        assert await program.ended() == 130
    assert json.loads(asking.record.read_text().splitlines()[-1])["method"] == "session/cancel"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--permission", "never"), "'auto-reject'"),
        (("--max-cost-usd", "much"), "'much' is no sum above 0"),
        (("--allow-kind", "exec"), "'execute'"),
    ],
)
async def test_a_wrong_word_is_told_with_those_that_are_right(
    asking: Asking, words: tuple[str, ...], told: str
) -> None:
    done = await asking.ask(*words, "hi")
    assert (done.code, told in done.err, "<" in done.err, "_sum" in done.err) == (2, True, False, False)


async def test_an_error_has_a_line_of_its_own_and_is_json_where_that_is_wanted(asking: Asking) -> None:
    done = await asking.ask("crash")
    assert (done.code, done.out[-1:], KEY in done.err) == (1, "\n", False)
    done = await asking.ask("--json", "crash")
    assert (done.code, json.loads(done.out)["error"]["code"]) == (1, "connection_closed")
    assert "[connection_closed]" in done.err
