"""A session on a real host in which a test uses tools, as a model would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.conversation import Conversation, frame
from hosts import WITHIN
from serai.ahp.types import ToolCallConfirmationReason
from serai.errors import SeraiError
from serai.harness.callback import CallbackHarness
from serai.harness.model.tool import BuiltIn, ModelTool, Preview, ToolAnswer, ToolContext
from serai.host.host import Host
from serai.host.turn import Turn
from serai.session.agent_file import AgentFile, FsScopeTier
from serai.session.messages import SessionContext
from serai.store.memory import MemoryStore


class Workbench:
    """One session. Each use of a tool is a turn of its own."""

    conversation: Conversation

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        self.agent = AgentFile(slug="tester")
        self.tier = FsScopeTier.SANDBOXED
        self.shown: list[Preview] = []
        """What a person would have been asked, the last one last."""
        self.between: Callable[[], object] = lambda: None
        """Is called when a call was shown, before it runs."""
        self._job: tuple[ModelTool, Mapping[str, Any]]
        self._result: asyncio.Future[ToolAnswer]
        self.host = Host(MemoryStore(), [CallbackHarness("bench", self._answer)], frame, home=home)

    async def use(self, tool: ModelTool | type[BuiltIn], **given: Any) -> ToolAnswer:
        """Show a call, and run it. Raises what the tool raises."""
        return await self.begin(tool, **given)

    def begin(self, tool: ModelTool | type[BuiltIn], **given: Any) -> asyncio.Future[ToolAnswer]:
        """The same; the test goes on meanwhile."""
        self._job = tool if isinstance(tool, ModelTool) else tool.tool(), given
        self._result = asyncio.get_running_loop().create_future()
        self.conversation.start("use it")
        return self._result

    async def refusal(self, tool: ModelTool | type[BuiltIn], **given: Any) -> str:
        """Why a call is refused; the session goes on."""
        try:
            output = await self.use(tool, **given)
        except SeraiError as error:
            turn = await self.conversation.end()
            assert turn.state == "complete"
            return str(error)
        raise AssertionError(f"it was not refused: {output.text}")

    async def _answer(self, turn: Turn) -> None:
        tool, given = self._job
        use = tool.read(given)
        call = turn.begin_call(tool.name, tool.title)
        seat = self.conversation.session.seat
        situation = SessionContext(working_dir=str(self.folder), fs_scope_tier=self.tier)
        context = ToolContext(turn, call, self.agent, situation, self.folder, seat)
        try:
            preview = await use.preview(context)
            self.shown.append(preview)
            reason = ToolCallConfirmationReason.NOT_NEEDED.value
            await call.ready(message=preview.message, confirmed=reason)
            self.between()
            output = await use.run(replace(context, shown=preview.shown))
        except SeraiError as error:
            await call.done("Failed", error=str(error))
            self._result.set_exception(error)
        except asyncio.CancelledError:
            self._result.cancel()
            raise
        else:
            await call.done("Done", text=output.text, content=list(output.content))
            self._result.set_result(output)


@asynccontextmanager
async def workbench(root: Path) -> AsyncGenerator[Workbench]:
    """A workbench in a folder `project`, beside which Serai's `home` is."""
    folder, home = root / "project", root / "home"
    folder.mkdir()
    home.mkdir()
    (home / "history.db").write_text("sessions")
    bench = Workbench(folder, home)
    await bench.host.open()
    try:
        bench.conversation = await Conversation.begin(bench.host, "bench", working_directory=folder.as_uri())
        yield bench
    finally:
        async with asyncio.timeout(WITHIN):
            await bench.host.close()
