"""What is chosen for a session when it has been opened: mode, model, effort and other options."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from serai.acp import AcpSession, ConfigOption
from serai.agents.models import models_of
from serai.agents.options import SessionOptions
from serai.errors import AgentRequestFailed, CapabilityNotSupportedError

__all__ = ["configure"]


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
