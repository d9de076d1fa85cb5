"""What a terminal starts, and with which environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from serai.machine.terminals.environment import default_shell, plan_launch

BASE = {"PATH": "/bin", "HOME": "/home/me", "LANG": "de_DE.UTF-8", "SHELL": "/bin/sh"}


def test_the_terminal_says_what_it_is() -> None:
    base = {**BASE, "TERM": "dumb", "COLUMNS": "10", "TMUX": "x", "TERM_PROGRAM": "x"}
    launch = plan_launch(["top"], base, extra={"MORE": "1"}, nonce="n")
    assert launch.environ == {
        **BASE,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "SERAI": "1",
        "MORE": "1",
    }
    assert launch.argv == ["top"]
    assert not launch.integrated


@pytest.mark.parametrize("argv", [["bash", "-c", "true"], ["zsh", "-f"], ["fish"], ["/bin/dash"]])
def test_only_a_bare_bash_or_zsh_is_integrated(argv: list[str]) -> None:
    launch = plan_launch(argv, BASE, nonce="n")
    assert (launch.argv, launch.integrated) == (argv, False)
    assert "SERAI_NONCE" not in launch.environ


def test_the_scripts_are_there() -> None:
    bash = plan_launch(["/bin/bash"], BASE, nonce="n")
    assert Path(bash.argv[2]).is_file()
    zsh = plan_launch(["zsh"], {**BASE, "ZDOTDIR": "/z"}, nonce="n")
    assert (Path(zsh.environ["ZDOTDIR"]) / ".zshenv").is_file()
    assert zsh.environ["SERAI_ZDOTDIR"] == "/z"
    assert bash.environ["SERAI_NONCE"] == zsh.environ["SERAI_NONCE"] == "n"


def test_the_persons_shell_is_the_default(tmp_path: Path) -> None:
    shell = tmp_path / "myshell"
    shell.write_text("#!/bin/sh\n")
    assert default_shell({"SHELL": str(shell)}) != str(shell)
    shell.chmod(0o755)
    assert default_shell({"SHELL": str(shell)}) == str(shell)
    assert default_shell({"SHELL": "relative"}).startswith("/")
    assert plan_launch(None, {**BASE, "SHELL": str(shell)}, nonce="n").argv == [str(shell)]
