from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from browser.conftest import Inn, NewWindow
from browser.steps import begin, composer, say, timeline


def test_whoever_opens_the_link_talks_to_an_agent_with_nothing_typed_but_the_prompt(window: Page) -> None:
    expect(window.get_by_role("heading", name="What should be done?")).to_be_visible()
    expect(composer(window)).to_be_focused()
    window.keyboard.type("think about rivers")
    window.keyboard.press("Enter")
    expect(timeline(window)).to_contain_text("rivers")
    expect(window.get_by_role("link", name=re.compile("think about rivers"))).to_be_visible()
    assert "link=" not in window.url
    expect(composer(window)).to_be_focused()


def test_a_window_of_any_width_has_all_of_its_lists_in_sight(inn: Inn, new_window: NewWindow) -> None:
    page = new_window(inn.link, size={"width": 1100, "height": 700})
    begin(page, "help")
    for width in (1280, 1100, 1024, 390, 320):
        page.set_viewport_size({"width": width, "height": 700})
        # Nothing that can be pressed stands beyond the edge of what contains it.
        beyond = page.evaluate(
            """() => [...document.querySelectorAll(".left button, .top button, .phone-tabs button")]
                .filter((one) => one.checkVisibility() && !one.closest("[role=menu]"))
                .filter((one) => one.getBoundingClientRect().right >
                    one.closest(".left, .top, .phone-tabs").getBoundingClientRect().right + 1)
                .map((one) => one.outerHTML.slice(0, 80))"""
        )
        assert beyond == [], width


def test_the_tour_shows_an_approval_a_diff_a_question_and_a_queue(window: Page) -> None:
    window.get_by_role("button", name="Take the tour").click()
    approval = window.get_by_role("group", name="Approval")
    expect(approval.get_by_label("Command")).to_contain_text("ls -l")
    window.get_by_role("button", name="Allow once").click()
    expect(approval.locator(".diff")).to_be_visible()
    window.get_by_role("button", name="Allow once").click()
    window.get_by_role("button", name="Send answers").click()
    expect(window.get_by_text("I am busy now.")).to_be_visible()
    say(window, "and then?")
    expect(window.get_by_role("region", name="Queue")).to_contain_text("and then?")
    expect(window.get_by_text("That was the tour")).to_be_visible()


def test_a_folder_that_is_not_there_is_told_before_anything_begins(inn: Inn, window: Page) -> None:
    window.get_by_label("Folder", exact=True).fill(f"{inn.folder}/nowhere")
    composer(window).fill("hello")
    composer(window).press("Control+Enter")
    expect(window.get_by_role("alert")).to_contain_text("there is no folder")
    expect(composer(window)).to_have_value("hello")


def test_a_link_opens_the_door_once(inn: Inn, window: Page, new_window: NewWindow) -> None:
    expect(window.get_by_role("heading", name="What should be done?")).to_be_visible()
    other = new_window(inn.link)
    expect(other.get_by_role("alert")).to_be_visible()
    expect(other.get_by_text("This browser has no key")).to_be_visible()


def test_a_browser_without_a_key_is_told_how_to_get_one(inn: Inn, new_window: NewWindow) -> None:
    page = new_window(inn.address)
    expect(page.get_by_text("serai pair")).to_be_visible()
    page.get_by_label("One-time link").fill(inn.link)
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", name="What should be done?")).to_be_visible()


def test_ctrl_k_finds_a_session_by_what_was_said_in_it(window: Page) -> None:
    begin(window, "remember the word heliotrope")
    expect(timeline(window)).to_contain_text("heliotrope")
    begin(window, "help")
    expect(timeline(window)).to_contain_text("think")
    window.keyboard.press("Control+k")
    window.get_by_role("combobox", name="Find anything").fill("heliotrope")
    expect(window.get_by_role("listbox", name="Found").get_by_role("option").first).to_contain_text(
        "heliotrope"
    )
    window.keyboard.press("Enter")
    expect(window.get_by_role("heading", name="remember the word heliotrope")).to_be_visible()
    expect(composer(window)).to_be_focused()


def test_the_list_says_which_session_needs_the_person(window: Page) -> None:
    begin(window, "tool ls")
    expect(window.get_by_role("button", name=re.compile("Needs you"))).to_be_visible()
    expect(window).to_have_title("(1) Serai")
    window.get_by_role("button", name="Deny", exact=True).click()
    expect(window).to_have_title("Serai")
    say(window, "help")
    expect(window.get_by_role("button", name=re.compile("Done"))).to_be_visible()
