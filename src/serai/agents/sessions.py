"""A conversation with an agent that a program drives."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast, overload

from serai.acp import (
    AcpSession,
    AgentCapabilities,
    ConfigOption,
    Failure,
    Finished,
    Item,
    Modes,
    PermissionOption,
    PermissionRequest,
    Update,
    UsageUpdate,
    text_block,
)
from serai.agents.asked import PermissionAsked
from serai.agents.costs import CostTracker
from serai.agents.events import TurnFinished
from serai.agents.gathering import Gathering
from serai.agents.json_answers import Shape, Unfit, instructions, read_answer, repair_instructions, shape_of
from serai.agents.models import models_of
from serai.agents.options import Options, SessionOptions
from serai.agents.parts import Command, Prompt, blocks_of
from serai.agents.policies import Policy, automatic, chosen, read_policy
from serai.agents.results import AskResult, JsonResult
from serai.agents.running import AskedMark, BeginMark, RunningTurn
from serai.agents.streaming import AgentStream, Cancelling, Events
from serai.errors import AgentClosed, AgentError, BudgetExceeded, JsonInvalid, PermissionTimedOut

if TYPE_CHECKING:
    from serai.agents.hosting import WireHost

__all__ = ["WireSession"]

_log = logging.getLogger(__name__)

T = TypeVar("T")


class WireSession:
    """One conversation. `agents.session` opens it, and so does `WireHost.new_session`.

    One turn at a time: what is asked meanwhile waits for its turn, in order. Use it with `async with`, or
    `close` it.

    Args:
        host: The running agent.
        acp: The session underneath.
        options: What was said when it was opened.
        owns_host: Whether the agent ends with this session.
        is_known: Whether it is an earlier session that goes on.
        system_prompt: What goes before the first message, if anything.
    """

    def __init__(
        self,
        host: WireHost,
        acp: AcpSession,
        options: Options,
        *,
        owns_host: bool,
        is_known: bool,
        system_prompt: str | None,
    ) -> None:
        self.host = host
        """The running agent, with `capabilities` and what else it is."""
        self._acp = acp
        self._options = options
        self._owns_host = owns_host
        self._system_prompt = system_prompt
        self._policy = read_policy(options.get("permissions", Policy.AUTO_ALLOW))
        tracker = options.get("costs")
        self._meter = (tracker if tracker is not None else CostTracker()).meter(
            host.name,
            acp.id,
            told=acp.usage.cost if acp.usage else None,
            is_known=is_known,
            warn=host.warn,
        )
        self._turns = asyncio.Lock()
        self._running: RunningTurn | None = None
        self._settling: asyncio.Task[None] | None = None

    # -- what it is ----------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The agent's name for it: what `load`, `resume` and `fork` take."""
        return self._acp.id

    @property
    def cwd(self) -> Path:
        """Where the agent works."""
        return self._acp.cwd

    @property
    def capabilities(self) -> AgentCapabilities:
        """What the agent can do."""
        return self.host.capabilities

    @property
    def modes(self) -> Modes | None:
        """The modes that it has, and the one that it is in."""
        return self._acp.modes

    @property
    def config_options(self) -> tuple[ConfigOption, ...]:
        """What can be chosen for it, with the values now: the model, for instance."""
        return self._acp.config_options

    @property
    def commands(self) -> tuple[Mapping[str, Any], ...]:
        """The agent's own commands: `name`, `description`, `input`."""
        return self._acp.commands

    @property
    def title(self) -> str | None:
        """What it is about, in the agent's words."""
        return self._acp.title

    @property
    def usage(self) -> UsageUpdate | None:
        """What the agent told last of its context window, and of the cost of the whole session."""
        return self._acp.usage

    @property
    def history(self) -> tuple[Update, ...]:
        """What the agent told again when an earlier session was opened."""
        return tuple(self._acp.replayed)

    @property
    def acp(self) -> AcpSession:
        """The session underneath, for what is not offered here."""
        return self._acp

    # -- asking --------------------------------------------------------------------------------------------

    async def ask(self, prompt: Prompt, *, meta: Mapping[str, Any] | None = None) -> AskResult:
        """Ask something, and wait for the whole answer.

        Cancelling it cancels the turn; the session can be used on.

        Args:
            prompt: Text, a `Command`, or a list of parts. What the agent cannot take is left out, with a
                warning; `AskResult.dropped` has the types.
            meta: The prompt's `_meta`.

        Raises:
            AgentError: The turn has failed; which error says why.
            BudgetExceeded: What may be spent has been spent.
        """
        stream = AgentStream(
            lambda cancelling: self.follow(prompt, cancelling, meta=meta, is_attended=False), lambda: self.id
        )
        return await stream.result()

    @overload
    async def ask_json(self, prompt: Prompt, schema: type[T]) -> JsonResult[T]: ...
    @overload
    async def ask_json(self, prompt: Prompt, schema: Any) -> JsonResult[Any]: ...
    async def ask_json(self, prompt: Prompt, schema: Any) -> JsonResult[Any]:
        """Ask for JSON of a certain shape. An answer that does not have it is sent back once.

        Args:
            prompt: As for `ask`.
            schema: A type that msgspec knows, a pydantic model, or a JSON Schema (a mapping, or text).

        Raises:
            JsonInvalid: The second answer was not right either. The error has both text and issues.
            Mismatch: The schema is none. Nothing was sent.
            AgentError: As for `ask`.
        """
        shape = shape_of(schema)
        parts = [prompt] if isinstance(prompt, str | Command) else list(prompt)
        result = await self.ask([*parts, text_block(instructions(shape))])
        try:
            return self._read(result, shape, repaired=False)
        except Unfit as unfit:
            if result.stop_reason != "end_turn":
                raise self._unreadable(result, unfit) from None
            issues = unfit.issues
        result = await self.ask(repair_instructions(shape, issues))
        try:
            return self._read(result, shape, repaired=True)
        except Unfit as unfit:
            raise self._unreadable(result, unfit) from None

    def stream(self, prompt: Prompt, *, meta: Mapping[str, Any] | None = None) -> AgentStream:
        """Ask something, and follow the answer while it comes. The turn begins with the first event.

        Args:
            prompt: As for `ask`.
            meta: The prompt's `_meta`.
        """
        return AgentStream(
            lambda cancelling: self.follow(prompt, cancelling, meta=meta, is_attended=True), lambda: self.id
        )

    def cancel(self) -> None:
        """Tell the agent to stop what it is doing. Without a turn under way this does nothing."""
        self._acp.cancel()

    # -- the session itself --------------------------------------------------------------------------------

    async def set_mode(self, mode_id: str) -> None:
        """Put it into another mode.

        Raises:
            CapabilityNotSupportedError: It has no such mode (`mode:ID`), or no modes (`setSessionMode`).
            AgentError: The agent refused, or is gone.
        """
        await self._acp.set_mode(mode_id)

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Choose a value of one of its options.

        Raises:
            CapabilityNotSupportedError: The agent has no options (`setSessionConfigOption`).
            AgentError: The agent refused, or is gone.
        """
        await self._acp.set_config_option(config_id, value)

    async def fork(self, **options: Unpack[SessionOptions]) -> WireSession:
        """Another session of the same agent that begins where this one is.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.fork`. Nothing was sent.
        """
        return await self.host.fork_session(self.id, **cast("SessionOptions", {"cwd": self.cwd, **options}))

    async def close(self) -> None:
        """End it, and the agent with it if it was started for this session. Again does no harm.

        A turn that runs ends. An agent that can is told that the session is closed.
        """
        if self._owns_host:
            await self.host.close()
        elif self.host.sessions.get(self.id) is self:
            if self.capabilities.close_session and self.host.is_running:
                with suppress(AgentError):  # it is forgotten all the same
                    await self._acp.close()
            self._acp.forget()
            self.host.forget(self)
        if self._settling is not None:
            await asyncio.shield(self._settling)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    # -- turns ---------------------------------------------------------------------------------------------

    async def follow(
        self,
        prompt: Prompt,
        cancelling: Cancelling,
        *,
        meta: Mapping[str, Any] | None = None,
        is_attended: bool = True,
    ) -> Events:
        """One turn, as `stream` gives it.

        Args:
            prompt: What is asked.
            cancelling: The wish that it be stopped.
            meta: The prompt's `_meta`.
            is_attended: Whether someone sees the events, and could answer.
        """
        async with self._turns:
            if self._settling is not None:
                await asyncio.shield(self._settling)
            running = RunningTurn(
                Gathering(self.host.name, self.id),
                self._meter,
                self._options.get("tools"),
                is_asking=is_attended and self._policy is Policy.STREAM,
                warn=self.host.warn,
            )
            if cancelling.is_wanted:
                running.end = Finished("cancelled")
            else:
                self._begin(running, prompt, meta)
                cancelling.began(running.cancel)
                try:
                    async with aclosing(self._items()) as items:
                        async for item in items:
                            event = running.take(item)
                            if running.end is not None:
                                break
                            if event is not None:
                                yield event
                finally:
                    self._running = None
                    if running.end is None:
                        running.cancel()
                        self._settling = asyncio.create_task(self._settle(running))
            result = self._conclude(running)
        yield TurnFinished(result)  # by now the next one may begin

    def _begin(self, running: RunningTurn, prompt: Prompt, meta: Mapping[str, Any] | None) -> None:
        self._meter.begin()
        names = [name for each in self.commands if isinstance(name := each.get("name"), str)]
        blocks = blocks_of(prompt, agent=self.host.name, commands=names, system_prompt=self._system_prompt)
        turn = self._acp.prompt(blocks, meta=meta)
        self._acp.receive(BeginMark())  # nothing of the agent can have come in between
        running.sent(turn)
        self._running = running
        self._system_prompt = None

    def _items(self) -> AsyncGenerator[Item, None]:
        return cast("AsyncGenerator[Item, None]", self._acp.updates())

    async def _settle(self, running: RunningTurn) -> None:
        """Take what is left of a turn that nobody follows any more, so that the next begins at its own."""
        try:
            async with aclosing(self._items()) as items:
                async for item in items:
                    running.take(item)
                    if running.end is not None:
                        break
            if isinstance(running.end, Finished):
                self._result(running, running.end)
        except Exception:  # noqa: BLE001 - nobody waits for it who could be told
            _log.exception("the rest of a turn was not dealt with")

    def _conclude(self, running: RunningTurn) -> AskResult:
        match running.end:
            case Finished() as finished:
                result = self._result(running, finished)
            case Failure(error):
                raise running.verdict or error
            case None:
                raise AgentClosed(f"the session {self.id} was closed", agent=self.host.name)
        tracker = self._meter.tracker
        if running.was_sent and tracker.is_exceeded:
            running.verdict = running.verdict or tracker.exceeded()
        if isinstance(running.verdict, BudgetExceeded):
            running.verdict.result = result
        if running.verdict is not None:
            raise running.verdict
        return result

    def _result(self, running: RunningTurn, finished: Finished) -> AskResult:
        result = running.gathering.result(finished, dropped=running.dropped, usage=self.usage)
        if not running.was_sent:
            return result
        return replace(result, cost_usd=self._meter.end(result, self._model))

    @property
    def _model(self) -> str | None:
        option = models_of(self.config_options).model_option
        return str(option.value) if option is not None else self._options.get("model")

    # -- JSON ----------------------------------------------------------------------------------------------

    def _read(self, result: AskResult, shape: Shape[T], *, repaired: bool) -> JsonResult[T]:
        data, raw = read_answer(result.text, shape)
        return JsonResult(data, raw, result, repaired)

    def _unreadable(self, result: AskResult, unfit: Unfit) -> JsonInvalid:
        how = "" if result.stop_reason == "end_turn" else f" (the turn ended with {result.stop_reason})"
        return JsonInvalid(
            f"the agent {self.host.name!r} did not answer with the JSON that was asked for{how}: {unfit}",
            agent=self.host.name,
            text=result.text,
            issues=unfit.issues,
        )

    # -- permissions ---------------------------------------------------------------------------------------

    async def permit(self, request: PermissionRequest) -> str | None:
        """Answer what the agent asks permission for. The host calls it."""
        running = self._running
        asked = PermissionAsked(request)
        if running is not None:
            # It takes its place behind what the agent has told before, and is decided when that is known.
            self._acp.receive(AskedMark(asked))
            await asked.reached()
        asked.chosen = await self._decide(asked, running)
        return asked.chosen.id if asked.chosen is not None else None

    async def _decide(self, asked: PermissionAsked, running: RunningTurn | None) -> PermissionOption | None:
        tools = self._options.get("tools")
        if tools is not None and tools.refuses(asked.call):
            return automatic(Policy.AUTO_REJECT, asked.options)
        if isinstance(self._policy, Policy) and self._policy is not Policy.STREAM:
            return automatic(self._policy, asked.options)
        if self._policy is Policy.STREAM and (running is None or not running.is_asking):
            self.host.warn(
                f'Agent "{self.host.name}" asks for permission, and nobody follows its stream — cancelled.'
            )
            return None
        limit = self._options.get("permission_timeout")
        try:
            async with asyncio.timeout(limit or None):
                return await self._ask_someone(asked)
        except TimeoutError:
            error = PermissionTimedOut(
                f"nobody answered in {limit:g} s what the agent {self.host.name!r} asked: {asked.call.title}",
                agent=self.host.name,
            )
            if running is not None:
                running.stop(error)
            return None

    async def _ask_someone(self, asked: PermissionAsked) -> PermissionOption | None:
        if isinstance(self._policy, Policy):
            return await asked.answered()
        try:
            choice = self._policy(asked)
            if inspect.isawaitable(choice):
                choice = await choice
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, it is no permission
            _log.exception("a permission policy has failed")
            self.host.warn(f"The permission policy failed with {problem!r} — the request is cancelled.")
            return None
        return chosen(choice, asked.options)
