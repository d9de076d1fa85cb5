"""Opening a session anew: the choices that it begins with, and a new agent for one whose own has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, cast

from serai.acp import AcpSession, ConfigOption
from serai.agents.ask.options import OPENINGS, Options, SessionOptions
from serai.agents.ask.retries import Context, Renewed, Why
from serai.agents.catalogue.introduction import models_of
from serai.errors import (
    AgentClosed,
    AgentInactive,
    AgentRequestFailed,
    CapabilityNotSupportedError,
    LineTooLong,
    SessionLoadFailed,
)
from serai.machine.processes.uninterrupted import to_its_end

if TYPE_CHECKING:
    from serai.agents.ask.host import WireHost
    from serai.agents.ask.session import WireSession

__all__ = ["Renewal", "configure", "renew", "tell_of"]


async def configure(
    session: AcpSession,
    options: SessionOptions,
    launched: Mapping[str, str],
    *,
    agent: str,
    warn: Callable[[str], None],
) -> None:
    """Choose what the options say. A model or an option that the agent does not take is told as a warning.

    Args:
        session: The session.
        options: What was said.
        launched: What was chosen when the agent was started, by the same names.
        agent: The agent's name.
        warn: Is told what could not be chosen.

    Raises:
        CapabilityNotSupportedError: There is no such mode (`mode:ID`), or there are none (`setSessionMode`).
        AgentError: The agent is gone.
    """
    if (mode := options.get("mode")) is not None:
        await session.set_mode(mode)

    async def choose(what: str, option: ConfigOption | None, value: str | bool, config_id: str) -> None:
        if option is not None and option.value == value:
            return
        try:
            await session.set_config_option(config_id, value)
        except (AgentRequestFailed, CapabilityNotSupportedError) as error:
            warn(f'Agent "{agent}" did not take {what} {value!r} — {error.message}.')

    # One after the other, and looked at anew: which efforts there are may depend on the model.
    for name in ("model", "effort"):
        value = options.get(name)
        if not isinstance(value, str) or launched.get(name) == value:
            continue
        models = models_of(session.config_options)
        option = models.model_option if name == "model" else models.effort_option
        if option is None:
            warn(f'Agent "{agent}" does not offer to choose the {name} — ignoring {value!r}.')
        else:
            await choose(f"the {name}", option, value, option.id)
    for config_id, value in options.get("config", {}).items():
        known = next((option for option in session.config_options if option.id == config_id), None)
        await choose(f"{config_id} =", known, value, config_id)


_WAYS = frozenset({"loadSession", "sessionCapabilities.resume"})
"""What an agent does not have that offers a way to open a session, and does not know the method."""


class Renewal:
    """The work of starting a session's agent anew, which may not come to its end the first time.

    Args:
        work: Does it. The old agent is gone with it in any case.
    """

    def __init__(self, work: Callable[[Why], Coroutine[Any, Any, None]]) -> None:
        self.due: Why | None = None
        """Why there has to be a new agent; `None` once it is there."""
        self._work = work
        self._task: asyncio.Task[None] | None = None

    async def run(self, why: Why) -> bool:
        """Do it. Cancelling it stops the work, and waits until nothing of it is left.

        Returns:
            Whether it was done: not when someone has stopped it.

        Raises:
            AgentError: The agent does not start, or refuses to open a session.
        """
        self.due = why
        task = self._task = asyncio.create_task(self._work(why))
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self._task = None
        if task.cancelled():
            return False
        task.result()
        return True

    async def stop(self) -> None:
        """Stop the work, if it is under way, and wait until nothing of it is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


async def renew(
    session: WireSession, options: Options, *, has_past: bool
) -> tuple[WireHost, AcpSession, Context]:
    """A new agent for a session whose own has been ended, and the session there.

    It is resumed where the agent can, else loaded; where it can do neither, or refuses, it is a new one. An
    agent that does not survive one way, or falls silent over it, is started again for the next. When this
    fails or is cancelled, nothing of the new agent is left. What cannot be had in a new session either, such
    as a mode, is an error at once: the earlier session is not given up for it. Nor is it where someone must
    sign in, wait or pay: it can be opened then.

    Args:
        session: The session.
        options: All that holds for it.
        has_past: Whether there is anything to go on with.

    Raises:
        AgentError: The agent does not start, or refuses to open a session.
        CapabilityNotSupportedError: It has no such mode any more, or cannot reach an MCP server.
    """
    plain = {name: value for name, value in options.items() if name not in OPENINGS}
    host = await session.host.again()
    try:
        for name, context in (("resume", Context.RESUMED), ("load", Context.LOADED)):
            can = host.capabilities
            if has_past and (can.resume_session if name == "resume" else can.load_session):
                try:
                    acp = await host.admit(session, cast("Options", {**plain, name: session.id}))
                except SessionLoadFailed:
                    continue
                except CapabilityNotSupportedError as error:
                    if error.capability not in _WAYS:
                        raise
                    continue
                except (AgentClosed, AgentInactive, LineTooLong):
                    await host.close()
                    host = await host.again()
                    continue
                return host, acp, context
        acp = await host.admit(session, cast("Options", plain))
    except BaseException:
        await to_its_end(host.close())
        raise
    return host, acp, Context.LOST if has_past else Context.NOTHING


def tell_of(renewed: Renewed, host: WireHost, options: Options) -> None:
    """Tell those who want to know of a new agent; all, when it knows nothing of what was said before."""
    if renewed.context is Context.LOST:
        host.warn(
            f'Agent "{host.name}" was started anew and could not open the earlier session — '
            f"it knows nothing of what was said before."
        )
    if (tell := options.get("on_renewed")) is not None:
        tell(renewed)
