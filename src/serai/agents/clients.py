"""An agent with defaults: what is said once holds for everything that is asked of it."""

from __future__ import annotations

from typing import Any, TypeVar, Unpack, overload

from serai.acp import AgentCapabilities
from serai.agents import asking, hosting
from serai.agents.adapters import AgentRef, name_of
from serai.agents.hosting import WireHost
from serai.agents.models import Models
from serai.agents.opening import Opening
from serai.agents.options import Options, checked_options, merged
from serai.agents.parts import Prompt
from serai.agents.results import AskResult, JsonResult
from serai.agents.sessions import WireSession
from serai.agents.streaming import AgentStream

__all__ = ["AgentClient", "client"]

T = TypeVar("T")


def client(agent: AgentRef, **defaults: Unpack[Options]) -> AgentClient:
    """An agent with defaults: `agents.client("codex", model="…", cwd=project)`. Nothing is started.

    Args:
        agent: The agent's id or another name of it, an `AgentDefinition`, or an `Adapter`.
        **defaults: See `Options`.
    """
    return AgentClient(agent, checked_options(defaults))


class AgentClient:
    """An agent with defaults. Everything here is as the function of the same name in `serai.agents`.

    What a call says goes over the defaults; `env`, `meta` and `config` are joined with them, and MCP servers
    by their names. Of two tool filters both count.
    """

    def __init__(self, agent: AgentRef, defaults: Options) -> None:
        self.agent = agent
        self.defaults = defaults

    @property
    def name(self) -> str:
        """What the agent is called."""
        return name_of(self.agent)

    def having(self, **more: Unpack[Options]) -> AgentClient:
        """The same agent with further defaults."""
        return AgentClient(self.agent, merged(self.defaults, more))

    async def ask(self, prompt: Prompt, **options: Unpack[Options]) -> AskResult:
        """As `agents.ask`."""
        return await asking.ask(self.agent, prompt, **merged(self.defaults, options))

    @overload
    async def ask_json(
        self, prompt: Prompt, schema: type[T], **options: Unpack[Options]
    ) -> JsonResult[T]: ...
    @overload
    async def ask_json(self, prompt: Prompt, schema: Any, **options: Unpack[Options]) -> JsonResult[Any]: ...
    async def ask_json(self, prompt: Prompt, schema: Any, **options: Unpack[Options]) -> JsonResult[Any]:
        """As `agents.ask_json`."""
        return await asking.ask_json(self.agent, prompt, schema, **merged(self.defaults, options))

    def stream(self, prompt: Prompt, **options: Unpack[Options]) -> AgentStream:
        """As `agents.stream`."""
        return asking.stream(self.agent, prompt, **merged(self.defaults, options))

    def session(self, **options: Unpack[Options]) -> Opening[WireSession]:
        """As `agents.session`."""
        return asking.session(self.agent, **merged(self.defaults, options))

    def host(self, **options: Unpack[Options]) -> Opening[WireHost]:
        """As `agents.host`."""
        return hosting.host(self.agent, **merged(self.defaults, options))

    async def models(self, **options: Unpack[Options]) -> Models:
        """As `agents.models`."""
        return await asking.models(self.agent, **merged(self.defaults, options))

    async def capabilities(self, **options: Unpack[Options]) -> AgentCapabilities:
        """As `agents.capabilities`."""
        return await asking.capabilities(self.agent, **merged(self.defaults, options))
