from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from shlex import quote

import pytest
from msgspec.structs import replace

from harness.model.workbench import Workbench
from hosts import WITHIN
from requirements import proves
from serai.harness.model.tool import Asking
from serai.harness.model.tools.commands import RunCommand
from serai.session.agent_file import is_allowed


def allow(bench: Workbench, *commands: str) -> None:
    bench.agent = replace(bench.agent, allowed_commands=commands)


@proves("session:Tools-and-secrets/run-command-allowlist")
async def test_what_the_allowlist_names_runs_without_asking_and_nothing_else_does(bench: Workbench) -> None:
    allow(bench, "echo *", "git status")
    assert RunCommand.asking is Asking.NEVER
    assert (await bench.use(RunCommand, words=["echo", "hello", "there"])).text == "hello there"
    for words in (["ls"], ["git", "status", "--short"], ["git"], ["echo hello"], ["/bin/echo", "hello"]):
        assert "not on the allowlist" in await bench.refusal(RunCommand, words=words)


def test_an_entry_means_whole_words_and_a_last_star_any_more() -> None:
    entries = ["git log *", "make test", "*", ""]
    assert is_allowed(["git", "log"], entries)
    assert is_allowed(["git", "log", "-p", "x y"], entries)
    assert is_allowed(["make", "test"], entries)
    for words in (
        ["git", "logs"],
        ["git"],
        ["make"],
        ["make", "test", "x"],
        ["rm"],
        ["*"],
        [],
        ["git log", "x"],
    ):
        assert not is_allowed(words, entries)


async def test_no_shell_sees_the_words(bench: Workbench) -> None:
    allow(bench, "echo *")
    words = ["echo", "$(touch made)", ";", "touch", "made", "|", "`touch made`", "> made", "*", "$HOME"]
    assert (await bench.use(RunCommand, words=words)).text == " ".join(words[1:])
    assert not (bench.folder / "made").exists()
    assert "not on the allowlist" in await bench.refusal(RunCommand, words=["echo hi; touch made"])


async def test_a_program_of_that_name_in_the_folder_is_not_run(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(bench, "echo *", "tool", "./tool", f"{bench.folder}/tool")
    for name in ("echo", "tool"):
        (bench.folder / name).write_text("#!/bin/sh\ntouch made\n")
        (bench.folder / name).chmod(0o755)
    (bench.folder.parent / "link").symlink_to(bench.folder)
    path = ["", ".", str(bench.folder), str(bench.folder.parent / "link"), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    assert (await bench.use(RunCommand, words=["echo", "the real one"])).text == "the real one"
    for name in ("tool", "./tool", f"{bench.folder}/tool"):
        assert "there is no program" in await bench.refusal(RunCommand, words=[name])
    assert not (bench.folder / "made").exists()


async def test_no_secret_is_in_the_environment(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-made-up-4711-key")
    monkeypatch.setenv("SERAI_TOKEN", "short")
    monkeypatch.setenv("ODDLY_NAMED", "a-key-of-some-model")
    monkeypatch.setenv("HARMLESS", "yes")
    bench.conversation.session.seat.manage_secret("model", "a-key-of-some-model")
    allow(bench, "env")
    printed = (await bench.use(RunCommand, words=["env"])).text
    assert "HARMLESS=yes" in printed
    for name in ("OPENAI_API_KEY", "SERAI_TOKEN", "ODDLY_NAMED"):
        assert name not in printed


async def test_a_command_that_fails_or_takes_too_long_is_an_error_with_what_it_printed(
    bench: Workbench,
) -> None:
    allow(bench, "sh *")
    failed = await bench.use(RunCommand, words=["sh", "-c", "echo no >&2; exit 3"])
    assert failed.is_error
    assert failed.text == "no\n[it ended with the code 3]"
    late = await bench.use(RunCommand, words=["sh", "-c", "echo begun; sleep 1000"], seconds=1)
    assert late.is_error
    assert late.text.startswith("begun\n[ended: it took more than 1 s")
    assert not bench.host.processes._children


async def test_long_output_keeps_its_beginning_and_its_end(bench: Workbench) -> None:
    allow(bench, f"{sys.executable} *")
    script = "print('first'); print('x' * 3_000_000); print('last')"
    printed = (await bench.use(RunCommand, words=[sys.executable, "-c", script])).text
    assert printed.startswith("first")
    assert printed.endswith("last")
    assert "bytes are left out" in printed
    assert len(printed) < 1_100_000


async def test_output_is_shown_while_a_command_runs_and_cancelling_ends_all_of_it(
    bench: Workbench, tmp_path: Path
) -> None:
    allow(bench, "sh *")
    pid = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {quote(str(pid))}; echo working; wait"
    running = bench.begin(RunCommand, words=["sh", "-c", script])
    shown = await bench.conversation.heard("session/toolCallContentChanged")
    assert shown["content"][0]["text"] == "working\n"
    assert bench.host.processes._children
    bench.conversation.cancel()
    async with asyncio.timeout(WITHIN):
        await asyncio.wait({running})
        for child in bench.host.processes._children:
            await child.gone()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
