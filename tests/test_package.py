from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.resources
import pkgutil
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import serai

MODULES = ["serai", *(each.name for each in pkgutil.walk_packages(serai.__path__, "serai."))]


def test_the_version_is_that_of_the_installed_package() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", serai.__version__)
    assert importlib.metadata.version("serai") == serai.__version__


def test_the_types_are_there_for_others() -> None:
    assert (importlib.resources.files("serai") / "py.typed").is_file()


@pytest.mark.parametrize("name", MODULES)
def test_a_module_offers_only_what_it_has(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("serai"):
            raise
        pytest.skip(f"NOT CHECKED: {name} needs {error.name}")
    offered: list[str] = getattr(module, "__all__", [])
    assert not [each for each in offered if not hasattr(module, each)]
    assert len(offered) == len(set(offered))


@pytest.fixture(scope="module")
def project(pytestconfig: pytest.Config) -> dict[str, Any]:
    return tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text(encoding="utf-8"))


def test_dependencies_have_floors_and_no_caps(project: dict[str, Any]) -> None:
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    wanted = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(each for extra in extras.values() for each in extra),
    ]
    assert wanted
    floor = re.compile(r"[A-Za-z0-9._-]+(\[[a-z,-]+\])?>=\d+(\.\d+)*( *;.*)?")
    assert not [each for each in wanted if not floor.fullmatch(each)]
    assert re.fullmatch(r">=\d+\.\d+", project["project"]["requires-python"])


# -- the layout: a stranger finds a behaviour by its file's name (docs/where.md) ---------------------------

ONE_IDEA_IN_SEVERAL_PROTOCOLS = {
    "AgentInfo",
    "AgentSession",
    "AgentsResult",
    "SubscribeParams",
    "SubscribeResult",
    "TerminalOutput",
    "TextAdded",
    "ToolCall",
    "ToolCalled",
    "Turn",
    "UnsubscribeParams",
}


@pytest.fixture(scope="module")
def sources() -> list[Path]:
    return sorted(Path(serai.__path__[0]).rglob("*.py"))


def test_no_two_classes_have_one_name_but_for_one_idea_in_several_protocols(sources: list[Path]) -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for file in sources:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(file))
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert {name: shared[name] for name in shared.keys() - ONE_IDEA_IN_SEVERAL_PROTOCOLS} == {}


def test_a_folder_has_at_most_fifteen_modules(sources: list[Path]) -> None:
    modules = [file for file in sources if not file.name.startswith("__")]
    crowded = {file.parent for file in modules if sum(one.parent == file.parent for one in modules) > 15}
    assert crowded == set()


def test_a_module_has_sixty_lines_or_stands_with_what_a_reader_would_open_anyway(sources: list[Path]) -> None:
    modules = [file for file in sources if not file.name.startswith("__") and file.name != "version.py"]
    short = [str(file) for file in modules if len(file.read_text(encoding="utf-8").splitlines()) < 60]
    assert short == []
