from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from browser.conftest import Inn
from browser.steps import begin, composer, say, timeline


def second(window: Page) -> Page:
    """Another window of the same browser, at the same place."""
    other = window.context.new_page()
    other.goto(window.url)
    return other


def test_two_windows_agree_on_a_turn_and_on_a_draft(window: Page) -> None:
    begin(window, "ask text")
    other = second(window)
    field = window.get_by_role("region", name="Question").get_by_role("textbox").first
    field.fill("half an answ")
    expect(other.get_by_role("region", name="Question").get_by_role("textbox").first).to_have_value(
        "half an answ"
    )
    other.get_by_role("button", name="Send answers").click()
    for page in (window, other):
        expect(page.get_by_role("region", name="Question")).to_have_count(0)
        expect(timeline(page)).to_contain_text("half an answ")


def test_a_reload_in_mid_turn_loses_nothing(window: Page) -> None:
    begin(window, "work 30 every 100")
    expect(timeline(window)).to_contain_text(re.compile(r"\d"))
    composer(window).fill("a draft that nobody has sent")
    window.reload()
    expect(window.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    expect(timeline(window)).to_contain_text("work 30 every 100")
    expect(composer(window)).to_have_value("a draft that nobody has sent")


def test_a_host_that_is_killed_and_comes_back_is_noticed_and_nothing_else(inn: Inn, window: Page) -> None:
    begin(window, "tool ls")
    expect(window.get_by_role("group", name="Approval")).to_be_visible()
    begin(window, "write 5")
    expect(window.get_by_role("button", name="Send")).to_be_visible()
    inn.kill()
    expect(window.get_by_text("Connection lost")).to_be_visible()
    composer(window).fill("said while nobody was there")
    inn.start()
    expect(window.get_by_text("Connection lost")).to_be_hidden()
    composer(window).press("Enter")
    expect(timeline(window)).to_contain_text("said while nobody was there")


def test_a_message_that_the_host_never_got_is_a_draft_again_after_a_reload(inn: Inn, window: Page) -> None:
    begin(window, "work 60")
    expect(window.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    inn.kill()
    expect(window.get_by_text("Connection lost")).to_be_visible()
    say(window, "said while nobody was there")
    expect(window.get_by_text("Not sent yet")).to_be_visible()
    address = window.url
    window.goto("about:blank")  # as a reload does, the page that could send it goes
    inn.start()
    window.goto(address)
    expect(composer(window)).to_have_value("said while nobody was there")


def test_a_slow_network_shows_what_was_said_at_once(window: Page) -> None:
    begin(window, "help")
    expect(window.get_by_role("button", name="Send")).to_be_visible()
    link = window.context.new_cdp_session(window)
    slow = {"offline": False, "latency": 600, "downloadThroughput": 20_000, "uploadThroughput": 20_000}
    link.send("Network.emulateNetworkConditions", slow)
    say(window, "write 12")
    expect(timeline(window).get_by_text("write 12")).to_be_visible()
    expect(window.get_by_role("button", name="Send")).to_be_visible()


def test_a_page_whose_host_never_answers_says_so(window: Page) -> None:
    expect(window.get_by_role("heading", name="What should be done?")).to_be_visible()

    def away(route: Route) -> None:
        route.abort()

    window.route("**/readyz", away)
    window.context.set_offline(True)
    window.evaluate("dispatchEvent(new Event('offline'))")
    expect(window.get_by_text(re.compile("Connection lost|old"))).to_be_visible(timeout=60_000)
