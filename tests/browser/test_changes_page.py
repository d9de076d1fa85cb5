from __future__ import annotations

import re
import subprocess

from playwright.sync_api import Page, expect

from browser.conftest import Inn
from browser.steps import begin, say, show_tab, timeline


def repository(inn: Inn) -> None:
    (inn.folder / "poem.txt").write_text("one\ntwo\nthree\n")
    identity = ["-c", "user.name=Someone", "-c", "user.email=someone@example.com"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=inn.folder, check=True)  # noqa: S607 - which git does not matter


def save(page: Page, text: str) -> None:
    say(page, f"save poem.txt {text}")
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_comments_on_lines_are_gathered_and_sent_as_one_message(inn: Inn, window: Page) -> None:
    repository(inn)
    begin(window, "help")
    save(window, "another poem")
    changes = show_tab(window, "Changes")
    changes.get_by_role("button", name=re.compile("poem.txt")).click()
    expect(changes.get_by_role("region", name=re.compile("Changes of poem.txt"))).to_contain_text(
        "another poem"
    )
    for number, text in enumerate(("why this?", "and this?")):
        changes.get_by_role("button", name=re.compile("^Comment")).nth(number).click()
        window.get_by_label(re.compile("^Comment on")).fill(text)
        window.get_by_role("button", name="Keep").click()
    expect(changes.get_by_text("2 comments")).to_be_visible()
    changes.get_by_role("button", name="Send as message").click()
    expect(timeline(window)).to_contain_text("why this?")
    expect(timeline(window)).to_contain_text("and this?")
    expect(changes.get_by_text("2 comments")).to_have_count(0)


def test_a_discard_is_asked_about_and_can_be_undone(inn: Inn, window: Page) -> None:
    repository(inn)
    begin(window, "help")
    save(window, "another poem")
    changes = show_tab(window, "Changes")
    changes.get_by_role("button", name="Discard all").click()
    window.get_by_role("dialog").get_by_role("button", name=re.compile("Discard")).click()
    expect(changes.get_by_text("Nothing changed.")).to_be_visible()
    assert (inn.folder / "poem.txt").read_text() == "one\ntwo\nthree\n"
    changes.get_by_role("button", name=re.compile("undo", re.IGNORECASE)).click()
    expect(changes.get_by_role("button", name=re.compile("poem.txt"))).to_be_visible()
    assert "another poem" in (inn.folder / "poem.txt").read_text()


def test_files_and_terminals_of_the_folder_are_at_hand(inn: Inn, window: Page) -> None:
    repository(inn)
    begin(window, "help")
    files = show_tab(window, "Files")
    files.get_by_text("poem.txt").click()
    expect(files).to_contain_text("three")
    terminals = show_tab(window, "Terminals")
    terminals.get_by_role("button", name=re.compile("new|open", re.IGNORECASE)).first.click()
    screen = window.locator(".xterm-screen")
    expect(screen).to_be_visible()
    window.locator(".xterm-helper-textarea").press_sequentially("cat poem.txt\n")
    expect(window.locator(".xterm-rows")).to_contain_text("three")
