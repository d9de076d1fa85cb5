"""The command as a whole: help, version, wrong calls, and how quickly it is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from serai import __version__
from serai.cli import main

SERAI = str(Path(sys.executable).with_name("serai"))
"""The console script, as it was installed beside this Python."""


def run(*words: str, **options: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [SERAI, *words],
        check=False,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        env={**environment, **options},
    )


def test_without_a_command_it_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("usage: serai ")
    assert "ahp" in output.out
    assert not output.err


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--help", "ahp"], ["--debug", "--help"]])
def test_help_goes_to_standard_output(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 0
    assert "--version" in capsys.readouterr().out


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"serai {__version__}\n"


@pytest.mark.parametrize(
    "words", [["nothing"], ["--nothing"], ["ahp"], ["ahp", "nothing"], ["ahp", "reduce", "a", "b"]]
)
def test_a_wrong_call_is_told_on_standard_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    output = capsys.readouterr()
    assert not output.out
    assert output.err.startswith("usage: serai")


def test_someone_who_interrupts_gets_the_exit_code_of_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        @property
        def buffer(self) -> object:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    assert main(["ahp", "reduce"]) == 130


def test_it_is_a_module_that_python_runs() -> None:
    words = [sys.executable, "-m", "serai"]
    done = subprocess.run([*words, "--version"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"serai {__version__}\n", "")
    done = subprocess.run([*words, "nothing"], check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: serai ")


def test_help_does_not_load_what_only_commands_need() -> None:
    probe = """
import sys
import serai.cli
try:
    serai.cli.main(["--help"])
except SystemExit:
    pass
print("LOADED", *sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.partition("LOADED ")[2].split())
    assert {"serai", "serai.cli", "serai.errors"} <= loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("serai.")}
    assert rooms == {"cli", "errors", "version"}
    assert not {name for name in loaded if name.startswith("serai.cli.")}
    heavy = {"msgspec", "asyncio", "uvicorn", "starlette", "websockets", "apsw", "keyring", "hypothesis"}
    assert not heavy & loaded


def test_a_reader_that_has_gone_is_no_reason_to_complain(tmp_path: Path) -> None:
    case = tmp_path / "case.json"
    case.write_text(
        f'{{"reducer": "root", "initial": {{"agents": [], "x": "{"y" * 300_000}"}}, "actions": []}}'
    )
    reader, writer = os.pipe()
    os.close(reader)
    try:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [SERAI, "ahp", "reduce", str(case)],
            check=False,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_stream_that_is_closed_is_no_reason_to_complain(stream: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [SERAI, "chat", "--once", "hello", "--url", "http://127.0.0.1:1"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "SERAI_HOME": str(tmp_path)},
        preexec_fn=lambda: os.close(stream),
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert stream == 2 or done.stderr.startswith("serai: no host answers")
