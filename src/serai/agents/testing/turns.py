"""What an agent can do in a turn that a test has written."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NoReturn

from serai.agents.testing.inside import Ended, Wire
from serai.machine.processes.child import Exit

__all__ = ["Refused", "ScriptedTurn"]


class Refused(Exception):
    """A request is answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.error = dict(error)


class ScriptedTurn:
    """One turn of a `ScriptedAgent`, for the function that plays it. What is told is told at once.

    Args:
        wire: The pipes.
        params: The prompt's parameters.
        number: Which turn of the agent it is; the first is 1.
        ask: Asks the client something.
    """

    def __init__(
        self, wire: Wire, params: Mapping[str, Any], number: int, ask: Callable[[str, Any], Awaitable[Any]]
    ) -> None:
        self.session_id: str = params["sessionId"]
        self.blocks: list[dict[str, Any]] = params["prompt"]
        """The prompt, as content blocks."""
        self.meta: Mapping[str, Any] = params.get("_meta") or {}
        self.number = number
        self.tokens: dict[str, int] = {}
        """What the turn's answer tells as `usage`: `inputTokens`, `outputTokens`, ..."""
        self.is_cancelled = asyncio.Event()
        self._wire = wire
        self._ask = ask
        self._ids = itertools.count(1)

    @property
    def text(self) -> str:
        """The text of the prompt."""
        return "\n\n".join(block["text"] for block in self.blocks if block.get("type") == "text")

    def say(self, text: str, message_id: str | None = None) -> None:
        """Say something."""
        self._chunk("agent_message_chunk", text, message_id)

    def think(self, text: str, message_id: str | None = None) -> None:
        """Think something."""
        self._chunk("agent_thought_chunk", text, message_id)

    def tool(self, title: str, kind: str = "other", *, call: str | None = None, **fields: Any) -> str:
        """Begin to use a tool. Returns the call's id.

        Args:
            title: What people see.
            kind: What it is for: `read`, `edit`, `execute`, ...
            call: The id; by default `tool-1` and so on.
            **fields: More of ACP's fields: `status`, `rawInput`, `content`, `locations`.
        """
        call = call or f"tool-{next(self._ids)}"
        self.update("tool_call", toolCallId=call, title=title, kind=kind, **fields)
        return call

    def tool_update(
        self,
        call: str,
        status: str = "completed",
        *,
        text: str | None = None,
        diff: tuple[str, str | None, str] | None = None,
        **fields: Any,
    ) -> None:
        """Tell more of a tool call.

        Args:
            call: Its id.
            status: `in_progress`, `completed` or `failed`.
            text: What it has produced.
            diff: A file that it has changed: path, old text (`None` for a new file), new text.
            **fields: More of ACP's fields.
        """
        content: list[dict[str, Any]] = []
        if text is not None:
            content.append({"type": "content", "content": {"type": "text", "text": text}})
        if diff is not None:
            content.append({"type": "diff", "path": diff[0], "oldText": diff[1], "newText": diff[2]})
        if content:
            fields["content"] = content
        self.update("tool_call_update", toolCallId=call, status=status, **fields)

    async def ask_permission(
        self,
        title: str = "do it",
        kind: str = "execute",
        *,
        call: str | None = None,
        options: Iterable[str] = ("allow_once", "allow_always", "reject_once", "reject_always"),
    ) -> str:
        """Ask whether a tool may be used. Returns the kind of option that was chosen, or `cancelled`.

        Args:
            title: What people see.
            kind: What it is for.
            call: A call that was told before, by its id; then title and kind are left out.
            options: The kinds of options that are offered.
        """
        told: dict[str, Any] = {"toolCallId": call}
        if call is None:
            told = {"toolCallId": f"tool-{next(self._ids)}", "title": title, "kind": kind}
        offered = [{"optionId": each, "name": each.replace("_", " "), "kind": each} for each in options]
        params = {"sessionId": self.session_id, "toolCall": told, "options": offered}
        outcome = (await self.request("session/request_permission", params))["outcome"]
        return outcome.get("optionId", outcome["outcome"])

    def usage(self, used: int = 0, size: int = 0, cost_usd: float | None = None) -> None:
        """Tell how full the context is, and what the session has cost since it began."""
        cost = {} if cost_usd is None else {"cost": {"amount": cost_usd, "currency": "USD"}}
        self.update("usage_update", used=used, size=size, **cost)

    def plan(self, *entries: str) -> None:
        """Tell a plan."""
        told = [{"content": each, "priority": "medium", "status": "pending"} for each in entries]
        self.update("plan", entries=told)

    def update(self, update: str, /, **fields: Any) -> None:
        """Tell anything, by ACP's names: `turn.update("current_mode_update", currentModeId="ask")`."""
        params = {"sessionId": self.session_id, "update": {"sessionUpdate": update, **fields}}
        self._wire.send(method="session/update", params=params)

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the client for something, such as `fs/read_text_file`, and wait for the answer.

        Raises:
            RuntimeError: It answered with an error.
        """
        return await self._ask(method, params)

    def log(self, line: str) -> None:
        """Write to the log."""
        self._wire.log(line)

    def noise(self, line: str) -> None:
        """Write something to the standard output that is no message."""
        self._wire.write(line.encode())

    async def cancelled(self) -> None:
        """Wait until the turn is cancelled."""
        await self.is_cancelled.wait()

    def fail(self, message: str, code: int = -32603, data: Any = None) -> NoReturn:
        """End the turn with an error."""
        raise Refused({"code": code, "message": message} | ({} if data is None else {"data": data}))

    def exit(self, code: int = 1) -> NoReturn:
        """End the whole agent, in the middle of the turn."""
        raise Ended(Exit(code=code))

    def _chunk(self, update: str, text: str, message_id: str | None) -> None:
        more = {} if message_id is None else {"messageId": message_id}
        self.update(update, content={"type": "text", "text": text}, **more)
