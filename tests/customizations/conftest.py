"""Folders to discover in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from serai.ahp.types import DirectoryCustomization, PluginCustomization
from serai.customizations import Customizations, discover

Write = Callable[..., Path]
Look = Callable[..., Customizations]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def look(work: Path, home: Path) -> Look:
    """Discover in the two folders. The working directory is trusted unless the test says otherwise."""

    def discovered(*, trusted: bool = True, writable: bool = False) -> Customizations:
        found = discover(work, home, trusted=trusted, may_write=lambda _: writable)
        for container in found.containers:
            assert isinstance(container, DirectoryCustomization | PluginCustomization)
        return found

    return discovered


@pytest.fixture
def permissions_count(tmp_path: Path) -> None:
    """Skip where this process may read and write whatever the permissions say, as root may."""
    closed = tmp_path / "closed"
    closed.touch(0)
    if os.access(closed, os.R_OK):
        pytest.skip("NOT CHECKED: this process may read and write everything")


@pytest.fixture
def write() -> Write:
    """Write a file, and the folders above it."""

    def written(root: Path, path: str, content: str | bytes = "") -> Path:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    return written
