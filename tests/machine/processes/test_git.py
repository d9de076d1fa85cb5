"""How git is run."""

from __future__ import annotations

import os

from serai.machine.processes.git import git_environment, git_program


def test_git_is_looked_for_where_the_path_says_and_never_where_one_happens_to_be() -> None:
    found = git_program({"PATH": f":{os.environ['PATH']}"})
    assert found is not None
    assert found.startswith("/")
    assert git_program({"PATH": ":."}) is None
    assert git_environment({"PATH": ":/bin:."})["PATH"] == "/bin", "so it is for what git starts"


def test_words_to_git_in_the_environment_are_not_passed_on() -> None:
    found = git_environment({"GIT_DIR": "/x", "GIT_EXTERNAL_DIFF": "evil", "LC_ALL": "de", "PATH": "/bin"})
    assert found["PATH"] == "/bin"
    assert "GIT_DIR" not in found
    assert "GIT_EXTERNAL_DIFF" not in found
    assert found["LC_ALL"] == "C"
    assert found["GIT_OPTIONAL_LOCKS"] == "0"
