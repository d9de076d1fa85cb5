from __future__ import annotations

import re
import subprocess
import sys

from playwright.sync_api import Page, expect

from browser.conftest import Inn
from browser.steps import begin, composer, show_tab, timeline


def test_a_message_between_two_agents_shows_its_receipts(inn: Inn, window: Page) -> None:
    begin(window, "help")
    expect(window.get_by_role("button", name="Send").first).to_be_visible()
    messages = show_tab(window, "Messages")
    builder = inn.run("token", "create", "--for", "builder").strip()
    inn.run("send", "@demo", "write 7", "--token", builder)
    messages.get_by_role("button", name=re.compile("@builder")).click()
    receipt = messages.locator(".receipt").first
    expect(receipt).to_contain_text(re.compile("answered", re.IGNORECASE))
    receipt.click()
    expect(receipt).to_contain_text("known because")
    window.get_by_role("link", name=re.compile("^help")).click()
    expect(timeline(window)).to_contain_text("write 7")


REVIEWER = """
import asyncio, sys
from serai.relay.harness import define_harness, stay_registered

async def review(message, context):
    return f"Looks good: {message.text}"

asyncio.run(stay_registered(define_harness("reviewer", review), home=sys.argv[1]))
"""


def test_a_program_that_takes_part_is_chosen_and_written_to_like_any_agent(inn: Inn, window: Page) -> None:
    with subprocess.Popen([sys.executable, "-c", REVIEWER, str(inn.home)]) as reviewer:
        try:
            window.get_by_role("radio", name=re.compile("reviewer.*takes messages as @reviewer")).check()
            composer(window).fill("my diff")
            composer(window).press("Control+Enter")
            messages = window.get_by_role("tabpanel")
            expect(messages.get_by_text("Looks good: my diff").first).to_be_visible()
            expect(composer(window)).to_have_value("")
        finally:
            reviewer.terminate()


def test_a_delivery_that_is_held_says_why_and_can_be_let_in(inn: Inn, window: Page) -> None:
    begin(window, "work 60")
    expect(window.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    inn.run("send", "@demo", "write 7", "--mode", "on-idle")
    deliveries = show_tab(window, "Deliveries")
    expect(deliveries).to_contain_text("in the middle of a turn")
    deliveries.get_by_role("button", name=re.compile("cancel", re.IGNORECASE)).first.click()
    expect(deliveries).to_contain_text(re.compile("cancelled|failed|no delivery", re.IGNORECASE))


def test_a_session_is_exported_as_a_graph_and_a_file(window: Page) -> None:
    begin(window, "write 5")
    expect(window.get_by_role("button", name="Send").first).to_be_visible()
    workflow = show_tab(window, "Workflow")
    expect(workflow.get_by_label(re.compile("^The file"))).to_contain_text("nodes")
    with window.expect_download() as download:
        workflow.get_by_role("button", name="Download").click()
    assert "nodes" in download.value.path().read_text()


def test_agents_show_what_they_can_do_and_sessions_what_they_cost(window: Page) -> None:
    begin(window, "usage 1200")
    expect(window.get_by_role("button", name="Send").first).to_be_visible()
    expect(show_tab(window, "Agents")).to_contain_text("on-idle")
    expect(show_tab(window, "Cost")).to_contain_text(re.compile("1[,.]?2"))
