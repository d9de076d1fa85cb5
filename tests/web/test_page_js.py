"""The page's model against real hosts, in node's own test runner."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = sorted((Path(__file__).parent / "js").glob("*.test.js"))


def test_the_pages_own_tests_pass_in_node() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("NOT CHECKED: the page's model, since node is not installed")
    done = subprocess.run(
        [node, "--experimental-websocket", "--test", *map(str, TESTS)],  # side by side: they mostly wait
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
