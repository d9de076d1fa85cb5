"""How git is run."""

from __future__ import annotations

from serai.processes.git import git_environment


def test_words_to_git_in_the_environment_are_not_passed_on() -> None:
    found = git_environment({"GIT_DIR": "/x", "GIT_EXTERNAL_DIFF": "evil", "LC_ALL": "de", "PATH": "/bin"})
    assert found["PATH"] == "/bin"
    assert "GIT_DIR" not in found
    assert "GIT_EXTERNAL_DIFF" not in found
    assert found["LC_ALL"] == "C"
    assert found["GIT_OPTIONAL_LOCKS"] == "0"
