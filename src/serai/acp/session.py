"""One session of an agent: its prompts, its settings and its updates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from serai import errors
from serai.acp import updates
from serai.acp.client_side import PermissionRequest
from serai.acp.options import MODEL_OPTION, MODES_OPTION, ConfigOption, read_options, read_stand_ins
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
"""Updates about the session itself: it keeps them, and their secrets are masked first."""
_QUIET = 0.15
"""Seconds of silence that end the history of an earlier session: some agents answer before they send it."""
_LONGEST_HISTORY = 2.0
"""Longest wait for that silence, in seconds."""


class OpenWay(StrEnum):
    """The way in which a session is opened."""

    NEW = "new"
    RESUMED = "resumed"
    LOADED = "loaded"
    FORKED = "forked"
    RECREATED = "re-created"
    """A new session in place of an earlier one: the agent does not know the conversation."""

    @property
    def knows_past(self) -> bool:
        """True if the agent remembers the conversation so far."""
        return self in (OpenWay.RESUMED, OpenWay.LOADED, OpenWay.FORKED)


class SessionOpening(TypedDict, total=False):
    """Options for opening a session."""

    mcp_servers: Iterable[McpServer | Mapping[str, Any]]
    """MCP servers that the session can use."""
    additional_directories: Iterable[Path | str]
    """Folders beside `cwd`. An agent that does not support them works without, with one warning."""
    meta: Mapping[str, Any]
    """The `_meta` of the request that opens the session. Programs' prompts have it, too, and it gets the
    `traceparent` of their active span."""


class AcpSession:
    """One conversation with an agent. `Agent.open_session` makes it.

    Args:
        agent: Its agent.
        session_id: Its id, given by the agent.
        cwd: Its working directory.
        replaying: True for an earlier session, whose history the agent may replay.
    """

    def __init__(self, agent: Agent, session_id: str, cwd: Path, *, replaying: bool) -> None:
        self.id = session_id
        self.cwd = cwd
        self.replayed: list[updates.Update] = []
        """The history that the agent replayed when the session was loaded, resumed or forked."""
        self.config_options: tuple[ConfigOption, ...] = ()
        self.commands: tuple[Mapping[str, Any], ...] = ()
        """The slash commands that a prompt may begin with: `name`, `description`, `input`."""
        self.title: str | None = None
        self.usage: updates.UsageUpdate | None = None
        """The last usage update; its `cost` is that of the whole session."""
        self.reply: Mapping[str, Any] = {}
        """The agent's whole answer to the request that opened the session."""
        self.agent = agent
        self._name = agent.name
        self._replaying = replaying
        """True until the first prompt of an earlier session: what the agent sends of a turn is history."""
        self._replayed_last = 0.0
        self._stand_ins: dict[str, ConfigOption] = {}
        """The agent's `modes` and `models`, as options, which count unless there is one in their place."""
        self._stream = Stream(lambda full: agent.fill(session_id, full=full))
        self._tokens = SessionTokens() if agent.launch.cumulative_tokens else None
        self.turn: PromptTurn | None = None
        """The prompt that the agent has not answered yet."""
        self._timer: asyncio.TimerHandle | None = None
        """Checks that the agent is not silent; once the prompt is cancelled, that it has stopped."""
        self.is_gone = False
        """True once the session has ended."""
        self.permit: Callable[[PermissionRequest], Awaitable[str | None]] = agent.client.request_permission
        """Answers the agent's requests for permission in this session."""
        self.at_rest = asyncio.Event()
        """Set while no prompt is under way, not even a failed one."""
        self.at_rest.set()

    # -- updates ------------------------------------------------------------------------------------------

    def updates(self) -> AsyncGenerator[Item]:
        """Yield the waiting and all further items: updates, ends of turns and marks.

        The iteration ends with the session or the agent. One consumer at a time; cancelling it loses nothing.
        When too many items wait, the agent has to wait.
        """
        return self._stream.take()

    def receive(self, update: updates.Update, size: int = 0) -> None:
        """Take an update. The agent's connection calls this."""
        is_state = type(update) in _STATE
        if (
            isinstance(update, updates.CurrentModeUpdate)
            and self.modes is not None
            and self.modes.value == update.current_mode_id
        ):
            return  # it was set from here, and the agent repeats it
        if is_state:
            clean = mask_json(update.raw, self.agent.mask)
            update = update if clean == update.raw else updates.read_update(clean)
            self._keep(update)
        else:  # an agent sends its state without any work
            self.agent.heard()
        if self._replaying:
            self.replayed.append(update)
            if not is_state:
                self._replayed_last = asyncio.get_running_loop().time()
                return
        self._stream.put(update, size)

    def mark(self, what: Any) -> None:
        """Put a mark among the updates, to be met in their order: see `Mark`."""
        self._stream.put(Mark(what))

    def opened(self, reply: Any) -> None:
        """Take the agent's answer."""
        answer = self.reply = mask_json(object_of(reply), self.agent.mask)
        self._stand_ins |= read_stand_ins(answer)
        self._tell_options(read_options(answer.get("configOptions")) or self.config_options)

    async def settle(self) -> None:
        """Wait until the agent has replayed its history, as far as that can be known. Cancelling stops it."""
        loop = asyncio.get_running_loop()
        self._replayed_last = loop.time()
        latest = loop.time() + _LONGEST_HISTORY
        while not self.is_gone and (wait := min(self._replayed_last + _QUIET, latest) - loop.time()) > 0:  # noqa: ASYNC110 - it is the silence that is waited for
            await asyncio.sleep(wait)

    def end(self, error: Callable[[], errors.AgentError] | None = None) -> None:
        """End the session. A running turn fails with the error, or is cancelled without one."""
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
                self._stand_in(MODES_OPTION, update.current_mode_id)
            case updates.SessionInfoUpdate():
                self.title = update.title if "title" in update.raw else self.title
            case updates.UsageUpdate():
                self.usage = update
            case _:
                pass

    @property
    def modes(self) -> ConfigOption | None:
        """Its modes: the current one is `value`, all are in `choices`."""
        return self._stand_ins.get(MODES_OPTION)

    def _stand_in(self, option_id: str, value: str | bool) -> None:
        """Note the new value of an option that stands for modes or models."""
        if (option := self._stand_ins.get(option_id)) is not None:
            self._stand_ins[option_id] = option.at(value)
            self._tell_options(self.config_options)

    def _tell_options(self, options: tuple[ConfigOption, ...]) -> None:
        others = [option for option in options if option.id not in self._stand_ins]
        taken = {option.category for option in others}
        own = (option for option in self._stand_ins.values() if option.category not in taken)
        self.config_options = (*own, *others)

    # -- prompts -------------------------------------------------------------------------------------------

    def prompt(
        self, blocks: str | Sequence[Mapping[str, Any]], *, meta: Mapping[str, Any] | None = None
    ) -> PromptTurn:
        """Send a prompt. One at a time: the next may follow once the agent has answered this one.

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
        if dropped:  # before anything is sent: the callback may raise
            self.agent.warn(f'Agent "{self._name}" does not take these parts of a prompt — dropped: {what}.')
        turn = PromptTurn(dropped, self.cancel)
        params = {"sessionId": self.id, "prompt": kept, **({"_meta": dict(meta)} if meta else {})}
        self.agent.post("session/prompt", params, lambda result, error: self._answered(turn, result, error))
        self.turn, self._replaying = turn, False
        self.at_rest.clear()
        self.agent.heard()
        self._listen()
        return turn

    def cancel(self) -> None:
        """Tell the agent to stop, once. Without a prompt under way this does nothing.

        Open requests for permission are answered as cancelled. Updates may still come until the turn is over.
        An agent that does not stop in time is ended.
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
            outcome = Finished.read(result, self._tokens)
        elif not isinstance(error, errors.ProtocolError):
            return  # the agent is gone: `end` reports that, after all earlier items
        elif turn.cancelled:  # some agents call it an error to have been stopped
            outcome = Finished("cancelled", raw={"error": {"code": error.number, "message": error.message}})
        else:
            outcome = PromptFailure(self.agent.failures.error_for("session/prompt", error))
        self._rest()
        self._conclude(turn, outcome)

    def _conclude(self, turn: PromptTurn, outcome: Finished | PromptFailure) -> None:
        if turn.outcome is None:
            turn.outcome = outcome
            self._stream.put(outcome)

    def _listen(self) -> None:
        """Fail the prompt when the agent has been silent for too long."""
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
        """Note that no prompt is under way any more."""
        self.turn = None
        self.at_rest.set()
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
        if self.modes is not None and all(mode.value != mode_id for mode in self.modes.choices):
            raise errors.CapabilityNotSupportedError(f"mode:{mode_id}", agent=self._name)
        await self._call("session/set_mode", {"modeId": mode_id})
        self.receive(updates.CurrentModeUpdate(current_mode_id=mode_id))

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Choose a value of an option, such as the model. Cancelling it stops the waiting.

        The options in the agent's answer count; when it has none, the value is assumed.

        Raises:
            CapabilityNotSupportedError: The agent has no options (`setSessionConfigOption`).
            AgentError: The agent refused, or is gone.
        """
        if config_id in self._stand_ins:
            if config_id == MODES_OPTION:
                await self.set_mode(str(value))
            else:
                await self._call("session/set_model", {"modelId": value})
                self._stand_in(MODEL_OPTION, value)
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
        """Follow the session no longer. The agent is only told to stop what it is doing."""
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
