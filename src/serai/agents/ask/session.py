"""A conversation of a program with an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from serai.acp.capabilities import AgentCapabilities
from serai.acp.client_side import PermissionRequest
from serai.acp.prompt import Finished, PromptFailure
from serai.acp.session import AcpSession, OpenWay
from serai.acp.session_start import Link, Opened, Wanted
from serai.agents.ask.costs import CostTracker, Meter
from serai.agents.ask.events import AskResult, JsonResult, TurnFinished
from serai.agents.ask.json_answer import SchemaText, ask_for, shape_of
from serai.agents.ask.options import (
    Options,
    SessionOptions,
    checked_options,
    merged,
    meta_of,
    without_openings,
)
from serai.agents.ask.permissions import PermissionAsked, Permissions
from serai.agents.ask.prompt import Prompt, blocks_of
from serai.agents.ask.retries import Renewed, Why, persistently, read_retries
from serai.agents.ask.start import Closing
from serai.agents.ask.turn import AgentStream, Cancelling, Events, RunningTurn
from serai.agents.catalogue.introduction import Models, models_of
from serai.errors import AgentClosed, AgentError, BudgetExceeded

if TYPE_CHECKING:
    from serai.agents.ask.host import WireHost

__all__ = ["WireSession"]

T = TypeVar("T")


class WireSession(Closing):
    """One conversation. `agents.session` opens it, and so does `WireHost.new_session`.

    One turn at a time: other questions wait, in order. Use it with `async with`, or `close` it: this ends a
    running turn, and the agent if it was started for this session.
    """

    def __init__(
        self, host: WireHost, acp: AcpSession, options: Options, way: OpenWay, *, owns_host: bool
    ) -> None:
        self._options = options
        self._owns_host = owns_host
        self._permissions = Permissions(options, agent=host.name, warn=host.warn)
        self._retries = read_retries(options.get("retries"))
        tracker = options.get("costs")
        self._tracker = tracker if tracker is not None else CostTracker()
        self._turns = asyncio.Lock()
        self._running: RunningTurn | None = None
        self._has_used_tools = False
        self._abandoned: RunningTurn | None = None
        """An abandoned turn, which nobody has followed to its end."""
        self._closed = asyncio.Event()
        self._link: Link[WireHost] = Link(host.again, self._attempt, name=host.name)
        self._link.last = Opened(host, acp, way)
        self._use(self._link.last)

    def _use(self, opened: Opened[WireHost]) -> None:
        """Use this agent and session from now on."""
        self._host, self._acp = opened.agent, opened.session
        is_known = opened.way in (OpenWay.RESUMED, OpenWay.LOADED)
        self._has_past = opened.way.knows_past
        # The system prompt goes with the first message, unless the agent has it already.
        is_said = is_known or self._host.definition.native_system_prompt
        self._system_prompt = None if is_said else self._options.get("system_prompt")
        self._count = 0
        reported = self._acp.usage.cost if self._acp.usage else None
        self._meter = Meter(
            self._tracker,
            self._host.name,
            self.id,
            reported=reported,
            is_known=is_known,
            warn=self._host.warn,
        )
        self._due: Why | None = None
        self._acp.permit = self._permit

    # -- its state ---------------------------------------------------------------------------------------

    @property
    def host(self) -> WireHost:
        """The running agent. It is another one after the session was renewed."""
        return self._host

    @property
    def id(self) -> str:
        """Its id, which `load`, `resume` and `fork` take."""
        return self._acp.id

    @property
    def capabilities(self) -> AgentCapabilities:
        """The agent's capabilities."""
        return self.host.capabilities

    @property
    def models(self) -> Models:
        """Its models and efforts, with the options that choose them."""
        return models_of(self._acp.config_options)

    @property
    def acp(self) -> AcpSession:
        """The session's state at the agent: `modes`, `commands`, `title`, ..., and history in `replayed`."""
        return self._acp

    @property
    def is_closed(self) -> bool:
        """True once it is closed or being closed."""
        return self._closed.is_set()

    # -- asking --------------------------------------------------------------------------------------------

    async def ask(self, prompt: Prompt, *, meta: Mapping[str, Any] | None = None) -> AskResult:
        """Ask something, and wait for the whole answer. `meta` is the prompt's `_meta`.

        Cancelling it cancels the turn; the session stays usable.

        Raises:
            AgentError: The turn has failed; the class of the error says why.
            AttemptsExhausted: It has failed after all `retries`.
            BudgetExceeded: The budget is spent.
        """
        return await self._persistently(lambda: self._once(prompt, meta))

    async def ask_json(self, prompt: Prompt, schema: type[T] | SchemaText) -> JsonResult[T]:
        """Ask for JSON of a certain shape, as `agents.ask_json`.

        Other questions wait until its end, and so does a restart of the agent.
        """
        shape = shape_of(schema)
        return await self._persistently(lambda: ask_for(shape, prompt, self._once))

    def stream(self, prompt: Prompt, *, meta: Mapping[str, Any] | None = None) -> AgentStream:
        """Ask something, as `ask`, and follow the answer. The turn begins with the first event."""
        return AgentStream(lambda cancelling: self.follow(prompt, cancelling, meta))

    async def follow(
        self, prompt: Prompt, cancelling: Cancelling, meta: Mapping[str, Any] | None = None
    ) -> Events:
        """Yield the events of one turn, as `stream` does."""
        async with self._turns:
            await self._renew_if_due()
            is_asking = self._permissions.is_by_stream
            async with aclosing(self._turn(prompt, cancelling, meta, is_asking=is_asking)) as events:
                async for event in events:
                    yield event

    # -- the session itself --------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Cancel the running turn. Without one this does nothing."""
        self._acp.cancel()

    async def set_mode(self, mode_id: str) -> None:
        """Set its mode. An unknown mode is a `CapabilityNotSupportedError`."""
        await self._acp.set_mode(mode_id)
        self._options = cast("Options", {**self._options, "mode": mode_id})  # also for a new agent

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Set one of its options. An agent without options raises `CapabilityNotSupportedError`."""
        await self._acp.set_config_option(config_id, value)
        chosen = {**self._options.get("config", {}), config_id: value}
        self._options = cast("Options", {**self._options, "config": chosen})  # also for a new agent

    async def fork(self, **options: Unpack[SessionOptions]) -> WireSession:
        """Open another session of the same agent that continues from here, with the same options.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.fork`. Nothing was sent.
        """
        given = checked_options({"cwd": self._acp.cwd, **options, "fork": self.id})
        return await self.host.open(merged(without_openings(self._options), given))

    async def _close(self) -> None:
        self._closed.set()
        if self._owns_host:
            await self._link.close()
            await self.host.close()
        elif not self._acp.is_gone:
            with suppress(AgentError):  # it is forgotten in any case
                await self._acp.close()
            self._acp.forget()
        await self._drain()

    # -- turns ---------------------------------------------------------------------------------------------

    async def _persistently(self, once: Callable[[], Awaitable[T]]) -> T:
        """Do it while nobody else asks, and retry as `retries` says."""

        async def attempt() -> T:
            self._has_used_tools = False
            await self._renew_if_due()
            return await once()

        async with self._turns:
            return await persistently(
                attempt,
                self._retries,
                may_go_on=self._may_retry,
                closed=self._closed,
                agent=self.host.name,
            )

    def _may_retry(self) -> bool:
        if self._has_used_tools and not (self._retries and self._retries.after_tools):
            return False
        return not self.is_closed and (self._owns_host or self.host.is_running)

    async def _once(self, prompt: Prompt, meta: Mapping[str, Any] | None = None) -> AskResult:
        return await AgentStream(lambda cancelling: self._turn(prompt, cancelling, meta)).result()

    async def _turn(
        self,
        prompt: Prompt,
        cancelling: Cancelling,
        meta: Mapping[str, Any] | None,
        *,
        is_asking: bool = False,
    ) -> Events:
        """Yield the events of one turn, while holding the lock; `is_asking`: someone sees its questions."""
        running = RunningTurn(self._meter, self._permissions.tools, self.host.warn, is_asking=is_asking)
        if cancelling.is_wanted:
            yield TurnFinished(running.result(self._acp, Finished("cancelled")))
            return
        self._begin(running, prompt, meta)
        cancelling.began(running.cancel)
        try:
            async with aclosing(self._acp.updates()) as items:
                async for item in items:
                    event = running.take(item)
                    if running.end is not None:
                        break
                    if isinstance(event, PermissionAsked):
                        await event.judged.wait()
                    if event is not None:
                        yield event
        finally:
            self._running = None
            self._has_used_tools = self._has_used_tools or any(True for _ in running.calls)
            if running.end is None:
                running.cancel()
                self._abandoned = running
        yield TurnFinished(self._conclude(running))

    def _begin(self, running: RunningTurn, prompt: Prompt, meta: Mapping[str, Any] | None) -> None:
        self._meter.begin()
        blocks = blocks_of(
            prompt,
            agent=self.host.name,
            commands=[name for each in self._acp.commands if isinstance(name := each.get("name"), str)],
            system_prompt=self._system_prompt,
            capabilities=self.capabilities,
        )
        running.turn = self._acp.prompt(blocks, meta={**meta_of(self._options), **(meta or {})})
        self._acp.mark(None)  # nothing of the agent can have come in between
        self._running = running
        self._system_prompt = None
        self._has_past = True
        self._count += 1

    async def _drain(self) -> None:
        """Drain an abandoned turn, so that the next one starts clean. Its cost counts, too."""
        if (running := self._abandoned) is None:
            return
        async with aclosing(self._acp.updates()) as items:
            async for item in items:
                running.take(item)
                if running.end is not None:
                    break
        self._abandoned = None
        if isinstance(running.end, Finished):
            self._result(running, running.end)

    def _conclude(self, running: RunningTurn) -> AskResult:
        if running.end is None:
            raise AgentClosed(f"the session {self.id} was closed", agent=self.host.name)
        if isinstance(running.end, PromptFailure):
            raise running.verdict or running.end.error
        result = self._result(running, running.end)
        tracker = self._meter.tracker
        verdict = running.verdict or (tracker.exceeded() if tracker.is_exceeded else None)
        if isinstance(verdict, BudgetExceeded):
            verdict.result = result
        if verdict is not None:
            raise verdict
        return result

    def _result(self, running: RunningTurn, finished: Finished) -> AskResult:
        result = running.result(self._acp, finished)
        option = self.models.model_option
        model = str(option.value) if option is not None else self._options.get("model")
        return replace(result, cost_usd=self._meter.end(result, model))

    # -- a new agent ---------------------------------------------------------------------------------------

    async def revive(self) -> None:
        """Start the agent anew if it is gone, even without `retries`. The pool calls this."""
        if not self.host.is_running:
            self._due = self._due or Why.GONE
        await self._persistently(lambda: asyncio.sleep(0))

    async def _renew_if_due(self) -> None:
        """Wait until the last turn is over, and start the agent anew if it is gone or has had its turns.

        The session is resumed if the agent can, else loaded; if it can do neither, or refuses, a new one is
        opened. If someone must sign in, wait or pay, that is an error: the session can be opened later.
        """
        await self._drain()
        await self._acp.at_rest.wait()  # a turn that has failed may not have been answered yet
        why = self._why_renew()
        if why is None or self.is_closed:
            return
        self._due = why

        async def wanted(_: object) -> Wanted:
            return Wanted(self.id) if self._has_past else Wanted()

        opened = await self._link.get(wanted)
        self._use(opened)
        renewed = Renewed(why, opened.way, self.id)
        if opened.way is OpenWay.RECREATED:
            self.host.warn(
                f'Agent "{self.host.name}" was started anew and could not open the earlier session — '
                f"it knows nothing of what was said before."
            )
        if (tell := self._options.get("on_renewed")) is not None:
            tell(renewed)

    def _why_renew(self) -> Why | None:
        limit = self._options.get("recycle_after", 0)
        if not self._owns_host:
            return None
        if not self.host.is_running and (self._due is not None or self._retries is not None):
            return self._due or Why.GONE
        is_alone = len(self.host.open_sessions) == 1  # others would end with it
        return Why.TURN_LIMIT if limit and self._count >= limit and is_alone else None

    async def _attempt(self, host: WireHost, way: OpenWay, session_id: str | None) -> AcpSession:
        return await host.open_acp(without_openings(self._options), way, session_id)

    # -- questions -----------------------------------------------------------------------------------------

    async def _permit(self, request: PermissionRequest) -> str | None:
        """Answer a request for permission."""
        running = self._running
        asked = PermissionAsked(request)
        try:
            if running is not None:
                # It is put behind the agent's earlier updates, and decided once those were taken.
                self._acp.mark(asked)
                await asked.reached.wait()
            asked.chosen = await self._permissions.decide(asked, running)
        finally:
            asked.is_open = False
            asked.judged.set()
            if running is not None:
                running.answered(asked)
        return asked.chosen.id if asked.chosen is not None else None
