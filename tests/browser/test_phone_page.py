from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import PHONE, Inn, NewWindow
from browser.steps import begin, timeline


@pytest.fixture
def phone(inn: Inn, new_window: NewWindow) -> Page:
    """A phone that was paired to read and to answer."""
    printed = inn.run("pair", "--name", "phone", "--answer-only")
    found = re.search(r"\S+/(#link=\S+)", printed)
    assert found is not None
    return new_window(f"{inn.address}/{found[1]}", size=PHONE, has_touch=True, is_mobile=True)


def test_a_phone_answers_with_a_long_press_and_may_do_nothing_else(phone: Page, window: Page) -> None:
    begin(window, "tool rm -rf build")
    phone.get_by_role("link", name=re.compile("tool rm")).click()
    allow = phone.get_by_role("button", name="Hold: Allow once")
    allow.tap()
    expect(phone.locator("button[data-phase=short]")).to_be_visible()  # a tap is not enough
    expect(phone.locator("#composer")).to_have_count(0)
    box = allow.bounding_box()
    assert box is not None
    phone.mouse.move(box["x"] + 10, box["y"] + 10)
    phone.mouse.down()
    expect(phone.get_by_role("group", name="Approval")).to_have_count(0)
    phone.mouse.up()
    expect(window.get_by_role("group", name="Approval")).to_have_count(0)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_device_that_is_revoked_is_out_at_once(inn: Inn, phone: Page) -> None:
    expect(phone.get_by_role("navigation", name="Sessions")).to_be_visible()
    assert "phone" in inn.run("pair", "list")
    inn.run("pair", "revoke", "phone")
    expect(phone.get_by_text("does not know this browser")).to_be_visible()


def test_on_a_phone_one_thing_is_on_screen_at_a_time(inn: Inn, new_window: NewWindow) -> None:
    page = new_window(inn.link, size=PHONE, has_touch=True, is_mobile=True)
    page.get_by_role("button", name="New", exact=True).click()
    begin(page, "write 30")
    expect(timeline(page)).to_be_visible()
    expect(page.get_by_role("navigation", name="Sessions")).to_be_hidden()
    page.get_by_role("button", name="Details").click()
    expect(page.get_by_role("tablist")).to_be_visible()
    page.get_by_role("button", name="Sessions").click()
    expect(page.get_by_role("link", name=re.compile("write 30"))).to_be_visible()
