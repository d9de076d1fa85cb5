"""Asking programs: in time, with a limit, and with nothing left behind."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from agents.machine import Machine
from machine.processes.watching import runs, until, written_pid
from serai.agents.catalogue.programs import ask_program, version_in

DEAF = "trap '' TERM;"


async def gone(pid_file: Path) -> None:
    """Wait until the process whose pid is in a file is gone."""
    pid = await written_pid(pid_file)
    await until(lambda: not runs(pid))


async def test_an_answer_has_output_errors_and_code(machine: Machine) -> None:
    path = machine.program("x", body="echo out; echo err >&2; exit 3")
    answer = await ask_program([str(path)], {})
    assert answer is not None
    assert (answer.text, answer.code) == ("out\nerr\n", 3)


async def test_a_program_gets_its_environment_without_the_hosts_secrets(machine: Machine) -> None:
    path = machine.program("x", body='echo "$A-$SERAI_TOKEN-$NO_COLOR-$CI"; read line || echo end; pwd')
    answer = await ask_program([str(path)], {"A": "1", "SERAI_TOKEN": "secret"})
    assert answer is not None
    assert answer.text.splitlines() == ["1--1-1", "end", "/"]


async def test_what_cannot_be_started_does_not_answer(machine: Machine) -> None:
    assert await ask_program([str(machine.bin / "nowhere")], {}) is None
    assert await ask_program([str(machine.file(machine.bin / "x"))], {}) is None
    assert await ask_program([str(machine.program("x")), "a\0b"], {}) is None


@pytest.mark.parametrize(("trap", "child_trap"), [("", ""), (DEAF, DEAF), ("", DEAF)])
async def test_one_that_takes_too_long_is_ended_with_its_children(
    machine: Machine, trap: str, child_trap: str
) -> None:
    pids = [machine.root / "first", machine.root / "second"]
    child = machine.program(
        machine.root / "child", body=f"{child_trap} echo $$ > {pids[1]}; while :; do sleep 1; done"
    )
    path = machine.program("x", body=f"{child} & {trap} echo $$ > {pids[0]}; while :; do sleep 1; done")
    began = time.monotonic()
    assert await ask_program([str(path)], dict(os.environ), seconds=0.3) is None
    assert time.monotonic() - began < 5
    for pid in pids:
        await gone(pid)


async def test_cancelling_ends_it(machine: Machine) -> None:
    pid = machine.root / "pid"
    path = machine.program("x", body=f"echo $$ > {pid}; exec sleep 60")
    task = asyncio.create_task(ask_program([str(path)], {}, seconds=30))
    await written_pid(pid)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(pid)


async def test_what_it_leaves_running_does_not_hold_the_answer_up(machine: Machine) -> None:
    pid = machine.root / "pid"
    path = machine.program("x", body=f"sleep 60 & echo $! > {pid}; echo 4.5.6")
    began = time.monotonic()
    try:
        answer = await ask_program([str(path)], {}, seconds=5)
        assert answer is not None
        assert answer.text == "4.5.6\n"
        assert time.monotonic() - began < 4
    finally:
        os.kill(int(pid.read_text()), 9)


async def test_of_much_output_the_beginning_is_kept(machine: Machine) -> None:
    path = machine.program("x", body="echo 1.2.3; head -c 3000000 /dev/zero")
    answer = await ask_program([str(path)], {})
    assert answer is not None
    assert len(answer.text) == 256 * 1024


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("1.2.3", "1.2.3"),
        ("v22.1.0\n", "22.1.0"),
        ("gemini version 0.61.0 (abc)", "0.61.0"),
        ("GitHub Copilot CLI 1.0.102.\n", "1.0.102"),
        ("2026.10.01-e373342", "2026.10.01-e373342"),
        ("0.3.0-beta.1+build", "0.3.0-beta.1+build"),
        ("warning at 10:30\nx 4.5", "4.5"),
        ("no version", None),
        ("", None),
    ],
)
def test_versions_in_texts(text: str, version: str | None) -> None:
    assert version_in(text) == version
