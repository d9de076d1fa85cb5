"""The demo agent: it follows a script, needs no key and no network, and shows all that a session can do.

    stage       its pace, and the steering messages
    talk        text, reasoning, work and failures
    tools       tools that pretend, and tools that are real
    questions   all kinds of questions

A newcomer meets it first, and tests use it. It knows of a session what any function does (`serai.host.turn`).
Its commands are one table, from which it works and from which `help` is written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from serai.ahp.types import (
    SessionConfigPropertySchema,
    SessionConfigSchema,
    SessionModelInfo,
    ToolAnnotations,
    ToolDefinition,
)
from serai.contract import (
    AgentSessionEventType,
    ContentType,
    EventCapabilities,
    LifecycleCapabilities,
    MessagingCapabilities,
)
from serai.contract.events import OBSERVED_BY_HOST
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.harness.demo import questions, talk, tools
from serai.harness.demo.stage import APPROVE, PACE, DemoStage, Misuse, Stopped
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, MORE_FOLDERS
from serai.host.turn import Turn


@dataclass(frozen=True, slots=True)
class DemoCommand:
    """A command of the demo agent."""

    name: str
    """The words that call it."""
    takes: str
    """Its arguments; optional ones are in brackets."""
    does: str
    """Its description, for `help`."""
    run: Callable[[DemoStage, str], Awaitable[None]]
    """Function that runs it, with its arguments."""
    takes_line: bool = False
    """True if the whole rest of the line belongs to it, including semicolons."""

    @property
    def usage(self) -> str:
        """The command as it is written."""
        return f"{self.name} {self.takes}".rstrip()


async def _help(stage: DemoStage, _argument: str) -> None:
    """List the commands."""
    told = "\n".join(f"- `{command.usage}`: {command.does}" for command in COMMANDS)
    help_text = (
        "I am the demo agent. I need no key and no network, and I do only what I am told:\n\n"
        f"{told}\n\n"
        "Join several with `;` or put each on a line of its own; `run` and `save` take the rest of their "
        "line. Anything else I say back to you. "
        "Attachments are listed. A message that steers me is heard at the next step; `stop` stops me.\n\n"
        "Settings: `pace` (instant, brisk, human) says how fast I speak, and `approve` (ask, always) "
        "whether my tools ask first; `additionalDirectories` names more folders that I may read."
    )
    await stage.stream(help_text.splitlines(keepends=True))


_TOUR_SECONDS = "15"
"""Seconds in which a message can be queued."""


async def tour(stage: DemoStage, _argument: str) -> None:
    """Show what a person decides in a session. Each step waits for them, and goes on whatever they answer."""
    await stage.say(
        "Welcome. This tour has four stops, and nothing in it is real.\n\n"
        "**1. An approval.** Before an agent runs something, it asks. You see all of the command: allow it, "
        "deny it, say why not, or edit it first."
    )
    await tools.shell(stage, "ls -l")
    await stage.say("**2. A diff.** Before an agent changes a file, you see what would be different.")
    await tools.edit_file(stage, "")
    await stage.say(
        "**3. A question.** An agent may want to know something. Others who look see what you write."
    )
    await questions.ask(stage, "single")
    await stage.say(
        "**4. A queue.** I am busy now. Write something meanwhile: it waits in the queue, where you can edit "
        "it, move it or take it back, and I answer it next. Or *steer*: then I hear it while I work."
    )
    await talk.work(stage, _TOUR_SECONDS)
    await stage.say("That was the tour. Say `help` and I tell you what else there is.")


_WORK = "works so long, and tells how far it is at each step"
_RUN = "runs a command for real, in a terminal to follow"
_TOOL = "wants to run a shell command: allow, deny or edit it (it only pretends)"
_TOUR = "shows you around: an approval, a diff, a question and a queue"
_ASK = f"asks questions of every kind, or of one: {', '.join(questions.KINDS)}"

COMMANDS: tuple[DemoCommand, ...] = (
    DemoCommand("help", "", "tells what I can do", _help),
    DemoCommand("tour", "", _TOUR, tour),
    DemoCommand("think", "[about SOMETHING]", "streams reasoning, then an answer", talk.think),
    DemoCommand("write", "N", "streams N words of Markdown", talk.write),
    DemoCommand("work", "SECONDS [every MS]", _WORK, talk.work),
    DemoCommand("tool", "[COMMAND]", _TOOL, tools.shell),
    DemoCommand("tool edit", "", "wants to edit a file, and shows the edit beforehand", tools.edit_file),
    DemoCommand("tool result", "", "asks whether the result of a tool may be used", tools.ask_about_result),
    DemoCommand("tool again", "", "asks again while the tool runs", tools.ask_again),
    DemoCommand("tool live", "", "shows output while the tool runs", tools.live_output),
    DemoCommand("tool big", "N", "returns N KiB of output", tools.big_output),
    DemoCommand("tool fail", "", "calls a tool that fails, and goes on", tools.failing_tool),
    DemoCommand("run", "COMMAND", _RUN, tools.run_command, True),
    DemoCommand("read", "FILE", "reads a file of the session's folder", tools.read_file),
    DemoCommand("save", "FILE [TEXT]", "writes a file, so that a changeset appears", tools.save_file, True),
    DemoCommand("subagent", "[MESSAGE]", "has another demo agent do something", tools.send_subagent),
    DemoCommand("client tool", "NAME [INPUT]", "calls a tool that your client offers", tools.of_client),
    DemoCommand("ask", "[KIND]", _ASK, questions.ask),
    DemoCommand("usage", "N", "reports that N tokens were used", talk.usage),
    DemoCommand("notice", "[TEXT]", "shows a notice", talk.notice),
    DemoCommand("activity", "TEXT", "says what the session is doing, until the turn ends", talk.activity),
    DemoCommand("fail", "[MESSAGE]", "ends the turn with an error", talk.fail),
    DemoCommand("crash", "", "ends the turn with an exception that nobody expected", talk.crash),
)
"""All commands."""

# The longest name first: `tool edit` is not `tool` with the shell command `edit`.
_LONGEST_FIRST = sorted(COMMANDS, key=lambda command: -len(command.name))


def split(text: str) -> list[str]:
    """Return the commands in a message: each on a line, or between semicolons."""
    return [piece for line in text.split("\n") for piece in _split_line(line)]


def _split_line(line: str) -> Iterator[str]:
    while line := line.strip():
        found = find(line)
        if found is not None and found[0].takes_line:
            yield line
            return
        piece, _, line = line.partition(";")
        if piece := piece.strip():
            yield piece


def find(piece: str) -> tuple[DemoCommand, str] | None:
    """Return the command that a piece of a message calls, with its arguments."""
    given = piece.split()
    for command in _LONGEST_FIRST:
        name = command.name.split()
        if [word.lower() for word in given[: len(name)]] == name:
            return command, piece.split(maxsplit=len(name))[-1] if len(given) > len(name) else ""
    return None


async def perform(turn: Turn) -> None:
    """Answer a turn: run the commands of the message one after the other."""
    stage = DemoStage(turn)
    if turn.message.attachments:
        await talk.list_attachments(stage, turn.message.attachments)
    text = "\n".join(line for line in turn.message.text.splitlines() if not line.startswith("[relay] "))
    pieces = split(text)
    if not any(find(piece) for piece in pieces):
        pieces = [text]  # a person just talks: their semicolons are their own
    try:
        for piece in pieces:
            await stage.take_steering()
            await _do(stage, piece)
        await stage.take_steering()
    except Stopped:
        await stage.say("So I stop here.")


async def _do(stage: DemoStage, piece: str) -> None:
    found = find(piece)
    if found is None:
        await talk.echo(stage, piece)
        return
    command, argument = found
    try:
        await command.run(stage, argument)
    except Misuse as problem:
        await stage.say(
            f"I know `{command.name}`, but {problem}. It is written `{command.usage}`: it {command.does}."
        )


def _setting(default: str, title: str, description: str, values: dict[str, tuple[str, str]]) -> Any:
    return SessionConfigPropertySchema(
        type="string",
        title=title,
        description=description,
        default=default,
        enum=list(values),
        enum_labels=[label for label, _ in values.values()],
        enum_descriptions=[told for _, told in values.values()],
        session_mutable=True,
    )


_PACES = {
    "instant": ("Instant", "Without a pause"),
    "brisk": ("Brisk", "So that streaming shows"),
    "human": ("Human", "As a person reads aloud"),
}
_APPROVALS = {
    "ask": ("Ask first", "Someone says yes or no each time"),
    "always": ("Always allow", "Nobody is asked"),
}
_SHELL = ToolDefinition(
    name="shell",
    title="Run a command",
    description="Pretends to run a shell command.",
    input_schema={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
)


def _model(name: str, window: int) -> SessionModelInfo:
    return SessionModelInfo(
        id=f"demo-{name}",
        provider="demo",
        name=f"Demo {name} (pretend)",
        max_context_window=window,
        supports_vision=True,
    )


_LIFECYCLE = LifecycleCapabilities(release=True, fork=True, snapshot=True)


class DemoHarness(CallbackHarness):
    """Makes demo agents.

    Args:
        pace: How fast they speak where a session does not say (`PACES`).
    """

    def __init__(self, *, pace: str = "brisk") -> None:
        takes = MessagingCapabilities(receive=True, attachments=(ContentType.TEXT, ContentType.IMAGE))
        # Nobody signs in to it.
        emits = (one for one in OBSERVED_BY_HOST if one != AgentSessionEventType.STATUS_BLOCKED)
        tells = EventCapabilities(emits=tuple(emits))
        settings = {
            PACE: _setting(pace, "Pace", "How fast the demo agent speaks", _PACES),
            APPROVE: _setting(
                "ask", "Approval", "Whether the demo agent's tools ask before they run", _APPROVALS
            ),
            ADDITIONAL_DIRECTORIES: MORE_FOLDERS,
        }
        super().__init__(
            "demo",
            perform,
            display_name="Demo",
            description="Follows a script: needs no key and no network. Say help.",
            capabilities=replace(STEERABLE, messaging=takes, events=tells, lifecycle=_LIFECYCLE),
            schema=SessionConfigSchema(type="object", properties=settings),
            models=[_model("small", 8_000), _model("large", 200_000)],
            tools=[_SHELL],
        )
