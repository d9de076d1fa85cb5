"""A session of an agent: what is asked in it, and what happens in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from serai import errors
from serai.acp import updates
from serai.acp.client_side import PermissionRequest
from serai.acp.options import MODEL_OPTION, ConfigOption, Modes, read_models, read_modes, read_options
from serai.acp.prompt import (
    Finished,
    Item,
    Mark,
    PromptFailure,
    PromptTurn,
    SessionTokens,
    Stream,
    fit_prompt,
    text_block,
)
from serai.acp.servers import McpServer
from serai.acp.shapes import mask_json, object_of

if TYPE_CHECKING:
    from serai.acp.agent import Agent


_STATE: frozenset[type[updates.TypedUpdate]] = frozenset(
    {
        updates.AvailableCommandsUpdate,
        updates.ConfigOptionUpdate,
        updates.CurrentModeUpdate,
        updates.SessionInfoUpdate,
        updates.UsageUpdate,
    }
)
"""What an agent says about itself: the session remembers it, and no secret in it is heard by anyone."""
_QUIET = 0.15
"""What an earlier session tells is history until it was silent for so many seconds: some answer first."""
_LONGEST_HISTORY = 2.0
"""How long that is waited for, in seconds."""


class OpenWay(StrEnum):
    """How a session is opened."""

    NEW = "new"
    RESUMED = "resumed"
    LOADED = "loaded"
    FORKED = "forked"
    RECREATED = "re-created"
    """A new session in place of an earlier one: the agent knows nothing of what was said before."""

    @property
    def knows_past(self) -> bool:
        """Whether the agent remembers what was said before."""
        return self in (OpenWay.RESUMED, OpenWay.LOADED, OpenWay.FORKED)


class SessionOpening(TypedDict, total=False):
    """What may be said when a session is opened."""

    mcp_servers: Sequence[McpServer | Mapping[str, Any]]
    """MCP servers that it can use."""
    additional_directories: Iterable[Path]
    """Folders beside `cwd`. An agent that does not know of such works without, and is warned of once."""
    meta: Mapping[str, Any]
    """The request's `_meta`."""


class AcpSession:
    """One conversation with an agent. `Agent.open_session` makes it.

    Args:
        agent: Its agent.
        session_id: The agent's name for it.
        cwd: Where it works.
        replaying: Whether what comes now is history.
    """

    def __init__(self, agent: Agent, session_id: str, cwd: Path, *, replaying: bool) -> None:
        self.id = session_id
        self.cwd = cwd
        self.replayed: list[updates.Update] = []
        """History that the agent told again when the session was loaded, resumed or forked."""
        self.modes: Modes | None = None
        self.config_options: tuple[ConfigOption, ...] = ()
        self.commands: tuple[Mapping[str, Any], ...] = ()
        """The slash commands that a prompt may begin with: `name`, `description`, `input`."""
        self.title: str | None = None
        self.usage: updates.UsageUpdate | None = None
        """The last that was told; its `cost` is that of the whole session."""
        self.reply: Mapping[str, Any] = {}
        """What the agent answered when the session was opened, all of it."""
        self.agent = agent
        self._name = agent.name
        self._replaying = replaying
        self._replayed_last = 0.0
        self._models: ConfigOption | None = None
        """From an agent that has a choice of models, and no option for it."""
        self._stream = Stream(lambda full: agent.fill(session_id, full=full))
        self._tokens = SessionTokens() if agent.launch.cumulative_tokens else None
        self.turn: PromptTurn | None = None
        """The prompt that the agent has not answered yet."""
        self._timer: asyncio.TimerHandle | None = None
        """Looks whether the agent is silent; once the prompt is cancelled, whether it has stopped."""
        self.is_gone = False
        """True once nothing more can happen in it."""
        self.permit: Callable[[PermissionRequest], Awaitable[str | None]] | None = None
        """Answers what the agent asks permission for in this session."""
        self._rested = asyncio.Event()
        self._rested.set()

    # -- what happens --------------------------------------------------------------------------------------

    def updates(self) -> AsyncGenerator[Item]:
        """What happens in the session from now on, and what waits: updates, and the ends of turns.

        It ends with the session or the agent. One taker at a time; cancelling it loses nothing. When too much
        waits to be taken, the agent has to wait.
        """
        return self._stream.take()

    def receive(self, update: updates.Update, size: int = 0) -> None:
        """Something has happened. The agent's connection calls it."""
        is_state = type(update) in _STATE
        if isinstance(update, updates.CurrentModeUpdate) and self._is_in(update.current_mode_id):
            return  # it was set from here, and the agent tells it once more
        if is_state:
            clean = mask_json(update.raw, self.agent.mask)
            update = update if clean == update.raw else updates.read_update(clean)
            self._keep(update)
        else:  # state is told without any work
            self.agent.heard()
        if self._replaying:
            self.replayed.append(update)
            if not is_state:
                self._replayed_last = asyncio.get_running_loop().time()
            return
        self._stream.put(update, size)

    def mark(self, what: Any) -> None:
        """Put something of one's own among the updates, to be met in their order: see `Mark`."""
        self._stream.put(Mark(what))

    def opened(self, reply: Any, *, settles: bool = False) -> None:
        """The agent has opened it. What comes now is new; with `settles`, only what comes after `settle`."""
        self._replaying = settles
        told = self.reply = mask_json(object_of(reply), self.agent.mask)
        self.modes = read_modes(told.get("modes")) or self.modes
        self._models = read_models(told.get("models")) or self._models
        self._tell_options(read_options(told.get("configOptions")) or self.config_options)

    async def settle(self) -> None:
        """Wait until the agent has told all of the history, as far as one can know. Cancelling stops it."""
        loop = asyncio.get_running_loop()
        self._replayed_last = loop.time()
        latest = loop.time() + _LONGEST_HISTORY
        while not self.is_gone and (wait := min(self._replayed_last + _QUIET, latest) - loop.time()) > 0:  # noqa: ASYNC110 - it is the silence that is waited for
            await asyncio.sleep(wait)
        self._replaying = False

    def end(self, error: Callable[[], errors.AgentError] | None = None) -> None:
        """Nothing more will happen. A turn that runs fails with the error, or is cancelled without one."""
        self.is_gone = True
        turn = self.turn
        self._rest()
        if turn is not None:
            self._conclude(turn, PromptFailure(error()) if error else Finished("cancelled"))
        self._stream.end()

    def _keep(self, update: updates.Update) -> None:
        match update:
            case updates.AvailableCommandsUpdate():
                self.commands = tuple(update.available_commands)
            case updates.ConfigOptionUpdate():
                self._tell_options(read_options(update.config_options))
            case updates.CurrentModeUpdate():
                self.modes = replace(self.modes, current=update.current_mode_id) if self.modes else None
            case updates.SessionInfoUpdate():
                self.title = update.title if "title" in update.raw else self.title
            case updates.UsageUpdate():
                self.usage = update
            case _:
                pass

    def _is_in(self, mode_id: str) -> bool:
        return self.modes is not None and self.modes.current == mode_id

    def _tell_options(self, options: tuple[ConfigOption, ...]) -> None:
        others = tuple(option for option in options if option.id != MODEL_OPTION)
        if self._models is not None and all(option.category != "model" for option in others):
            others = (self._models, *others)
        self.config_options = others

    # -- prompts -------------------------------------------------------------------------------------------

    def prompt(
        self, blocks: str | Sequence[Mapping[str, Any]], *, meta: Mapping[str, Any] | None = None
    ) -> PromptTurn:
        """Send a prompt. One at a time: the next may follow when the agent has answered this one.

        Parts that the agent cannot take are left out, with a warning; `PromptTurn.dropped` has their types.

        Args:
            blocks: Text, or content blocks.
            meta: The prompt's `_meta`.

        Raises:
            PromptUnderWay: The agent has not answered the last one.
            PromptInvalid: The agent can take no part of it.
            AgentError: The agent is gone.
        """
        self._check()
        if self.turn is not None:
            raise errors.PromptUnderWay(
                f"the session {self.id} has a prompt under way already", agent=self._name
            )
        parts = [text_block(blocks)] if isinstance(blocks, str) else blocks
        kept, dropped = fit_prompt(parts, self.agent.capabilities)
        what = ", ".join(dropped)
        if not kept:
            message = (
                f"the prompt has {f'only {what}' if what else 'nothing'}, which {self._name!r} cannot take"
            )
            raise errors.PromptInvalid(message, agent=self._name)
        if dropped:  # before anything is sent: whoever is told may object
            self.agent.warn(f'Agent "{self._name}" does not take these parts of a prompt — dropped: {what}.')
        turn = PromptTurn(dropped, self.cancel)
        params = {"sessionId": self.id, "prompt": kept, **({"_meta": dict(meta)} if meta else {})}
        self.agent.post("session/prompt", params, lambda result, error: self._answered(turn, result, error))
        self.turn = turn
        self._rested.clear()
        self.agent.heard()
        self._listen()
        return turn

    async def at_rest(self) -> None:
        """Wait until no prompt is under way, also none that has failed. Cancelling it stops the waiting."""
        await self._rested.wait()

    def cancel(self) -> None:
        """Tell the agent to stop, once. Without a prompt under way this does nothing.

        Whoever is asked for permission need not answer any more: the agent is told that they were cancelled.
        Updates may still come until the turn is over. An agent that does not stop in time is ended.
        """
        turn = self.turn
        if turn is None or turn.cancelled:
            return
        turn.cancelled = True
        self.agent.notify("session/cancel", {"sessionId": self.id})
        self.agent.requests.give_up()
        self._after(self.agent.cancel_patience, self._ignored)

    def _answered(self, turn: PromptTurn, result: Any, error: Exception | None) -> None:
        if self.turn is not turn:
            return
        if error is None:
            outcome = Finished.of(result, self._tokens)
        elif not isinstance(error, errors.ProtocolError):
            return  # the agent is gone: `end` tells of that, behind all that came before
        elif turn.cancelled:  # some agents call it an error to have been stopped
            outcome = Finished("cancelled", raw={"error": {"code": error.number, "message": error.message}})
        else:
            outcome = PromptFailure(self.agent.failures.of("session/prompt", error))
        self._rest()
        self._conclude(turn, outcome)

    def _conclude(self, turn: PromptTurn, outcome: Finished | PromptFailure) -> None:
        if turn.outcome is None:
            turn.outcome = outcome
            self._stream.put(outcome)

    def _listen(self) -> None:
        """End the prompt when nothing was heard of the agent for too long."""
        turn, patience, silence = self.turn, self.agent.patience, self.agent.silence()
        if turn is None or patience is None:
            return
        if silence < patience:
            self._after(patience - silence, self._listen)
            return
        message = f"nothing was heard of the agent {self._name!r} for {silence:.0f} s"
        self._conclude(turn, PromptFailure(errors.AgentInactive(message, agent=self._name, elapsed=silence)))
        self.cancel()

    def _ignored(self) -> None:
        what = f"did not stop in {self.agent.cancel_patience:g} s and was ended"
        error = errors.CancelIgnored(f"the agent {self._name!r} {what}", agent=self._name)
        if self.turn is not None:
            self._conclude(self.turn, PromptFailure(error))
        self.agent.break_off(lambda: self.agent.closed(what))

    def _rest(self) -> None:
        """No prompt is under way any more."""
        self.turn = None
        self._rested.set()
        if self._timer is not None:
            self._timer.cancel()

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, then)

    # -- the session itself --------------------------------------------------------------------------------

    async def set_mode(self, mode_id: str) -> None:
        """Put the session into another mode. Cancelling it stops the waiting.

        Raises:
            CapabilityNotSupportedError: It has no such mode (`mode:ID`), or no modes (`setSessionMode`).
            AgentError: The agent refused, or is gone.
        """
        if self.modes is not None and all(mode.id != mode_id for mode in self.modes.available):
            raise errors.CapabilityNotSupportedError(f"mode:{mode_id}", agent=self._name)
        await self._call("session/set_mode", {"modeId": mode_id})
        self.receive(updates.CurrentModeUpdate(current_mode_id=mode_id))

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Choose a value of an option, such as the model. Cancelling it stops the waiting.

        What the agent tells of its options then counts; when it tells nothing, it has the value now.

        Raises:
            CapabilityNotSupportedError: The agent has no options (`setSessionConfigOption`).
            AgentError: The agent refused, or is gone.
        """
        if self._models is not None and config_id == MODEL_OPTION:
            await self._call("session/set_model", {"modelId": value})
            self._models = self._models.at(value)
            self._tell_options(self.config_options)
            return
        params: dict[str, Any] = {"configId": config_id, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        reply = await self._call("session/set_config_option", params)
        if options := read_options(object_of(reply).get("configOptions")):
            self._tell_options(options)
        else:
            self.config_options = tuple(
                option.at(value) if option.id == config_id else option for option in self.config_options
            )

    async def close(self) -> None:
        """Have the agent close the session, which ends a prompt that is under way.

        Raises:
            CapabilityNotSupportedError: The agent cannot (`sessionCapabilities.close`): use `forget`.
            AgentError: The agent refused, or is gone.
        """
        self.agent.need("sessionCapabilities.close")
        self.cancel()
        await self._call("session/close", {})
        self.forget()

    def forget(self) -> None:
        """Follow the session no longer. The agent is not told, except to stop what it is doing."""
        if not self.is_gone:
            self.cancel()
            self.agent.forget(self)
            self.end()

    async def _call(self, method: str, params: dict[str, Any]) -> Any:
        self._check()
        return await self.agent.call(method, {"sessionId": self.id, **params}, limit=self.agent.patience)

    def _check(self) -> None:
        self.agent.check()
        if self.is_gone:
            raise self.agent.closed(f"has no session {self.id} any more")
