"""A conversation with an agent that a program drives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast, overload

from serai.acp import (
    AcpSession,
    AgentCapabilities,
    ConfigOption,
    CurrentModeUpdate,
    Failure,
    Finished,
    Item,
    Modes,
    PermissionRequest,
    Update,
    UsageUpdate,
)
from serai.agents.ask.costs import CostTracker
from serai.agents.ask.events import AskResult, JsonResult, TurnFinished
from serai.agents.ask.json_answer import ask_for, shape_of
from serai.agents.ask.options import OPENINGS, Options, SessionOptions, checked_options, merged, trace_context
from serai.agents.ask.permissions import PermissionAsked, Permitting
from serai.agents.ask.prompt import Prompt, blocks_of
from serai.agents.ask.renewal import Renewal, renew, tell_of
from serai.agents.ask.retries import Context, Renewed, Retries, Why, persistently, read_retries
from serai.agents.ask.stream import AgentStream, Cancelling, Closing, Events
from serai.agents.ask.turn import AskedMark, BeginMark, Gathering, RunningTurn, take_rest
from serai.agents.catalogue.introduction import Models, models_of
from serai.errors import AgentClosed, AgentError, BudgetExceeded
from serai.machine.processes.uninterrupted import to_its_end

if TYPE_CHECKING:
    from serai.agents.ask.host import WireHost
    from serai.agents.ask.session import WireSession

__all__ = ["Attached", "WireSession"]


class Attached:
    """What is known of a session, and what can be chosen for it.

    Args:
        host: The running agent.
        acp: The session underneath.
        options: All that was said for it.
    """

    def __init__(self, host: WireHost, acp: AcpSession, options: Options) -> None:
        self._host = host
        self._acp = acp
        self._options = options

    @property
    def host(self) -> WireHost:
        """The running agent, with `capabilities` and what else it is; another one once it was renewed."""
        return self._host

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
    def models(self) -> Models:
        """The models that it has, the one that is chosen, and the same for the effort."""
        return models_of(self.config_options)

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

    # -- what is done with it ------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Tell the agent to stop what it is doing. Without a turn under way this does nothing."""
        self._acp.cancel()

    async def set_mode(self, mode_id: str) -> None:
        """Put it into another mode.

        Raises:
            CapabilityNotSupportedError: It has no such mode (`mode:ID`), or no modes (`setSessionMode`).
            AgentError: The agent refused, or is gone.
        """
        await self._acp.set_mode(mode_id)
        self._options = cast("Options", {**self._options, "mode": mode_id})  # also for a new agent
        self._acp.receive(CurrentModeUpdate(current_mode_id=mode_id))

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Choose a value of one of its options.

        Raises:
            CapabilityNotSupportedError: The agent has no options (`setSessionConfigOption`).
            AgentError: The agent refused, or is gone.
        """
        await self._acp.set_config_option(config_id, value)
        chosen = {**self._options.get("config", {}), config_id: value}
        self._options = cast("Options", {**self._options, "config": chosen})  # also for a new agent

    async def fork(self, **options: Unpack[SessionOptions]) -> WireSession:
        """Another session of the same agent that begins where this one is, with the options of this one.

        Args:
            **options: What is to be otherwise in it.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.fork`. Nothing was sent.
        """
        own = {name: value for name, value in self._options.items() if name not in OPENINGS}
        given = checked_options({"cwd": self.cwd, **options, "fork": self.id})
        return await self.host.open_session(merged(cast("Options", own), given))


_log = logging.getLogger(__name__)

T = TypeVar("T")


class WireSession(Attached, Closing):
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
        super().__init__(host, acp, options)
        self._owns_host = owns_host
        self._permitting = Permitting(options, agent=host.name, warn=host.warn)
        self._retries = read_retries(options.get("retries"))
        tracker = options.get("costs")
        self._tracker = tracker if tracker is not None else CostTracker()
        self._has_past = is_known or bool(options.get("fork"))
        self._turns = asyncio.Lock()
        self._running: RunningTurn | None = None
        self._settling: asyncio.Task[None] | None = None
        self._renewal = Renewal(self._renew)
        self._closed = asyncio.Event()
        self._attach(host, acp, is_known=is_known, system_prompt=system_prompt)

    def _attach(self, host: WireHost, acp: AcpSession, *, is_known: bool, system_prompt: str | None) -> None:
        self._host = host
        self._acp = acp
        self._system_prompt = system_prompt
        self._count = 0
        told = acp.usage.cost if acp.usage else None
        self._meter = self._tracker.meter(host.name, acp.id, told=told, is_known=is_known, warn=host.warn)
        self._renewal.due = None
        self.opened()

    def opened(self) -> None:
        """All that was chosen for it has been set: what changes from now on is news. The host calls it."""
        self._mode = self._acp.modes.current if self._acp.modes is not None else None

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
            AttemptsExhausted: It has failed as often as `retries` says.
            BudgetExceeded: What may be spent has been spent.
        """
        async with self._turns:
            return await self._ask(prompt, meta=meta)

    async def _ask(
        self, prompt: Prompt, *, meta: Mapping[str, Any] | None = None, instead: Prompt | None = None
    ) -> AskResult:
        """As `ask`, and `follow`, for who has the lock: nobody comes in between."""
        begun: list[RunningTurn] = []

        def events(cancelling: Cancelling) -> Events:
            begun.clear()
            return self.follow(
                prompt,
                cancelling,
                meta=meta,
                is_attended=False,
                begun=begun.append,
                is_held=True,
                instead=instead,
            )

        def once() -> Awaitable[AskResult]:
            return AgentStream(events, lambda: self.id).result()

        def has_used_tools() -> bool:
            return any(running.has_used_tools for running in begun)

        if self._retries is None:
            return await once()
        return await self._persistently(once, self._retries, has_used_tools)

    async def _persistently(
        self,
        once: Callable[[], Awaitable[T]],
        retries: Retries,
        has_used_tools: Callable[[], bool] = lambda: False,
    ) -> T:
        def may_go_on(error: AgentError) -> bool:
            is_alive = not self._closed.is_set() and (self._owns_host or self.host.is_running)
            return is_alive and retries.covers(error, has_used_tools=has_used_tools())

        name = self.host.name
        return await persistently(once, retries, may_go_on=may_go_on, pause=self._pause, agent=name)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closed.wait()

    @overload
    async def ask_json(self, prompt: Prompt, schema: type[T]) -> JsonResult[T]: ...
    @overload
    async def ask_json(self, prompt: Prompt, schema: Any) -> JsonResult[Any]: ...
    async def ask_json(self, prompt: Prompt, schema: Any) -> JsonResult[Any]:
        """Ask for JSON of a certain shape. An answer that does not have it is sent back once.

        What others ask meanwhile waits until then, and so does a new agent after so many turns. One that had
        to be started anew all the same, and knows nothing of the question, is asked that again.

        Args:
            prompt: As for `ask`.
            schema: A type that msgspec knows, a pydantic model, or a JSON Schema (a mapping, or text).

        Raises:
            JsonInvalid: The second answer was not right either. The error has both text and issues.
            Mismatch: The schema is none. Nothing was sent.
            AgentError: As for `ask`.
        """
        shape = shape_of(schema)
        async with self._turns:
            return await ask_for(shape, prompt, self._ask)

    def stream(self, prompt: Prompt, *, meta: Mapping[str, Any] | None = None) -> AgentStream:
        """Ask something, and follow the answer while it comes. The turn begins with the first event.

        Args:
            prompt: As for `ask`.
            meta: The prompt's `_meta`.
        """
        return AgentStream(
            lambda cancelling: self.follow(prompt, cancelling, meta=meta, is_attended=True), lambda: self.id
        )

    # -- the session itself --------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or is being closed."""
        return self._closed.is_set()

    async def close(self) -> None:
        """End it, and the agent with it if it was started for this session. Again does no harm.

        A turn that runs ends. An agent that can is told that the session is closed. When this is cancelled,
        it waits all the same until it is closed.
        """
        await to_its_end(self._close())

    async def _close(self) -> None:
        self._closed.set()
        await self._renewal.stop()
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

    # -- turns ---------------------------------------------------------------------------------------------

    async def follow(
        self,
        prompt: Prompt,
        cancelling: Cancelling,
        *,
        meta: Mapping[str, Any] | None = None,
        is_attended: bool = True,
        begun: Callable[[RunningTurn], None] | None = None,
        is_held: bool = False,
        instead: Prompt | None = None,
    ) -> Events:
        """One turn, as `stream` gives it.

        Args:
            prompt: What is asked.
            cancelling: The wish that it be stopped.
            meta: The prompt's `_meta`.
            is_attended: Whether someone sees the events, and could answer.
            begun: Is told what is known of the turn, when it begins.
            is_held: Whether the caller sees to it that turns follow one another.
            instead: For a turn that goes on from the one before: what is asked of an agent that knows nothing
                of that. One that runs is not started anew in between.
        """
        async with nullcontext() if is_held else self._turns:
            if self._settling is not None:
                await asyncio.shield(self._settling)
            await self._acp.at_rest()  # a turn that has failed may not have been answered yet
            await self._renew_if_due(goes_on=instead is not None)
            if instead is not None and not self._has_past:
                prompt = instead
            running = RunningTurn(
                Gathering(self.host.name, self.id),
                self._meter,
                self._permitting.tools,
                mode=self._mode,
                is_asking=is_attended and self._permitting.is_by_stream,
                warn=self.host.warn,
            )
            if begun is not None:
                begun(running)
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
                            if isinstance(event, PermissionAsked):
                                event.reach(is_for_stream=running.is_asking)
                                await event.judged()
                                self._permitting.tell_refusal(event)
                            if event is not None:
                                yield event
                finally:
                    self._running = None
                    self._mode = running.mode
                    if running.end is None:
                        running.cancel()
                        self._settling = asyncio.create_task(self._settle(running))
            result = self._conclude(running)
        yield TurnFinished(result)  # by now the next one may begin

    def _begin(self, running: RunningTurn, prompt: Prompt, meta: Mapping[str, Any] | None) -> None:
        self._meter.begin()
        names = [name for each in self.commands if isinstance(name := each.get("name"), str)]
        blocks = blocks_of(
            prompt,
            agent=self.host.name,
            commands=names,
            system_prompt=self._system_prompt,
            capabilities=self.capabilities,
        )
        told = {**trace_context(), **self._options.get("meta", {}), **(meta or {})}
        turn = self._acp.prompt(blocks, meta=told)
        self._acp.receive(BeginMark())  # nothing of the agent can have come in between
        running.sent(turn)
        self._running = running
        self._system_prompt = None
        self._has_past = True
        self._count += 1

    def _items(self) -> AsyncGenerator[Item, None]:
        return cast("AsyncGenerator[Item, None]", self._acp.updates())

    async def _settle(self, running: RunningTurn) -> None:
        """Take what is left of a turn that nobody follows any more, so that the next begins at its own."""
        try:
            await take_rest(running, self._items())
            self._mode = running.mode
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
                raise self._gone()
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

    # -- a new agent ---------------------------------------------------------------------------------------

    async def _renew_if_due(self, *, goes_on: bool = False) -> None:
        """Start the agent anew when it is gone, or has had its turns, and that was asked for.

        Args:
            goes_on: Whether what is asked next needs what was said last: then its turns are not over yet.
        """
        if not self._owns_host or self._closed.is_set():
            return
        limit = self._options.get("recycle_after", 0)
        is_gone = not self.host.is_running
        is_alone = len(self.host.sessions) == 1  # others would end with it
        if is_gone and (self._renewal.due is not None or self._retries is not None):
            why = self._renewal.due or Why.GONE
        elif limit and self._count >= limit and is_alone and (is_gone or not goes_on):
            why = Why.TURN_LIMIT
        else:
            return
        if not await self._renewal.run(why):
            raise self._gone()

    async def revive(self) -> None:
        """Start the agent anew if it is gone, also where that was not asked for. The pool calls it.

        Raises:
            AgentError: It does not start, as often as `retries` says; or the session was closed.
        """
        async with self._turns:
            if not self.host.is_running:
                self._renewal.due = self._renewal.due or Why.GONE
            if self._retries is None:
                await self._renew_if_due()
            else:
                await self._persistently(self._renew_if_due, self._retries)

    async def _renew(self, why: Why) -> None:
        await self.host.close()
        host, acp, context = await renew(self, self._options, has_past=self._has_past)
        is_known = context in (Context.RESUMED, Context.LOADED)
        # What holds for the whole session has to be said again where nothing else is known of it.
        is_said = is_known or host.definition.native_system_prompt
        text = None if is_said else self._options.get("system_prompt")
        self._attach(host, acp, is_known=is_known, system_prompt=text)
        self._has_past = is_known
        tell_of(Renewed(why, context, acp.id), host, self._options)

    def _gone(self) -> AgentClosed:
        return AgentClosed(f"the session {self.id} was closed", agent=self.host.name)

    @property
    def _model(self) -> str | None:
        option = self.models.model_option
        return str(option.value) if option is not None else self._options.get("model")

    # -- for the host --------------------------------------------------------------------------------------

    async def permit(self, request: PermissionRequest) -> str | None:
        """Answer what the agent asks permission for. The host calls it."""
        running = self._running
        asked = PermissionAsked(request)
        try:
            if running is not None:
                # It takes its place behind what the agent has told before, and is decided when that is known.
                self._acp.receive(AskedMark(asked))
                await asked.reached()
            asked.chosen = await self._permitting.decide(asked, running)
        finally:
            asked.close()
        if running is None:  # else whoever follows the turn does
            self._permitting.tell_refusal(asked)
        return asked.chosen.id if asked.chosen is not None else None
