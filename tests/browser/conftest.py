"""The real page of a real host in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

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
        self.environment: dict[str, str] = {}
        self.arguments: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on the port that it had, and read the link that it prints."""
        words = [sys.executable, "-m", "serai", "--home", str(self.home), "serve", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*words, *self.arguments],
            cwd=self.folder,
            env={**os.environ, "SERAI_USE_KEYRING": "false", "NO_COLOR": "1", **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"(http://127\.0\.0\.1:(\d+)/#link=\S+)", line):
                self.link, self.port = found[1], int(found[2])
                # Nobody needs the rest, and a full pipe must not stop the host.
                self._reader = threading.Thread(target=self._process.stdout.read)
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
        done = subprocess.run(
            [sys.executable, "-m", "serai", "--home", str(self.home), *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=WITHIN / 1000,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _end(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(timeout=WITHIN / 1000)
        if self._reader is not None:
            self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None


@pytest.fixture
def chromium() -> Generator[Browser]:
    """A browser for one test: Playwright has an event loop that other tests would trip over."""
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


@pytest.fixture
def inn(tmp_path: Path) -> Generator[Inn]:
    (folder := tmp_path / "project").mkdir()
    inn = Inn(tmp_path / "home", folder)
    inn.start()
    yield inn
    inn.stop()


NewWindow = Callable[..., Page]


@pytest.fixture
def new_window(chromium: Browser) -> Generator[NewWindow]:
    """Makes windows, each of a browser of its own. None may have complained when the test is over."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def make(address: str, *, size: dict[str, int] = DESK, **options: object) -> Page:
        context = chromium.new_context(viewport=size, service_workers="block", **options)  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(WITHIN)
        return follow(context, address, complaints)

    expect.set_options(timeout=WITHIN)
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
