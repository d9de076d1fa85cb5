"""What the page costs in a real browser: bytes to load it, time to see it, frames while much happens, memory.

The host runs in this process and its agents say what the benchmark needs. All of it shares the machine with
the browser, so frames are those of the middle of five runs.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, cast

from playwright.async_api import Browser, CDPSession, Page, async_playwright

from harness import Result, against_limit, against_peer
from serai.ahp.actions import ActionOrigin, SessionTurnStartedAction
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import UserMessage
from serai.config.settings import RelayPolicy, Settings
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.relay.workspace import Workspace
from serai.serve.ahp.commands import ahp_peer
from serai.serve.frames import text_frame
from serai.serve.http import Readiness
from serai.serve.port import serve_port
from serai.serve.relay import RelayPeer, relay_routes
from serai.serve.sessions import SessionRoutes
from serai.store.memory import MemoryStore
from serai.web.assets import Page as ServedPage

PARTS = 5_000
SESSIONS = 20
DELTAS = 100_000
STREAM_SECONDS = 8
RUNS = 5
EVERY = 0.04
"""Seconds between two deltas of a session that streams."""
WITHIN = 120_000
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
]
_FRAMES = """(seconds) => new Promise((done) => {
  const times = [];
  let before = performance.now();
  const end = before + seconds * 1000;
  const frame = (now) => {
    times.push(now - before);
    before = now;
    if (now < end) requestAnimationFrame(frame); else done(times.slice(2));
  };
  requestAnimationFrame(frame);
})"""


async def _agent(turn: Turn) -> None:
    """`parts N`: so many parts. `deltas N`: so many pieces of text. `stream SECONDS`: text all the time."""
    word, _, number = turn.message.text.partition(" ")
    match word:
        case "parts":
            for one in range(int(number) // 2):
                await turn.say(f"Step **{one}** of the work, with `code` and some words.\n\n")
                call = await turn.tool("look", f"Look at file {one}", message="Look", confirmed="not-needed")
                await call.done("Looked", text="x = 1\n" * 20)
            await turn.say("All done.")
        case "deltas":
            for one in range(int(number)):
                await turn.say("word " if one % 40 else "\n\nA new paragraph ")
                if one % 5_000 == 0:
                    await turn.notice("Another five thousand.")
            await turn.say("\n\nAll done.")
        case _:
            end = asyncio.get_running_loop().time() + float(number)
            while asyncio.get_running_loop().time() < end:
                await turn.say("some words that stream, ")
                await asyncio.sleep(EVERY)


def benchmarks() -> Iterator[Result]:
    """All figures of the page; none where there is no Chromium."""
    path = next((found for name in ("chromium", "google-chrome") if (found := shutil.which(name))), None)
    if path is None:
        print("SKIPPED: no Chromium is installed, so nothing of the page was measured")
        return
    yield from asyncio.run(_measure(path))


class _Nobody:
    """Who begins the turns, and does not listen."""

    def publish(self, frames: bytes) -> None:
        """See `Subscriber`."""


@dataclass(slots=True)
class _Inn:
    host: Host
    address: str
    count: int = 0

    async def session(self, name: str, says: str) -> str:
        """A new session whose turn has begun."""
        uri = f"ahp-session:/{name}"
        session = await self.host.create(CreateSessionParams(channel=uri, provider="bench"), "bench")
        await session.ready()
        await self.prompt(uri, says)
        return uri

    async def prompt(self, uri: str, says: str) -> None:
        """Begin a turn."""
        session = await self.host.sessions.bring(uri)
        assert session is not None
        action = SessionTurnStartedAction(turn_id=f"{uri} {says}", user_message=UserMessage(text=says))
        self.count += 1
        session.dispatch(action, ActionOrigin(client_id="bench", client_seq=self.count), _Nobody())


@asynccontextmanager
async def _serving(folder: Path) -> AsyncGenerator[_Inn]:
    (home := folder / "home").mkdir()
    host = Host(MemoryStore(), [CallbackHarness("bench", _agent)], text_frame, user_home=home)
    await host.open()
    workspace = Workspace(host, RelayPolicy())
    await workspace.open()
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    ready: Readiness = lambda: (True, {})  # noqa: E731 - it is always ready
    port = asyncio.create_task(
        serve_port(
            Settings(port=0),
            lambda link: RelayPeer(workspace, link) if link.path == "/relay" else ahp_peer(host, link),
            ready,
            started=started.set_result,
            routes=[
                *relay_routes(workspace),
                *SessionRoutes(host).routes,
                *ServedPage().routes,
            ],
        )
    )
    try:
        yield _Inn(host, f"http://127.0.0.1:{await started}")
    finally:
        port.cancel()
        await asyncio.wait({port})
        await workspace.close()
        await host.close()


async def _measure(chromium: str) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        async with async_playwright() as playwright, _serving(Path(folder)) as inn:
            browser = await playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
            try:
                results = await _load(browser, inn)
                results += await _stream(browser, inn)
                results += await _remember(browser, inn)
            finally:
                await browser.close()
    return results


async def _open(browser: Browser) -> tuple[Page, CDPSession]:
    page = await browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(WITHIN)
    watch = await page.context.new_cdp_session(page)
    await watch.send("Network.enable")
    return page, watch


async def _load(browser: Browser, inn: _Inn) -> list[Result]:
    uri = await inn.session("long", f"parts {PARTS}")
    await _until_idle(inn, uri)
    times: list[tuple[float, float]] = []
    empty: list[float] = []
    loaded = 0
    for _ in range(3):
        page, watch = await _open(browser)
        sizes: list[float] = []

        def loaded_one(told: dict[str, Any], sizes: list[float] = sizes) -> None:
            sizes.append(told["encodedDataLength"])

        watch.on("Network.loadingFinished", loaded_one)
        await page.goto(inn.address)
        await page.get_by_role("textbox").first.wait_for()
        empty.append(await _painted(page))
        loaded = round(sum(sizes))
        await page.close()
        page, _ = await _open(browser)
        await page.goto(f"{inn.address}/#/session/long")
        await page.get_by_text("All done.").first.wait_for()
        times.append((await _painted(page), await page.evaluate("performance.now()")))
        await page.close()
    painted, interactive = min(one for one, _ in times), min(other for _, other in times)
    return [
        against_limit("first load of the page, compressed", loaded / 1000, "kB", limit=250),
        against_peer(
            "first paint, session of 5,000 parts",
            painted,
            "ms",
            peer="first paint, start screen",
            peer_figure=min(empty),
            target=None,
        ),
        against_peer(
            "interactive, session of 5,000 parts",
            interactive,
            "ms",
            peer="first paint, start screen",
            peer_figure=min(empty),
            target=None,
        ),
    ]


async def _painted(page: Page) -> float:
    return await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")


async def _stream(browser: Browser, inn: _Inn) -> list[Result]:
    uris = [f"ahp-session:/stream-{number}" for number in range(SESSIONS)]
    for number in range(SESSIONS):
        await _until_idle(inn, await inn.session(f"stream-{number}", "stream 0.1"))
    page, _ = await _open(browser)
    await page.goto(f"{inn.address}/#/session/stream-0")
    await page.get_by_text("some words").first.wait_for()
    longest: list[float] = []
    rates: list[float] = []
    for run in range(RUNS):
        for uri in uris:
            await inn.prompt(uri, f"stream {STREAM_SECONDS + run / 1000}")
        times: list[float] = await page.evaluate(_FRAMES, STREAM_SECONDS - 1)
        longest.append(max(times))
        rates.append(1000 * len(times) / sum(times))
        for uri in uris:
            await _until_idle(inn, uri)
    await page.close()
    return [
        against_limit("longest frame, 20 sessions stream", median(longest), "ms", limit=50),
        against_peer(
            "time of a frame, 20 sessions stream",
            1000 / median(rates),
            "ms",
            peer="60 frames a second",
            peer_figure=1000 / 60,
            target=None,
        ),
    ]


async def _remember(browser: Browser, inn: _Inn) -> list[Result]:
    await _until_idle(inn, await inn.session("memory", "stream 0.1"))
    page, watch = await _open(browser)
    await page.goto(f"{inn.address}/#/session/memory")
    await page.get_by_text("some words").first.wait_for()
    before = await _heap(watch)
    await inn.prompt("ahp-session:/memory", f"deltas {DELTAS}")
    await page.get_by_text("All done.").first.wait_for()
    after = await _heap(watch)
    await page.close()
    return [
        against_peer(
            "memory of the page after 100,000 deltas",
            after / 1e6,
            "MB",
            peer="before them",
            peer_figure=before / 1e6,
            target=None,
        )
    ]


async def _heap(watch: CDPSession) -> float:
    await watch.send("HeapProfiler.collectGarbage")
    told = cast("dict[str, float]", await watch.send("Runtime.getHeapUsage"))
    return told["usedSize"]


async def _until_idle(inn: _Inn, uri: str) -> None:
    session = await inn.host.sessions.bring(uri)
    assert session is not None
    async with asyncio.timeout(WITHIN / 1000):
        while session.live.turn is not None:  # noqa: ASYNC110 - nobody tells a benchmark
            await asyncio.sleep(0.02)
