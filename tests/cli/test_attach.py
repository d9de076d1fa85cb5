"""What is left out when an old screen is shown again, and what is put right when it is left."""

from __future__ import annotations

import pytest

from serai.cli.console.attach import _QUESTIONS, _back_to_normal


@pytest.mark.parametrize(
    "question",
    [
        "\x1b[6n",
        "\x1b[c",
        "\x1b]11;?\x07",
        "\x1bP+q544e\x1b\\",
        "\x1b[14t",
    ],
)
def test_questions_to_the_terminal_are_not_asked_again(question: str) -> None:
    assert _QUESTIONS.sub("", f"a{question}b") == "ab"


@pytest.mark.parametrize(
    "text",
    ["\x1b[1;31mred\x1b[0m", "\x1b[2J\x1b[H", "\x1b]0;a title\x07", "\x1b[?1049h", "cat\r\n", "\x1b[3C"],
)
def test_all_else_is_shown_as_it_was(text: str) -> None:
    assert _QUESTIONS.sub("", text) == text


@pytest.mark.parametrize(
    ("shown", "goes_back"),
    [
        ("", False),
        ("\x1b[?1049h", True),
        ("\x1b[?1049l\x1b[?1049h", True),
    ],
)
def test_the_first_screen_is_gone_back_to_from_the_other_one_only(shown: str, goes_back: bool) -> None:
    normal = _back_to_normal(shown)
    assert ("\x1b[?1049l" in normal) == goes_back
    assert "\x1b[?25h" in normal
    assert normal.endswith("\r\n")
