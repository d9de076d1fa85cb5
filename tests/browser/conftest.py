"""The real page of a real host in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from nursery import Forked, nursery

WITHIN = 20_000
"""Milliseconds after which something that was to be seen is not."""
DESK = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Inn:
    """A host in a process of its own: `serai serve`, as a person starts it."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.port = 0
        self.link = ""
        self._process: Forked | None = None
        self._reader: threading.Thread | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on the port that it had, and read the link that it prints."""
        end, theirs = os.pipe()
        out = os.fdopen(end)
        with os.fdopen(theirs, "wb") as away, Path(os.devnull).open("wb") as nowhere:
            self._process = self._started(
                *("serve", "--port", str(self.port)), out=away.fileno(), errors=nowhere.fileno()
            )
        for line in out:
            if found := re.search(r"(http://127\.0\.0\.1:(\d+)/#link=\S+)", line):
                self.link, self.port = found[1], int(found[2])
                # Nobody needs the rest, and a full pipe must not stop the host.
                self._reader = threading.Thread(target=_drain, args=[out])
                self._reader.start()
                return
        raise AssertionError("the host printed no link")

    def kill(self) -> None:
        """End it as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        if self._process is not None:
            self._end(signal.SIGTERM)

    def run(self, *words: str) -> str:
        """Run a command of Serai on this host, and return what it prints."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            done = self._started(*words, out=out.fileno(), errors=errors.fileno()).wait_now()
            for file in (out, errors):
                file.seek(0)
            assert done == 0, errors.read()
            return out.read()

    def _started(self, *words: str, out: int, errors: int) -> Forked:
        return nursery().start(
            "serai.cli:main",
            ["--home", str(self.home), *words],
            imports=["serai.cli.serve"],
            out=out,
            errors=errors,
            environment={**os.environ, "SERAI_USE_KEYRING": "false", "NO_COLOR": "1"},
            folder=self.folder,
        )

    def _end(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait_now()
        if self._reader is not None:
            self._reader.join()
        self._process = None


def _drain(out: TextIO) -> None:
    with out:
        out.read()


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    """A browser for a file of tests; others than those would trip over Playwright's event loop."""
    path = next((found for name in _CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        reason = "SKIPPED: no Chromium is installed, so nothing of the page was tried in a browser"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()


@contextmanager
def inn_in(place: Path) -> Generator[Inn]:
    (folder := place / "project").mkdir()
    inn = Inn(place / "home", folder)
    inn.start()
    yield inn
    inn.stop()


@pytest.fixture
def inn(tmp_path: Path) -> Generator[Inn]:
    with inn_in(tmp_path) as inn:
        yield inn


NewWindow = Callable[..., Page]


def context_in(chromium: Browser, size: dict[str, int] = DESK, **options: object) -> BrowserContext:
    """A browser of its own, with nothing in its store."""
    expect.set_options(timeout=WITHIN)
    context = chromium.new_context(viewport=size, service_workers="block", **options)  # type: ignore[arg-type]
    context.set_default_timeout(WITHIN)
    return context


@pytest.fixture
def new_window(chromium: Browser) -> Generator[NewWindow]:
    """Makes windows, each of a browser of its own. None may have complained when the test is over."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def make(address: str, *, size: dict[str, int] = DESK, **options: object) -> Page:
        contexts.append(context := context_in(chromium, size, **options))
        return follow(context, address, complaints)

    yield make
    for context in contexts:
        context.close()
    assert not complaints


def follow(context: BrowserContext, address: str, complaints: list[str]) -> Page:
    """Open an address in a new window, and write down what the browser complains of."""
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))

    def said(message: object) -> None:
        text = str(getattr(message, "text", ""))
        # A host that was killed on purpose is not there: browsers say so.
        is_away = (
            "ERR_CONNECTION" in text or "WebSocket connection" in text or "Failed to load resource" in text
        )
        if getattr(message, "type", "") == "error" and not is_away:
            complaints.append(text)

    page.on("console", said)
    page.goto(address)
    return page


@pytest.fixture
def window(inn: Inn, new_window: NewWindow) -> Page:
    """A window that came by the link which the host printed."""
    return new_window(inn.link)
