"""The table of `serai agents`: what is known of each agent, and what a person can do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from serai.acp import AgentCapabilities
from serai.agents.catalogue.finder import FoundAgent
from serai.agents.catalogue.memory import Remembered, signed_in_of, version_of
from serai.cli.console.output import clean, table

__all__ = ["table_of"]

_HEAD = ("AGENT", "INSTALLED", "VERSION", "SIGNED IN", "CAN")
_LONGEST_VERSION = 16


def table_of(
    agents: Sequence[tuple[FoundAgent, Remembered | None]], width: int | None = None
) -> Iterator[str]:
    """The lines of the table, and below it what is to be done.

    Args:
        agents: The agents, each with what it said of itself when it last ran.
        width: That of the terminal; by default it is asked.
    """
    rows = [_HEAD, *(_row(found, remembered) for found, remembered in agents)]
    yield from table(rows, gives_way=len(_HEAD) - 1, wraps=True, width=width)
    advice = [(found.id, told) for found, remembered in agents if (told := _advice(found, remembered))]
    if advice:
        longest = max(len(name) for name, _ in advice)
        yield ""
        yield "To install them, or to sign in:"
        for name, told in advice:
            yield f"  {name.ljust(longest)}  {clean(told)}"


def _row(found: FoundAgent, remembered: Remembered | None) -> tuple[str, ...]:
    version = clean(version_of(found, remembered) or "-")
    if len(version) > _LONGEST_VERSION:
        version = version[: _LONGEST_VERSION - 1] + "…"
    signed_in = {True: "yes", False: "no", None: "unknown"}[signed_in_of(found, remembered)]
    return (found.id, "yes" if found.installed else "no", version, signed_in, _abilities(found, remembered))


def _abilities(found: FoundAgent, remembered: Remembered | None) -> str:
    """What it can do, in short words. `unknown` is what has not been heard from it."""
    if found.launch is None:
        return "-"
    if remembered is None or remembered.capabilities is None:
        return "unknown"
    groups = (" ".join(words) for words in _words(remembered.capabilities) if words)
    return " · ".join(groups) or "the least"


def _words(can: AgentCapabilities) -> Iterator[list[str]]:
    """Sessions; how MCP servers are reached; what prompts may hold. What every agent has is left out."""
    yield _named(
        load=can.load_session,
        resume=can.resume_session,
        fork=can.fork_session,
        list=can.list_sessions,
        close=can.close_session,
        dirs=can.additional_directories,
    )
    yield _named(http=can.mcp.http, sse=can.mcp.sse)
    yield _named(image=can.prompt.image, audio=can.prompt.audio, context=can.prompt.embedded_context)


def _named(**words: bool) -> list[str]:
    return [word for word, has in words.items() if has]


def _advice(found: FoundAgent, remembered: Remembered | None) -> str:
    """What a person can do next, if anything."""
    install = found.definition.install
    if found.launch is None:
        if not found.installed and install:
            return install
        return f"{found.reason} ({install})" if install else found.reason
    if signed_in_of(found, remembered) is False:
        login = " ".join(found.definition.login)
        return f"sign in: {login}" if login else f"sign in: serai agents signin {found.id}"
    return ""
