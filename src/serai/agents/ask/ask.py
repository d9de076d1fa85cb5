"""Functions that ask an agent in one line: it is started, asked and ended."""

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

    Or `await` it, and `close` it later. The agent ends with the session. With `load`, `resume` or `fork` an
    earlier session is opened. When opening fails or is cancelled, nothing is left of the agent.

    Raises:
        AgentUnknown: There is no agent of that name.
        CapabilityNotSupportedError: The agent does not support what the options ask for.
        AgentError: The agent does not start, wants a person to sign in, or refuses.
    """
    checked = checked_options(options)
    retries = read_retries(checked.get("retries"))
    return Openable(lambda: persistently(lambda: _open_once(agent, checked), retries, agent=name_of(agent)))


async def ask(agent: AgentRef, prompt: Prompt, **options: Unpack[Options]) -> AskResult:
    """Ask an agent something, and wait for the whole answer.

    Cancelling it cancels the turn. When it returns or raises, nothing is left of the agent.

    Raises:
        AgentUnknown: There is no agent of that name.
        AgentError: The agent does not start, or the turn has failed; the class of the error says why.
        BudgetExceeded: The budget is spent.
    """
    async with session(agent, **options) as opened:
        return await opened.ask(prompt)


async def ask_json(
    agent: AgentRef, prompt: Prompt, schema: type[T] | SchemaText, **options: Unpack[Options]
) -> JsonResult[T]:
    """Ask an agent for JSON of a certain shape. An answer of another shape is sent back once.

    The schema is a type that msgspec knows, a pydantic model, or a JSON Schema (a mapping, or text).
    Otherwise as `ask`.

    Raises:
        JsonInvalid: The second answer was wrong, too.
        Mismatch: The schema is invalid. Nothing was started.
    """
    shape_of(schema)
    async with session(agent, **options) as opened:
        return await opened.ask_json(prompt, schema)


def stream(agent: AgentRef, prompt: Prompt, **options: Unpack[Options]) -> AgentStream:
    """Ask an agent something, and follow the answer while it streams.

    The agent is started with the first event, and is gone before the last, `TurnFinished`. Use `async with`
    when you may stop early. A stream that is cancelled before the first event starts no agent.
    """
    checked = checked_options(options)

    async def events(cancelling: Cancelling) -> Events:
        if cancelling.is_wanted:  # no agent has to be started
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
    """Return an agent's capabilities: it is started in an empty folder, asked, and ended.

    Raises:
        AgentUnknown: There is no agent of that name.
        AgentError: It does not start.
    """
    async with _in_empty_folder(agent, checked_options(options)) as there, host(agent, **there) as started:
        return started.capabilities


async def models(agent: AgentRef, **options: Unpack[Options]) -> Models:
    """Return the models and efforts of an agent.

    If its program can list them, that is used; else it is started in an empty folder, with a session, and
    ended. `WireSession.models` has the same for an open session.

    Raises:
        AgentUnknown: There is no agent of that name.
        AgentError: It does not start, or opens no session, mostly because nobody is signed in.
    """
    async with _in_empty_folder(agent, checked_options(options)) as there:
        found = None if isinstance(agent, Adapter) else await find(agent, there)
        if found is not None and (listed := await finder_of(there).list_models(found)):
            return models_of((), listed)
        async with session(agent, **there) as opened:
            return opened.models


@asynccontextmanager
async def _in_empty_folder(agent: AgentRef, options: Options) -> AsyncGenerator[Options]:
    """Yield the options for an empty folder. The project's own configuration still counts."""
    with tempfile.TemporaryDirectory(prefix="serai-") as folder:
        there = cast("Options", {**options, "cwd": folder})
        if isinstance(agent, str) and "catalogue" not in there:
            project = folder_of(options) if options.get("cwd") else here()
            there["catalogue"] = await default_catalogue(project, warn_of(options), name=agent)
        yield there


async def detect(*, catalogue: Catalogue | None = None, finder: Finder | None = None) -> list[FoundAgent]:
    """Return the agents of the catalogue, as they are installed on this machine. None of them is started.

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
        await host.close()
        raise


def client(agent: AgentRef, **defaults: Unpack[Options]) -> AgentClient:
    """Return an agent with default options: `agents.client("codex", model="…")`. Nothing is started."""
    return AgentClient(agent, checked_options(defaults))


class AgentClient:
    """An agent with default options. Its methods are the functions of the same names in `serai.agents`.

    The options of a call override the defaults; `env`, `meta` and `config` are merged with them, and MCP
    servers by their names. Of two tool filters, both count.
    """

    def __init__(self, agent: AgentRef, defaults: Options) -> None:
        self.agent = agent
        self.defaults = defaults

    @property
    def name(self) -> str:
        """The agent's name."""
        return name_of(self.agent)

    def having(self, **more: Unpack[Options]) -> AgentClient:
        """Return the same agent with further defaults."""
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
