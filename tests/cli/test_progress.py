"""Progress of what takes long."""

from __future__ import annotations

import io
import threading

import pytest

from serai.cli.console.output import bar, progress


class Watched(io.StringIO):
    """A terminal that tells when something is written."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.written = threading.Event()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        count = super().write(text)
        self.written.set()
        return count


def test_what_takes_over_a_second_has_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Watched(is_terminal=True)
    monkeypatch.setattr("sys.stderr", screen)
    with progress("Copying", lambda: 0.5):
        assert screen.written.wait(30)
    assert screen.getvalue().startswith(f"\rCopying [{'#' * 15}{'.' * 15}]  50%\x1b[K")
    assert screen.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_is_quick_shows_nothing(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    screen = Watched(is_terminal=is_terminal)
    monkeypatch.setattr("sys.stderr", screen)
    with progress("Copying"):
        pass
    assert not screen.getvalue()


def test_a_bar_has_its_bounds() -> None:
    assert bar(-1).endswith("]   0%")
    assert bar(7) == f"[{'#' * 30}] 100%"
