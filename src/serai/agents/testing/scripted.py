"""An agent that does what a test has written down."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from serai.agents.testing.inside import Ended, Inside, Wire
from serai.agents.testing.turns import Refused, ScriptedTurn
from serai.machine.processes.child import Exit

__all__ = ["EVERYTHING", "Script", "ScriptedAgent"]

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
        return {"stopReason": reason, **({"usage": turn.tokens} if turn.tokens else {})}

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
