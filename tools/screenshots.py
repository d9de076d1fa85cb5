"""Take the pictures of the README from the real page, light and dark, at a desk and on a phone.

Usage: screenshots.py

It starts a host in a folder of its own, has the demo agent do what the pictures show, and writes into
`docs/pictures`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SERAI = [sys.executable, "-m", "serai"]

POEM = "The river\nkeeps its bed,\nthe inn\nits light.\n"


def main() -> int:
    """Exit with 1 where there is no browser."""
    chromium = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
    if chromium is None:
        print("SKIPPED: no Chromium is installed")
        return 1
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch) / "caravan"
        folder.mkdir()
        (folder / "poem.txt").write_text(POEM)
        identity = ["-c", "user.name=Someone", "-c", "user.email=someone@example.com"]
        for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "Begin"]):
            subprocess.run(["git", *words], cwd=folder, check=True)
        host = subprocess.Popen(
            [*SERAI, "--home", f"{scratch}/home", "serve", "--port", "0"],
            cwd=folder,
            env={**os.environ, "SERAI_USE_KEYRING": "false"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert host.stdout is not None
            link = next(
                found[0] for line in host.stdout if (found := re.search(r"http://\S+#link=\S+", line))
            )
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            take(browser, link)
            browser.close()
        finally:
            host.terminate()
            host.wait()
    return 0


def take(browser: Browser, link: str) -> None:
    """Have sessions do something, then take a picture of each view."""
    context = browser.new_context(viewport=DESK, device_scale_factor=2, service_workers="block")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.goto(link)
    begin(page, "work 600 every 1000")
    begin(page, "ask single")
    begin(page, "think about rivers; write 120")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    begin(
        page,
        "think about the poem; save poem.txt The river keeps its bed, and the inn keeps a light for you.",
    )
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    page.locator("#composer").fill("write 40; tool edit")
    page.locator("#composer").press("Enter")
    expect(page.get_by_role("group", name="Approval")).to_be_visible()
    page.get_by_role("tab", name="Changes").click()
    page.get_by_role("tabpanel").get_by_role("button", name=re.compile("poem.txt")).click()
    expect(page.get_by_role("region", name=re.compile("Changes of poem.txt"))).to_be_visible()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size(DESK)  # type: ignore[arg-type]
        page.screenshot(path=PICTURES / f"page-{scheme}.png")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        page.screenshot(path=PICTURES / f"phone-{scheme}.png")
    context.close()


def begin(page: Page, text: str) -> None:
    """Begin a session."""
    page.goto(page.url.partition("#")[0] + "#/")
    expect(page.get_by_role("heading", name="What should be done?")).to_be_visible()
    page.locator("#composer").fill(text)
    page.locator("#composer").press("Enter")
    expect(page.get_by_label("Message to the agent")).to_be_visible()


if __name__ == "__main__":
    sys.exit(main())
