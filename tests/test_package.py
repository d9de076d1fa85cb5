from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import pkgutil
import re
import tomllib
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
