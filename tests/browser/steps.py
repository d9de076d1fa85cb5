"""What people do on the page, as functions."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


def composer(page: Page) -> Locator:
    return page.locator("#composer")


def timeline(page: Page) -> Locator:
    return page.get_by_role("region", name="Conversation")


def begin(page: Page, text: str) -> None:
    """Begin a session with the agent that is chosen."""
    page.goto(page.url.partition("#")[0] + "#/")
    expect(page.get_by_role("heading", name="What should be done?")).to_be_visible()
    say(page, text)
    expect(page.get_by_label("Message to the agent")).to_be_visible()


def say(page: Page, text: str) -> None:
    composer(page).fill(text)
    composer(page).press("Control+Enter")  # on a phone, Enter alone is a new line


def answer(page: Page) -> Locator:
    """What the agent said last."""
    return timeline(page).locator(".markdown").last


def show_tab(page: Page, name: str) -> Locator:
    """Show a tab at the right, and return its panel."""
    page.get_by_role("tab", name=name).click()
    return page.get_by_role("tabpanel")
