from __future__ import annotations

import re
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser.conftest import Inn, context_in, follow, inn_in
from browser.steps import answer, begin, composer, say, timeline


@pytest.fixture(scope="module")
def inn(tmp_path_factory: pytest.TempPathFactory) -> Generator[Inn]:
    """One host for all: each test begins a session of its own."""
    with inn_in(tmp_path_factory.mktemp("inn")) as inn:
        yield inn


@pytest.fixture(scope="module")
def let_in(chromium: Browser, inn: Inn) -> Generator[BrowserContext]:
    """A browser that came by the link which the host printed."""
    context = context_in(chromium)
    page = follow(context, inn.link, [])
    expect(page.get_by_role("heading", name="What should be done?")).to_be_visible()
    page.close()
    yield context
    context.close()


@pytest.fixture
def window(inn: Inn, let_in: BrowserContext) -> Generator[Page]:
    complaints: list[str] = []
    page = follow(let_in, inn.address, complaints)
    yield page
    page.close()
    assert not complaints


def test_an_answer_streams_and_its_reasoning_is_folded(window: Page) -> None:
    begin(window, "think about rivers; write 30")
    expect(answer(window)).to_be_visible()
    folded = timeline(window).get_by_role("button", name=re.compile("reasoning|thought", re.IGNORECASE)).first
    expect(folded).to_have_attribute("aria-expanded", "false")
    folded.click()
    expect(folded).to_have_attribute("aria-expanded", "true")


def test_an_approval_shows_the_whole_command_and_takes_an_edited_one(window: Page) -> None:
    command = "ls " + "-l " * 200 + "end"
    begin(window, f"tool {command}")
    expect(window.get_by_label("Command")).to_have_text(command)
    window.get_by_role("button", name="Edit", exact=True).click()
    field = window.get_by_label("Input, as you want it")
    expect(field).to_have_value(re.compile("ls -l"))
    field.fill("{")
    expect(window.get_by_role("button", name="Allow once")).to_be_disabled()
    field.fill('{"command": "echo edited"}')
    window.get_by_role("button", name="Allow once").click()
    expect(timeline(window)).to_contain_text("echo edited")


def test_a_no_can_say_why(window: Page) -> None:
    begin(window, "tool rm -rf build")
    window.get_by_role("button", name="Deny because…").click()
    window.get_by_label("Why not").fill("use make clean")
    window.get_by_role("button", name="Deny", exact=True).first.click()
    expect(timeline(window)).to_contain_text("use make clean")


def test_an_edit_is_shown_as_a_diff_before_it_is_allowed(window: Page) -> None:
    begin(window, "tool edit")
    expect(window.get_by_role("group", name="Approval").locator(".diff")).to_be_visible()
    window.get_by_role("button", name="Allow once").click()
    expect(window.get_by_role("group", name="Approval")).to_have_count(0)


def test_every_kind_of_question_has_its_form(window: Page) -> None:
    begin(window, "ask")
    form = window.get_by_role("region", name="Question").locator("form")
    expect(form.locator("fieldset")).to_have_count(7)
    for field in form.get_by_role("textbox").all():
        mode = field.get_attribute("inputmode")
        kind = field.get_attribute("type")
        field.fill("12" if mode else "guest@example.com" if kind == "email" else "words")
    for group in form.locator("fieldset").all():
        for kind in ("radio", "checkbox"):
            if group.get_by_role(kind).count():
                group.get_by_role(kind).first.check()
    window.get_by_role("button", name="Send answers").click()
    expect(window.get_by_role("region", name="Question")).to_have_count(0)
    expect(answer(window)).to_contain_text("12")


def test_what_is_said_while_the_agent_works_is_queued_edited_moved_and_taken_back(window: Page) -> None:
    begin(window, "work 60")
    expect(window.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    for text in ("first thing", "second thing", "third thing"):
        say(window, text)
    queue = window.get_by_role("region", name="Queue")
    expect(queue.get_by_role("listitem")).to_have_count(3)
    queue.get_by_role("button", name="Move up").nth(2).click()
    expect(queue.get_by_role("listitem").nth(1)).to_contain_text("third thing")
    queue.get_by_role("button", name="Edit").first.click()
    queue.get_by_label("The message that waits").fill("write 5")
    queue.get_by_role("button", name="Save").click()
    expect(queue.get_by_role("listitem").first).to_contain_text("write 5")
    queue.get_by_role("button", name="Take back").last.click()
    expect(composer(window)).to_have_value("second thing")
    window.get_by_role("button", name="Stop", exact=True).click()
    window.get_by_role("button", name="Go on").click()
    expect(queue).to_have_count(0)


def test_a_message_that_steers_reaches_the_turn_that_runs(window: Page) -> None:
    begin(window, "work 60 every 100")
    expect(window.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    composer(window).fill("stop")
    window.get_by_role("button", name="Steer", exact=True).click()
    expect(window.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


def test_whoever_writes_while_an_answer_grows_goes_on_seeing_its_end(window: Page) -> None:
    begin(window, "write 400")
    expect(window.get_by_role("button", name="Send")).to_be_visible()
    say(window, "work 600 every 50")
    expect(window.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    composer(window).press_sequentially("what comes next\nis this", delay=20)
    before = timeline(window).evaluate("list => list.scrollHeight")
    window.wait_for_function(
        "([list, before]) => list.scrollHeight > before", arg=[timeline(window).element_handle(), before]
    )
    expect(window.get_by_role("button", name="Jump to newest")).to_have_count(0)
    composer(window).fill("")


def test_escape_twice_stops_the_turn(window: Page) -> None:
    begin(window, "work 60")
    expect(window.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    window.keyboard.press("Escape")
    window.keyboard.press("Escape")
    expect(timeline(window)).to_contain_text(re.compile("stopped|cancelled", re.IGNORECASE))


def test_a_turn_is_tried_again_forked_and_truncated(window: Page) -> None:
    begin(window, "write 5")
    expect(window.get_by_role("button", name="Send")).to_be_visible()
    say(window, "write 6")
    expect(timeline(window).get_by_text("write 6")).to_be_visible()
    menus = timeline(window).get_by_role("button", name=re.compile("turn", re.IGNORECASE))
    expect(menus).to_have_count(2)
    menus.first.click()
    expect(window.get_by_role("menuitem", name=re.compile("truncate", re.IGNORECASE))).to_be_visible()
    window.get_by_role("menuitem", name=re.compile("fork", re.IGNORECASE)).click()
    expect(timeline(window).get_by_text("write 6")).to_have_count(0)
    expect(timeline(window).get_by_text("write 5")).to_be_visible()
    window.go_back()
    expect(timeline(window).get_by_text("write 6")).to_be_visible()
    menus.first.click()
    window.get_by_role("menuitem", name=re.compile("truncate", re.IGNORECASE)).click()
    window.get_by_role("dialog").get_by_role("button").last.click()
    expect(timeline(window).get_by_text("write 6")).to_have_count(0)


def test_files_are_completed_and_pasted_images_attached(window: Page, inn: Inn) -> None:
    (inn.folder / "heliotrope.txt").write_text("x")
    begin(window, "help")
    composer(window).press_sequentially("look at @helio")
    window.get_by_role("option", name=re.compile("heliotrope")).click()
    expect(composer(window)).to_have_value(re.compile("heliotrope.txt"))
    window.locator("#composer-files").set_input_files(
        {"name": "dot.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"}
    )
    expect(window.get_by_text("dot.png")).to_be_visible()
    composer(window).press("Enter")
    expect(timeline(window)).to_contain_text("dot.png")


def test_whoever_looks_at_a_session_has_read_it_also_what_came_while_it_was_unread(window: Page) -> None:
    unread = window.locator("[aria-current=page]").get_by_text("Unread")
    window.evaluate("document.hasFocus = () => false")
    begin(window, "write 3")
    expect(unread).to_be_attached()
    window.evaluate("delete document.hasFocus")  # they look again, and no event says so
    say(window, "write 4")
    expect(unread).not_to_be_attached()
