"""An agent that does what a test has written down."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

from serai.agents.testing.pipes import Ended, Inside, Wire
from serai.machine.processes.child import Exit

__all__ = ["EVERYTHING", "Refused", "Script", "ScriptedAgent", "ScriptedTurn"]


class Refused(Exception):
    """A request is answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.error = dict(error)


class ScriptedTurn:
    """One turn of a `ScriptedAgent`, for the function that plays it. What is told is told at once."""

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
        self.answer_meta: dict[str, Any] = {}
        """The `_meta` of the turn's answer."""
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
        """Begin to use a tool; `fields` are more of ACP's, such as `rawInput`. Returns the call's id."""
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
        """Tell more of a tool call: its status, the text that it has produced, a file that it has changed.

        `diff` is a path, the old text (`None` for a new file) and the new one; `fields` are more of ACP's.
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

        With the `call` that was told before, its title and kind are left out.
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


EVERYTHING: Mapping[str, Any] = {
    "loadSession": True,
    "sessionCapabilities": {
        name: {} for name in ("fork", "resume", "close", "list", "delete", "additionalDirectories")
    },
    "mcpCapabilities": {"http": True, "sse": True},
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
}
"""The capabilities of an agent that can do everything."""

Script: TypeAlias = str | Sequence[str] | Callable[[ScriptedTurn], Awaitable[str | None]]
"""A turn: what is said, in one piece or several; or a function that plays it and may return a stop reason."""


class ScriptedAgent(Inside):
    """An agent whose turns are written down.

    It keeps its sessions and goes on with its turns when it is started again. All that it was told is in
    `requests`. A turn that was not written down fails.

    Args:
        turns: The turns, one after the other; or a function that plays them all.
        name: What the agent is called.
        capabilities: Its `agentCapabilities`: see `EVERYTHING`.
        modes: The ids of its modes; it begins in the first.
        options: Its config options by id, each with the values to choose from; the first holds.
        commands: The names of its commands.
        fails: Requests that it answers with an error, by method: `{"session/new": {"code": -32000, ...}}`.
        native_system_prompt: Whether it takes a system prompt of its own.
    """

    def __init__(
        self,
        turns: Iterable[Script] | Callable[[ScriptedTurn], Awaitable[str | None]] = (),
        *,
        name: str = "scripted",
        capabilities: Mapping[str, Any] | None = None,
        modes: Sequence[str] = (),
        options: Mapping[str, Sequence[str]] | None = None,
        commands: Sequence[str] = (),
        fails: Mapping[str, Mapping[str, Any]] | None = None,
        native_system_prompt: bool = False,
    ) -> None:
        super().__init__(name)
        self.native_system_prompt = native_system_prompt
        self.requests: list[dict[str, Any]] = []
        """All messages of the client, as they came."""
        self.fails: dict[str, Mapping[str, Any]] = dict(fails or {})
        """Which requests fail from now on."""
        self._turns = itertools.repeat(turns) if callable(turns) else iter(turns)
        self._capabilities = dict(capabilities or {})
        self._modes = tuple(modes)
        self._options = {option: list(values) for option, values in (options or {}).items()}
        self._commands = tuple(commands)
        self._sessions: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._running: _Running | None = None

    @property
    def methods(self) -> list[str]:
        """The names of all that it was asked and told."""
        return [message["method"] for message in self.requests if "method" in message]

    @property
    def prompts(self) -> list[str]:
        """The texts of all prompts."""
        blocks = (each["params"]["prompt"] for each in self.asked("session/prompt"))
        return ["\n\n".join(one["text"] for one in each if one.get("type") == "text") for each in blocks]

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The requests of one kind."""
        return [message for message in self.requests if message.get("method") == method]

    def log(self, line: str) -> None:
        """Write to the log of the agent that runs."""
        self._now().wire.log(line)

    def tell(self, session_id: str, update: str, **fields: Any) -> None:
        """Tell something of a session, outside a turn."""
        params = {"sessionId": session_id, "update": {"sessionUpdate": update, **fields}}
        self._now().wire.send(method="session/update", params=params)

    def exit(self, code: int = 1) -> None:
        """End the agent that runs."""
        self._now().end(Ended(Exit(code=code)))

    async def play(self, wire: Wire) -> None:
        """Be the agent. Who starts it calls this."""
        self._running = _Running(self, wire)
        await self._running.run()

    def _now(self) -> _Running:
        if self._running is None:
            raise RuntimeError(f"the agent {self.id!r} was not started")
        return self._running

    # -- what it answers -----------------------------------------------------------------------------------

    def next_turn(self) -> tuple[Script, int]:
        """The next turn, and its number."""
        number = next(self._numbers)
        script = next(self._turns, None)
        if script is None:
            raise Refused({"code": -32603, "message": f"there is no turn {number} in the script"})
        return script, number

    def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """What a request is answered with, apart from prompts."""
        session_id = params.get("sessionId", "")
        match method:
            case "initialize":
                info = {"name": self.id, "version": "1"}
                return {"protocolVersion": 1, "agentCapabilities": self._capabilities, "agentInfo": info}
            case "session/new" | "session/fork":
                return self._opened(f"session-{len(self._sessions) + 1}", str(params["cwd"]))
            case "session/load" | "session/resume":
                if session_id not in self._sessions:
                    raise Refused({"code": -32002, "message": f"there is no session {session_id}"})
                return self._opened(session_id, str(params["cwd"]))
            case "session/list":
                return {"sessions": [{"sessionId": one, "cwd": cwd} for one, cwd in self._sessions.items()]}
            case "session/delete":
                self._sessions.pop(session_id, None)
                return {}
            case "session/close" | "session/set_mode" | "authenticate" | "logout":
                return {}
            case "session/set_config_option":
                return self._chosen(params["configId"], params["value"])
            case _:
                raise Refused({"code": -32601, "message": f"there is no method {method}"})

    def commands_of(self, session_id: str) -> None:
        """Tell a session's commands, if there are any."""
        if self._commands:
            told = [{"name": name, "description": ""} for name in self._commands]
            self.tell(session_id, "available_commands_update", availableCommands=told)

    def _opened(self, session_id: str, cwd: str) -> dict[str, Any]:
        self._sessions[session_id] = cwd
        answer: dict[str, Any] = {"sessionId": session_id, "configOptions": self._described()}
        if self._modes:
            available = [{"id": mode, "name": mode} for mode in self._modes]
            answer["modes"] = {"currentModeId": self._modes[0], "availableModes": available}
        self.commands_of(session_id)
        return answer

    def _chosen(self, option: str, value: str) -> dict[str, Any]:
        values = self._options.get(option, [])
        if value not in values:
            raise Refused({"code": -32602, "message": f"{option} cannot be {value!r}"})
        values.insert(0, values.pop(values.index(value)))
        return {"configOptions": self._described()}

    def _described(self) -> list[dict[str, Any]]:
        return [
            {
                "id": option,
                "name": option,
                "type": "select",
                "currentValue": values[0],
                "options": [{"value": value, "name": value} for value in sorted(values)],
            }
            for option, values in self._options.items()
        ]


class _Running:
    """The agent while it runs once."""

    def __init__(self, agent: ScriptedAgent, wire: Wire) -> None:
        self.wire = wire
        self._agent = agent
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns: dict[str, ScriptedTurn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)

    def end(self, ended: Ended) -> None:
        """End it as soon as possible."""
        if not self._ended.done():
            self._ended.set_exception(ended)

    async def run(self) -> None:
        """Answer until the client says no more, or someone ends it."""
        listening = asyncio.create_task(self._listen())
        try:
            await asyncio.wait([listening, self._ended], return_when=asyncio.FIRST_COMPLETED)
            if self._ended.done():
                self._ended.result()
            listening.result()
        finally:
            self._ended.cancel()
            for task in (listening, *self._tasks):
                task.cancel()
            await asyncio.gather(listening, *self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        while (message := await self.wire.receive()) is not None:
            self._agent.requests.append(message)
            if "method" not in message:
                self._heard(message)
            elif "id" not in message:
                if (turn := self._turns.get(message["params"].get("sessionId"))) is not None:
                    turn.is_cancelled.set()  # the only notification that there is
            elif message["method"] == "session/prompt":
                task = asyncio.create_task(self._answer(message, self._turn))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                await self._answer(message, self._plain)

    async def _answer(
        self, message: Mapping[str, Any], how: Callable[[Mapping[str, Any]], Awaitable[Any]]
    ) -> None:
        if (error := self._agent.fails.get(message["method"])) is not None:
            self.wire.send(id=message["id"], error=error)
            return
        try:
            self.wire.send(id=message["id"], result=await how(message))
        except Refused as refused:
            self.wire.send(id=message["id"], error=refused.error)
        except Ended as ended:
            self.end(ended)
        except Exception as problem:  # noqa: BLE001 - the test sees it in the turn's error
            error = {"code": -32603, "message": f"the script failed with {problem!r}"}
            self.wire.send(id=message["id"], error=error)

    async def _plain(self, message: Mapping[str, Any]) -> Any:
        return self._agent.answer(message["method"], message.get("params") or {})

    async def _turn(self, message: Mapping[str, Any]) -> dict[str, Any]:
        script, number = self._agent.next_turn()
        turn = ScriptedTurn(self.wire, message["params"], number, self._ask)
        self._turns[turn.session_id] = turn
        reason = None
        if callable(script):
            reason = await script(turn)
        else:
            for text in [script] if isinstance(script, str) else script:
                turn.say(text)
        reason = reason or ("cancelled" if turn.is_cancelled.is_set() else "end_turn")
        told = {"usage": turn.tokens, "_meta": turn.answer_meta}
        return {"stopReason": reason, **{name: value for name, value in told.items() if value}}

    async def _ask(self, method: str, params: Any) -> Any:
        request_id = f"ask-{next(self._ids)}"
        answered = self._asked[request_id] = asyncio.get_running_loop().create_future()
        self.wire.send(id=request_id, method=method, params=params)
        return await answered

    def _heard(self, answer: Mapping[str, Any]) -> None:
        asked = self._asked.pop(answer.get("id", ""), None)
        if asked is None or asked.done():
            return
        if "error" in answer:
            asked.set_exception(RuntimeError(str(answer["error"])))
        else:
            asked.set_result(answer.get("result"))
