from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from browser.conftest import PHONE, Inn, NewWindow
from browser.steps import begin, say, show_tab, timeline

HOSTILE = [
    '<img src=x onerror="window.hit=1">',
    "<script>window.hit=1</script>",
    "[click](javascript:window.hit=1)",
    '<a href="javascript:window.hit=1">click</a>',
    "<style>* { display: none }</style>",
    '<iframe srcdoc="<script>parent.hit=1</script>"></iframe>',
    '<form action="/link"><button>Allow once</button></form>',
    "![x](https://example.com/beacon.png)",
    "\x1b]0;owned\x07\x1b[2J\x1b[31mred",
    "x" * 20_000,
    "<details ontoggle=window.hit=1 open><summary>x</summary></details>",
]


def test_nothing_that_an_agent_says_runs_or_looks_like_the_page(inn: Inn, window: Page) -> None:
    asked: list[str] = []
    window.on("request", lambda request: asked.append(request.url))
    begin(window, "\n\n".join(HOSTILE))
    expect(timeline(window)).to_contain_text("click")
    say(window, "notice <b onclick=window.hit=1>bold</b>")
    expect(timeline(window)).to_contain_text("bold")
    assert window.evaluate("window.hit") is None
    assert timeline(window).locator("script, style, iframe, form, [onclick], [onerror]").count() == 0
    for link in timeline(window).locator("a").all():
        assert re.match("https?:|mailto:|#", link.get_attribute("href") or "#")
    assert not [url for url in asked if not url.startswith((inn.address, "data:", "blob:"))]
    assert window.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_names_with_markup_are_names(inn: Inn, window: Page) -> None:
    name = "<img src=x onerror=window.hit=1>.txt"
    (inn.folder / name).write_text("harmless")
    begin(window, "help")
    files = show_tab(window, "Files")
    expect(files).to_contain_text(name)
    assert window.evaluate("window.hit") is None


def test_all_of_a_turn_can_be_done_with_the_keyboard(window: Page) -> None:
    expect(window.locator("#composer")).to_be_focused()
    window.keyboard.type("tool ls")
    window.keyboard.press("Enter")
    allow = window.get_by_role("button", name="Allow once")
    expect(allow).to_be_visible()
    for _ in range(60):
        if allow.evaluate("one => one === document.activeElement"):
            break
        window.keyboard.press("Shift+Tab")
    expect(allow).to_be_focused()
    window.keyboard.press("Enter")
    expect(window.get_by_role("group", name="Approval")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_serious_fault_for_those_who_use_it_otherwise(
    inn: Inn, new_window: NewWindow, scheme: str
) -> None:
    window = new_window(inn.link, color_scheme=scheme)
    faults: dict[str, list[str]] = {}

    def look(where: str) -> None:
        found = Axe().run(window).response["violations"]
        serious = [one for one in found if one["impact"] in {"serious", "critical"}]
        if serious:
            nodes = [f"{one['id']}: {node['target']}" for one in serious for node in one["nodes"][:3]]
            faults[where] = nodes

    expect(window.get_by_role("heading", name="What should be done?")).to_be_visible()
    look("start")
    begin(window, "think about rivers; write 40; tool ls")
    expect(window.get_by_role("group", name="Approval")).to_be_visible()
    look("approval")
    window.get_by_role("button", name="Allow once").click()
    say(window, "ask")
    expect(window.get_by_role("region", name="Question")).to_be_visible()
    look("question")
    for tab in ("Changes", "Files", "Terminals", "Messages", "Deliveries", "Agents", "Cost", "Workflow"):
        show_tab(window, tab)
        expect(window.get_by_role("tabpanel")).not_to_contain_text("Loading")
        look(tab)
    window.keyboard.press("Control+k")
    expect(window.get_by_role("combobox", name="Find anything")).to_be_visible()
    look("palette")
    window.keyboard.press("Escape")
    window.set_viewport_size(PHONE)  # type: ignore[arg-type]
    look("phone")
    assert not faults
