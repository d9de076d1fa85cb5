"""One line to ask an agent: it is started, asked and ended."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar, Unpack, cast

from serai.acp.capabilities import AgentCapabilities
from serai.agents.ask.events import AskResult, JsonResult, TurnFinished
from serai.agents.ask.host import WireHost, host
from serai.agents.ask.json_answer import SchemaText, shape_of
from serai.agents.ask.options import Options, checked_options, log_warning, merged, warn_of
from serai.agents.ask.prompt import Prompt
from serai.agents.ask.retries import persistently, read_retries
from serai.agents.ask.session import WireSession
from serai.agents.ask.start import (
    Adapter,
    AgentRef,
    Openable,
    default_catalogue,
    default_finder,
    find,
    finder_of,
    folder_of,
    name_of,
)
from serai.agents.ask.turn import AgentStream, Cancelling, Events
from serai.agents.catalogue.agents import Catalogue
from serai.agents.catalogue.finder import Finder, FoundAgent
from serai.agents.catalogue.introduction import Models, models_of
from serai.config.paths import here
from serai.machine.processes.child import to_its_end

__all__ = [
    "AgentClient",
    "ask",
    "ask_json",
    "capabilities",
    "client",
    "detect",
    "models",
    "session",
    "stream",
]

T = TypeVar("T")


def session(agent: AgentRef, **options: Unpack[Options]) -> Openable[WireSession]:
    """Start an agent with one session: `async with agents.session("claude") as session`.

    Or `await` it, and `close` it. The agent ends with the session. With `load`, `resume` or `fork` it is an
    earlier session that is opened. When opening fails or is cancelled, nothing is left of the agent.

    Raises:
        AgentUnknown: There is no agent of that name.
        CapabilityNotSupportedError: The agent cannot do what was asked for.
        AgentError: The agent does not start, wants a person to sign in, or refuses.
    """
    checked = checked_options(options)
    retries = read_retries(checked.get("retries"))
    return Openable(lambda: persistently(lambda: _open_once(agent, checked), retries, agent=name_of(agent)))


async def ask(agent: AgentRef, prompt: Prompt, **options: Unpack[Options]) -> AskResult:
    """Ask an agent something, and wait for the whole answer.

    Cancelling it cancels the turn. When it returns or raises, nothing of the agent is left.

    Raises:
        AgentUnknown: There is no agent of that name.
        AgentError: The agent does not start, or the turn has failed; which error says why.
        BudgetExceeded: What may be spent has been spent.
    """
    async with session(agent, **options) as opened:
        return await opened.ask(prompt)


async def ask_json(
    agent: AgentRef, prompt: Prompt, schema: type[T] | SchemaText, **options: Unpack[Options]
) -> JsonResult[T]:
    """Ask an agent for JSON of a certain shape. An answer that does not have it is sent back once.

    The schema is a type that msgspec knows, a pydantic model, or a JSON Schema (a mapping, or text).
    Otherwise as `ask`.

    Raises:
        JsonInvalid: The second answer was not right either.
        Mismatch: The schema is none. Nothing was started.
    """
    shape_of(schema)
    async with session(agent, **options) as opened:
        return await opened.ask_json(prompt, schema)


def stream(agent: AgentRef, prompt: Prompt, **options: Unpack[Options]) -> AgentStream:
    """Ask an agent something, and follow the answer while it comes.

    The agent is started with the first event, and is gone before the last, `TurnFinished`. Use it with
    `async with` where you may stop early. When it is cancelled before, the agent is not started at all.
    """
    checked = checked_options(options)

    async def events(cancelling: Cancelling) -> Events:
        if cancelling.is_wanted:  # nothing has to be started for that
            yield TurnFinished(AskResult(stop_reason="cancelled", agent=name_of(agent)))
            return
        finished: TurnFinished | None = None
        async with session(agent, **checked) as one, aclosing(one.follow(prompt, cancelling)) as turn:
            async for event in turn:
                if isinstance(event, TurnFinished):
                    finished = event
                else:
                    yield event
        if finished is not None:
            yield finished

    return AgentStream(events)


async def capabilities(agent: AgentRef, **options: Unpack[Options]) -> AgentCapabilities:
    """What an agent can do: it is started in an empty folder, asked, and ended.

    Raises:
        AgentUnknown: There is no agent of that name.
        AgentError: It does not start.
    """
    async with _elsewhere(agent, checked_options(options)) as there, host(agent, **there) as started:
        return started.capabilities


async def models(agent: AgentRef, **options: Unpack[Options]) -> Models:
    """Which models and efforts an agent has.

    Where its program can list them it is asked for that; else it is started in an empty folder, with a
    session, and ended. `WireSession.models` tells the same of a session that is open.

    Raises:
        AgentUnknown: There is no agent of that name.
        AgentError: It does not start, or makes no session: mostly, nobody is signed in.
    """
    async with _elsewhere(agent, checked_options(options)) as there:
        found = None if isinstance(agent, Adapter) else await find(agent, there)
        if found is not None and (listed := await finder_of(there).list_models(found)):
            return models_of((), listed)
        async with session(agent, **there) as opened:
            return opened.models


@asynccontextmanager
async def _elsewhere(agent: AgentRef, options: Options) -> AsyncGenerator[Options]:
    """The options for an empty folder. The project's own configuration counts all the same."""
    with tempfile.TemporaryDirectory(prefix="serai-") as folder:
        there = cast("Options", {**options, "cwd": folder})
        if isinstance(agent, str) and "catalogue" not in there:
            project = folder_of(options) if options.get("cwd") else here()
            there["catalogue"] = await default_catalogue(project, warn_of(options), name=agent)
        yield there


async def detect(*, catalogue: Catalogue | None = None, finder: Finder | None = None) -> list[FoundAgent]:
    """Which agents can be used on this machine. All are looked for at once; none of them is started.

    Raises:
        ConfigInvalid: A configuration file is wrong.
    """
    place = here()
    if catalogue is None:
        catalogue = await default_catalogue(place, log_warning)
    return await (finder or default_finder(place)).find_all(catalogue)


async def _open_once(agent: AgentRef, options: Options) -> WireSession:
    host = await WireHost.begin(agent, options)
    try:
        return await host.open(options, owns_host=True)
    except BaseException:
        await to_its_end(host.close())
        raise


def client(agent: AgentRef, **defaults: Unpack[Options]) -> AgentClient:
    """An agent with defaults: `agents.client("codex", model="…", cwd=project)`. Nothing is started."""
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
        return await ask(self.agent, prompt, **merged(self.defaults, options))

    async def ask_json(
        self, prompt: Prompt, schema: type[T] | SchemaText, **options: Unpack[Options]
    ) -> JsonResult[T]:
        """As `agents.ask_json`."""
        return await ask_json(self.agent, prompt, schema, **merged(self.defaults, options))

    def stream(self, prompt: Prompt, **options: Unpack[Options]) -> AgentStream:
        """As `agents.stream`."""
        return stream(self.agent, prompt, **merged(self.defaults, options))

    def session(self, **options: Unpack[Options]) -> Openable[WireSession]:
        """As `agents.session`."""
        return session(self.agent, **merged(self.defaults, options))

    def host(self, **options: Unpack[Options]) -> Openable[WireHost]:
        """As `agents.host`."""
        return host(self.agent, **merged(self.defaults, options))

    async def models(self, **options: Unpack[Options]) -> Models:
        """As `agents.models`."""
        return await models(self.agent, **merged(self.defaults, options))

    async def capabilities(self, **options: Unpack[Options]) -> AgentCapabilities:
        """As `agents.capabilities`."""
        return await capabilities(self.agent, **merged(self.defaults, options))
