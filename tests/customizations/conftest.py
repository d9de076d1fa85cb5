"""Folders to discover in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest

from serai.ahp.types import (
    CustomizationDegradedState,
    CustomizationErrorState,
    DirectoryCustomization,
    PluginCustomization,
)
from serai.customizations.containers import Customizations
from serai.customizations.discovery import discover
from serai.machine.watch.events import SeenPaths

Write: TypeAlias = Callable[..., Path]
Look: TypeAlias = Callable[..., Customizations]
Container: TypeAlias = DirectoryCustomization | PluginCustomization


def containers(found: Customizations) -> dict[str, Container]:
    """The containers by their names."""
    return {item.name: item for item in cast("list[Container]", found.containers)}


def children_of(container: Container) -> list[Any]:
    return list(container.children or [])


def child_names(container: Container) -> list[str]:
    return [child.name for child in children_of(container)]


def names_of(found: Customizations) -> list[str]:
    """The names of all that was found."""
    return [item.name for item in found.definitions]


def message(container: Container) -> str:
    """What is wrong with a container."""
    assert isinstance(container.load, CustomizationDegradedState | CustomizationErrorState)
    return container.load.message


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
def settings(tmp_path: Path) -> Path:
    """Where the person's `serai.toml` is."""
    folder = tmp_path / "settings"
    folder.mkdir()
    return folder


@pytest.fixture
def look(work: Path, home: Path, settings: Path) -> Look:
    """Discover in the folders. The working directory is trusted unless the test says otherwise."""

    def discovered(
        *, trusted: bool = True, writable: bool = False, seen: SeenPaths | None = None
    ) -> Customizations:
        found = discover(
            work, home, trusted=trusted, may_write=lambda _: writable, settings=settings, seen=seen
        )
        for container in found.containers:
            assert isinstance(container, DirectoryCustomization | PluginCustomization)
        return found

    return discovered


@pytest.fixture
def write() -> Write:
    """Write a file, and the folders above it."""

    def written(root: Path, path: str, content: str | bytes = "") -> Path:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    return written
