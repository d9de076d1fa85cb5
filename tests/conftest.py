"""What all tests share: hypothesis profiles, proofs of requirements, the shared fixtures."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from nursery import nursery
from requirements import Proofs

PROOFS = pytest.StashKey[Proofs]()

# Options that leave out some of the tests.
_NARROWING = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise")

settings.register_profile("ci", deadline=None, derandomize=bool(os.environ.get("CI")), max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# Every host of a test syncs its database: in memory, where there is a file system for that, it costs nothing.
_MEMORY = "/dev/shm"  # noqa: S108 - the folders that pytest makes there are its own
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)

# Whoever runs the tests in the background lets them ignore Ctrl-C, and so every program that they start.
for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests of hosts and pages wait for what nobody computes."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)  # before -k and -m take tests away
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    proofs = Proofs(whole_suite=_is_whole_suite(config))
    for item in items:
        # A test that is never run, or is known to fail, proves nothing.
        never_proves = item.get_closest_marker("skip") or item.get_closest_marker("xfail")
        for mark in item.iter_markers("proves"):
            proofs.add(item.nodeid, () if never_proves else mark.args)
    config.stash[PROOFS] = proofs


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Thousands of tests stay in memory to the end: the search for garbage need not look through them."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.collect()
    gc.freeze()


def _is_whole_suite(config: pytest.Config) -> bool:
    if any(config.getoption(option, default=None) for option in _NARROWING):
        return False
    asked_for = [(config.invocation_params.dir / argument).resolve() for argument in config.args]
    return any(path in {Path(__file__).parent, config.rootpath} for path in asked_for)


@pytest.fixture(scope="session", autouse=True)
def an_empty_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tests read nothing of the person who runs them: sessions look for customisations at home."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        nursery()  # now, so that no test finds one more process than there was at its beginning
        yield home
        nursery().close()


@pytest.fixture(scope="session")
def proofs(pytestconfig: pytest.Config) -> Proofs:
    """Which collected tests prove which requirements."""
    return pytestconfig.stash[PROOFS]


@pytest.fixture(scope="session")
def shared_folder(pytestconfig: pytest.Config) -> Path:
    """The folder `shared` beside the repository, with the pages and cases that are not part of it."""
    folder = pytestconfig.rootpath.parent / "shared"
    if not folder.is_dir():
        pytest.skip("NOT CHECKED: the folder ../shared (pages and reducer cases) is not there")
    return folder
