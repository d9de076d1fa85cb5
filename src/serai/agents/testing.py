"""Agents for tests: nothing has to be installed, and no process is started.

    from serai import agents
    from serai.agents.testing import ScriptedAgent

    agent = ScriptedAgent(["Hello!"])
    answer = await agents.ask(agent, "Hi")
    assert answer.text == "Hello!" and agent.prompts == ["Hi"]

They speak ACP through pipes, like any other agent, and everything in `serai.agents` takes them instead of a
name: `session`, `stream`, `failover`, `pool`, `client`. A `Replay` plays a recorded conversation.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, NoReturn, TypeAlias, cast

import msgspec

from serai.acp.process.connection import Launch
from serai.agents.ask.options import Options
from serai.agents.ask.start import Adapter
from serai.errors import FileUnreadable, ProtocolError
from serai.machine.processes.child import Exit
from serai.machine.processes.processes import Processes

_LONGEST = 64 * 1024 * 1024


class Ended(Exception):
    """The agent ends, with a code or by a signal."""

    def __init__(self, how: Exit) -> None:
        super().__init__(str(how))
        self.how = how


@dataclass(frozen=True, slots=True)
class Wire:
    """The agent's ends of its three pipes."""

    _heard: asyncio.StreamReader
    _said: asyncio.WriteTransport
    _logged: asyncio.WriteTransport

    async def receive(self) -> dict[str, Any] | None:
        """Return the client's next message; `None` at the end."""
        line = await self._heard.readline()
        return msgspec.json.decode(line) if line else None

    def send(self, **message: Any) -> None:
        """Send a message."""
        self.write(msgspec.json.encode({"jsonrpc": "2.0", **message}))

    def write(self, line: bytes) -> None:
        """Write a line, whatever it is, to the standard output."""
        self._said.write(line + b"\n")

    def log(self, line: str) -> None:
        """Write a line to the standard error."""
        self._logged.write(line.encode() + b"\n")


class Inside(Adapter):
    """An agent that runs inside this program."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.processes = cast("Processes", self)  # agents use only its `start`
        self.environ: Mapping[str, str] = {}
        """Variables of its last start."""
        self.cwd: Path | None = None
        """Folder of its last start."""
        self.starts = 0
        """Number of its starts."""

    @abstractmethod
    async def play(self, wire: Wire) -> None:
        """Play the agent until the client closes the conversation. Raise `Ended` to end in another way."""

    async def launch(self, options: Options) -> Launch:  # noqa: ARG002 - nothing depends on them
        """Return its launch: nothing has to be found."""
        return Launch((self.id,), name=self.id)

    async def start(
        self,
        argv: Sequence[str],  # noqa: ARG002 - there is only one
        *,
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        **how: Any,  # noqa: ARG002 - it is what a process would need
    ) -> _Child:
        """As `Processes.start`."""
        self.starts += 1
        self.cwd, self.environ = cwd, dict(environ or {})
        return await _Child.start(self)


class _Child:
    """The part of `Child` that an agent's connection needs."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None]

    @classmethod
    async def start(cls, agent: Inside) -> _Child:
        loop = asyncio.get_running_loop()
        (hears, tells), (reads, says), (notes, logs) = os.pipe(), os.pipe(), os.pipe()
        child = cls(*(os.fdopen(*each, 0) for each in ((tells, "wb"), (reads, "rb"), (notes, "rb"))))
        heard = asyncio.StreamReader(limit=_LONGEST)
        ears, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(heard), os.fdopen(hears, "rb", 0)
        )
        # Writing does not wait for the reader.
        said, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(says, "wb", 0))
        logged, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(logs, "wb", 0))
        child._task = asyncio.create_task(
            child._run(agent, Wire(heard, said, logged), (ears, said, logged)), name=f"agent {agent.id}"
        )
        return child

    @property
    def exit(self) -> Exit | None:
        return self._exit.result() if self._exit.done() else None

    async def wait(self) -> Exit:
        return await asyncio.shield(self._exit)

    async def gone(self) -> None:
        await asyncio.wait([self._task])

    async def end(self, *, eof: float = 0.0, grace: float = 0.0) -> Exit:
        del grace  # a task cannot refuse
        with contextlib.suppress(OSError):
            self.stdin.close()
        if eof and not self._exit.done():
            await asyncio.wait([self._exit], timeout=eof)
        self._task.cancel()
        await self.gone()
        return await self._exit

    async def _run(self, agent: Inside, wire: Wire, ends: tuple[asyncio.BaseTransport, ...]) -> None:
        how = Exit(signal=15)
        try:
            await agent.play(wire)
            how = Exit(code=0)
        except Ended as ended:
            how = ended.how
        except (ConnectionError, asyncio.CancelledError):
            pass
        except Exception as problem:  # noqa: BLE001 - like a failing program: the log has the error
            wire.log(f"{type(problem).__name__}: {problem}")
            how = Exit(code=1)
        finally:
            for end in ends:
                end.close()
            self._exit.set_result(how)


# -- an agent with scripted turns -------------------------------------------------------------------------


class ScriptedTurn:
    """One turn of a `ScriptedAgent`, for the function that plays it. Everything is sent at once."""

    def __init__(
        self, wire: Wire, params: Mapping[str, Any], number: int, ask: Callable[[str, Any], Awaitable[Any]]
    ) -> None:
        self.session_id: str = params["sessionId"]
        self.blocks: list[dict[str, Any]] = params["prompt"]
        """The prompt, as content blocks."""
        self.meta: Mapping[str, Any] = params.get("_meta") or {}
        self.number = number
        self.tokens: dict[str, int] = {}
        """The `usage` of the turn's answer: `inputTokens`, `outputTokens`, ..."""
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
        """Send text of the answer."""
        self._chunk("agent_message_chunk", text, message_id)

    def think(self, text: str, message_id: str | None = None) -> None:
        """Send reasoning."""
        self._chunk("agent_thought_chunk", text, message_id)

    def tool(self, title: str, kind: str = "other", *, call: str | None = None, **fields: Any) -> str:
        """Begin a tool call; `fields` are more fields of ACP, such as `rawInput`. Returns the call's id."""
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
        """Update a tool call: its status, its output, a file that it has changed.

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
        """Ask whether a tool may be used. Returns the kind of the chosen option, or `cancelled`.

        With the id of an earlier `call`, title and kind are left out.
        """
        sent: dict[str, Any] = {"toolCallId": call}
        if call is None:
            sent = {"toolCallId": f"tool-{next(self._ids)}", "title": title, "kind": kind}
        offered = [{"optionId": each, "name": each.replace("_", " "), "kind": each} for each in options]
        params = {"sessionId": self.session_id, "toolCall": sent, "options": offered}
        outcome = (await self.request("session/request_permission", params))["outcome"]
        return outcome.get("optionId", outcome["outcome"])

    def usage(self, used: int = 0, size: int = 0, cost_usd: float | None = None) -> None:
        """Send the fill of the context window, and the cost of the session so far."""
        cost = {} if cost_usd is None else {"cost": {"amount": cost_usd, "currency": "USD"}}
        self.update("usage_update", used=used, size=size, **cost)

    def plan(self, *entries: str) -> None:
        """Send a plan."""
        sent = [{"content": each, "priority": "medium", "status": "pending"} for each in entries]
        self.update("plan", entries=sent)

    def update(self, update: str, /, **fields: Any) -> None:
        """Send any update, by ACP's names: `turn.update("current_mode_update", currentModeId="ask")`."""
        params = {"sessionId": self.session_id, "update": {"sessionUpdate": update, **fields}}
        self._wire.send(method="session/update", params=params)

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request to the client, such as `fs/read_text_file`, and wait for the answer.

        Raises:
            RuntimeError: The answer is an error.
        """
        return await self._ask(method, params)

    def log(self, line: str) -> None:
        """Write to the log."""
        self._wire.log(line)

    def noise(self, line: str) -> None:
        """Write a line to the standard output that is no message."""
        self._wire.write(line.encode())

    async def cancelled(self) -> None:
        """Wait until the turn is cancelled."""
        await self.is_cancelled.wait()

    def fail(self, message: str, code: int = -32603, data: Any = None) -> NoReturn:
        """End the turn with an error."""
        raise ProtocolError(message, number=code, data=data)

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
"""The capabilities of an agent that supports everything."""

Script: TypeAlias = str | Sequence[str] | Callable[[ScriptedTurn], Awaitable[str | None]]
"""A turn: its text, in one piece or several, or a function that plays it and may return a stop reason."""


class ScriptedAgent(Inside):
    """An agent whose turns are scripted.

    After a restart it keeps its sessions and continues with its turns. All messages of the client are in
    `requests`. A turn beyond the script fails.

    Args:
        turns: The turns, one after the other, or a function that plays them all.
        name: The agent's name.
        capabilities: Its `agentCapabilities`: see `EVERYTHING`.
        modes: The ids of its modes; it begins in the first.
        options: Its config options by id, each with its possible values; the first is the current one.
        commands: The names of its commands.
        fails: Requests that it answers with an error, by method: `{"session/new": {"code": -32000, ...}}`.
        native_system_prompt: True if it takes a system prompt in `_meta`.
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
        """All messages of the client."""
        self.fails: dict[str, Mapping[str, Any]] = dict(fails or {})
        """The requests that fail from now on."""
        self._turns = itertools.repeat(turns) if callable(turns) else iter(turns)
        self._capabilities = dict(capabilities or {})
        self._modes = tuple(modes)
        self._options = {option: list(values) for option, values in (options or {}).items()}
        self._commands = tuple(commands)
        self._sessions: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._ids = itertools.count(1)
        self._open_requests: dict[str, asyncio.Future[Any]] = {}
        self._running: dict[str, ScriptedTurn] = {}
        self._wire: Wire
        self._tasks: asyncio.TaskGroup

    @property
    def methods(self) -> list[str]:
        """The methods of all requests and notifications of the client."""
        return [message["method"] for message in self.requests if "method" in message]

    @property
    def prompts(self) -> list[str]:
        """Texts of all prompts."""
        blocks = (each["params"]["prompt"] for each in self.asked("session/prompt"))
        return ["\n\n".join(one["text"] for one in each if one.get("type") == "text") for each in blocks]

    def asked(self, method: str) -> list[dict[str, Any]]:
        """Return the requests of one method."""
        return [message for message in self.requests if message.get("method") == method]

    def log(self, line: str) -> None:
        """Write to the log of the running agent."""
        self._wire.log(line)

    def tell(self, session_id: str, update: str, **fields: Any) -> None:
        """Send an update of a session, outside a turn."""
        params = {"sessionId": session_id, "update": {"sessionUpdate": update, **fields}}
        self._wire.send(method="session/update", params=params)

    def exit(self, code: int = 1) -> None:
        """End the running agent."""
        self._tasks.create_task(_end(code))

    async def play(self, wire: Wire) -> None:
        """Play the agent. Starting it calls this."""
        self._wire = wire
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await self._listen(wire)
                raise Ended(Exit(code=0))  # so that running turns end, too
        except BaseExceptionGroup as ended:
            raise ended.exceptions[0] from None

    async def _listen(self, wire: Wire) -> None:
        while (message := await wire.receive()) is not None:
            self.requests.append(message)
            if "method" not in message:
                self._heard(message)
            elif "id" not in message:
                if (turn := self._running.get(message["params"].get("sessionId"))) is not None:
                    turn.is_cancelled.set()  # the only notification
            elif message["method"] == "session/prompt":
                self._tasks.create_task(self._answer(wire, message))
            else:
                await self._answer(wire, message)

    async def _answer(self, wire: Wire, message: Mapping[str, Any]) -> None:
        method: str = message["method"]
        params: Mapping[str, Any] = message.get("params") or {}
        if (error := self.fails.get(method)) is not None:
            wire.send(id=message["id"], error=error)
            return
        problem: ProtocolError
        try:
            is_prompt = method == "session/prompt"
            result = await self._play_turn(wire, params) if is_prompt else self.answer(method, params)
        except ProtocolError as refused:
            problem = refused
        except Ended:
            raise
        except Exception as failure:  # noqa: BLE001 - the test gets it as the turn's error
            problem = ProtocolError(f"the script failed with {failure!r}")
        else:
            wire.send(id=message["id"], result=result)
            return
        more = {} if problem.data is None else {"data": problem.data}
        wire.send(id=message["id"], error={"code": problem.number, "message": problem.message, **more})

    async def _play_turn(self, wire: Wire, params: Mapping[str, Any]) -> dict[str, Any]:
        number, script = next(self._numbers), next(self._turns, None)
        if script is None:
            raise ProtocolError(f"there is no turn {number} in the script")
        turn = ScriptedTurn(wire, params, number, self._ask)
        self._running[turn.session_id] = turn
        reason = None
        if callable(script):
            reason = await script(turn)
        else:
            for text in [script] if isinstance(script, str) else script:
                turn.say(text)
        reason = reason or ("cancelled" if turn.is_cancelled.is_set() else "end_turn")
        sent = {"usage": turn.tokens, "_meta": turn.answer_meta}
        return {"stopReason": reason, **{name: value for name, value in sent.items() if value}}

    async def _ask(self, method: str, params: Any) -> Any:
        request_id = f"ask-{next(self._ids)}"
        answered = self._open_requests[request_id] = asyncio.get_running_loop().create_future()
        self._wire.send(id=request_id, method=method, params=params)
        return await answered

    def _heard(self, answer: Mapping[str, Any]) -> None:
        asked = self._open_requests.pop(answer.get("id", ""), None)
        if asked is None or asked.done():
            return
        if "error" in answer:
            asked.set_exception(RuntimeError(str(answer["error"])))
        else:
            asked.set_result(answer.get("result"))

    def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer to a request, except for prompts. Override it for more methods."""
        session_id = params.get("sessionId", "")
        match method:
            case "initialize":
                info = {"name": self.id, "version": "1"}
                return {"protocolVersion": 1, "agentCapabilities": self._capabilities, "agentInfo": info}
            case "session/new" | "session/fork":
                return self._opened(f"session-{len(self._sessions) + 1}", str(params["cwd"]))
            case "session/load" | "session/resume":
                if session_id not in self._sessions:
                    raise ProtocolError(f"there is no session {session_id}", number=-32002)
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
                raise ProtocolError(f"there is no method {method}", number=-32601)

    def _opened(self, session_id: str, cwd: str) -> dict[str, Any]:
        self._sessions[session_id] = cwd
        answer: dict[str, Any] = {"sessionId": session_id, "configOptions": self._described()}
        if self._modes:
            available = [{"id": mode, "name": mode} for mode in self._modes]
            answer["modes"] = {"currentModeId": self._modes[0], "availableModes": available}
        if self._commands:
            sent = [{"name": name, "description": ""} for name in self._commands]
            self.tell(session_id, "available_commands_update", availableCommands=sent)
        return answer

    def _chosen(self, option: str, value: str) -> dict[str, Any]:
        values = self._options.get(option, [])
        if value not in values:
            raise ProtocolError(f"{option} cannot be {value!r}", number=-32602)
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


async def _end(code: int) -> None:
    raise Ended(Exit(code=code))


# -- an agent that replays a conversation -----------------------------------------------------------------


class _TranscriptLine(msgspec.Struct, frozen=True, rename={"origin": "from", "exit_code": "exitCode"}):
    """One line of a `Recorder`'s file."""

    origin: Literal["client", "agent", "log", "end"]
    message: Any = None
    text: str | None = None
    exit_code: int | None = None


class Replay(Inside):
    """Replays the agent's side of a recorded conversation.

    `agents.ask("claude", ..., record="talk.ndjson")` records one. The client has to send the same requests in
    the same order; parameters may differ. Of a file with several conversations, each start plays the next. An
    unexpected request is answered with an error that names the expected one.

    Args:
        path: The file.
        name: The agent's name.

    Raises:
        FileUnreadable: The file is missing, or is no transcript.
    """

    def __init__(self, path: Path | str, *, name: str = "replay") -> None:
        super().__init__(name)
        self._conversations: list[list[_TranscriptLine]] = []
        try:
            entries = msgspec.json.Decoder(_TranscriptLine).decode_lines(Path(path).read_bytes())
        except (OSError, msgspec.DecodeError) as error:
            raise FileUnreadable(f"{path} cannot be read as a transcript: {error}") from None
        has_ended = True
        for entry in entries:
            if has_ended:
                self._conversations.append([])
            self._conversations[-1].append(entry)
            has_ended = entry.origin == "end"
        if not self._conversations:
            raise FileUnreadable(f"{path} is empty")

    async def play(self, wire: Wire) -> None:
        """Play the agent. Starting it calls this."""
        place = min(self.starts, len(self._conversations)) - 1
        ids: dict[str, Any] = {}  # the ids of requests now, by those in the file
        for entry in self._conversations[place]:
            match entry.origin:
                case "client":
                    if not await self._expect(entry.message, wire, ids):
                        return
                case "agent":
                    self._say(entry, wire, ids)
                case "log":
                    wire.log(entry.text or "")
                case "end" if entry.exit_code:
                    raise Ended(Exit(code=entry.exit_code))
                case _:
                    break
        while (message := await wire.receive()) is not None:
            self._refuse(message, "nothing", wire)

    async def _expect(self, then: dict[str, Any], wire: Wire, ids: dict[str, Any]) -> bool:
        """Wait for the client's recorded message. Returns false if the client has ended."""
        while (message := await wire.receive()) is not None:
            if message.get("method") == then.get("method"):
                if "method" in then and "id" in then:
                    ids[str(then["id"])] = message["id"]
                return True
            self._refuse(message, then.get("method", "an answer"), wire)
        return False

    def _say(self, entry: _TranscriptLine, wire: Wire, ids: dict[str, Any]) -> None:
        message = entry.message
        if message is None:
            wire.write((entry.text or "").encode())
            return
        if "method" not in message and "id" in message:
            message = {**message, "id": ids.get(str(message["id"]), message["id"])}
        wire.write(msgspec.json.encode(message))

    def _refuse(self, message: dict[str, Any], expected: str, wire: Wire) -> None:
        if "method" in message and "id" in message:
            text = f"{message['method']} was not asked then: {expected} was"
            wire.send(id=message["id"], error={"code": -32603, "message": text})
