"""The extra: nothing of it is loaded by others, and without it one is told what to do."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    "first", ["import serai", "import serai.agents", "from serai.cli import main; main(['--help'])"]
)
def test_others_do_not_load_pydantic_ai(first: str) -> None:
    look = "import sys; assert 'serai' in sys.modules; assert 'pydantic_ai' not in sys.modules"
    done = run(f"try:\n    {first}\nexcept SystemExit:\n    pass\n{look}")
    assert done.returncode == 0, done.stderr


def test_without_the_extra_one_is_told_its_name() -> None:
    done = run("import sys; sys.modules['pydantic_ai'] = None; import serai.models")
    assert done.returncode == 1
    assert "ModuleNotFoundError: serai.models needs pydantic-ai" in done.stderr
    assert "pip install 'serai[models]'" in done.stderr
