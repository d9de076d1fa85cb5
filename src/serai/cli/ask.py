"""`serai ask`: one question to an agent. Only for those that a running host alone has, one is needed."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from serai.agents import (
    AgentStream,
    AskResult,
    CostTracker,
    Options,
    PermissionAsked,
    PermissionOption,
    Policy,
    TextAdded,
    ThinkingAdded,
    ToolCalled,
    ToolChanged,
    ToolFilter,
    ask_json,
    stream,
)
from serai.agents.ask.permissions import TOOL_KINDS
from serai.agents.catalogue.agents import Catalogue
from serai.agents.catalogue.finder import Finder
from serai.agents.testing import ScriptedAgent, ScriptedTurn
from serai.cli.agents import find_agents, managed_secrets
from serai.cli.console.output import print_json
from serai.cli.console.terminal import PlainTerminal, choose, open_terminal, read_input
from serai.cli.hosted import DEMO, ask_hosted
from serai.config.paths import here, is_folder, real
from serai.errors import FileUnreadable, SeraiError
from serai.redact import Redactor
from serai.redact.managed import managed_from_environment

_ASK = "ask"
_DEMO_HELP = (
    "I need no key and no network. Without a host I say back what I am told. In a session I can do more: "
    "serai chat --agent demo, and then help."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai ask`."""
    parser.description = "Ask an agent something. It is started, answers, and is ended."
    parser.epilog = (
        "What is piped in goes behind PROMPT, or is the prompt. The exit code is 0 when the agent came to "
        "the end of its turn. 'serai agents' lists the agents."
    )
    parser.add_argument("agent", metavar="AGENT", help="an agent's name, or another name of it")
    prompt = parser.add_argument(
        "prompt", metavar="[PROMPT]", help="what is asked (default: what is piped in)"
    )
    prompt.required = False  # as with nargs="?", which would not be found behind an option
    parser.add_argument("-p", "--prompt", dest="said", metavar="TEXT", help="the prompt, as an option")
    parser.add_argument("--prompt-file", metavar="FILE", help="a file with the prompt")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--schema",
        metavar="FILE",
        help="a JSON Schema, or JSON itself: the answer is JSON that is valid under it, and nothing else",
    )
    parser.add_argument("--cwd", metavar="DIR", type=Path, help="where the agent works (default: here)")
    parser.add_argument("--model", metavar="NAME", help="the model, as the agent calls it")
    parser.add_argument("--effort", metavar="NAME", help="how much it thinks, in the agent's words")
    parser.add_argument("--mode", metavar="ID", help="the mode to begin in")
    parser.add_argument("--system-prompt", metavar="TEXT", help="what holds for the whole conversation")
    parser.add_argument(
        "--max-cost-usd", metavar="SUM", type=_sum, help="stop when this was spent, in US dollars"
    )
    parser.add_argument(
        "--permission",
        metavar="POLICY",
        choices=[_ASK, *(policy.value for policy in Policy if policy is not Policy.STREAM)],
        help="who answers when the agent asks for permission: ask (you, on a terminal; the default there), "
        "auto-reject (the default elsewhere), auto-allow-once, auto-allow",
    )
    kinds = ", ".join(sorted(TOOL_KINDS))
    for name, what in (
        ("--allow-kind", f"only tools of this kind ({kinds})"),
        ("--block-kind", "none of it"),
    ):
        parser.add_argument(
            name,
            metavar="KIND",
            type=str.casefold,
            choices=sorted(TOOL_KINDS),
            action="append",
            help=f"allow {what}; may be repeated",
        )
    parser.set_defaults(run=partial(_checked, parser))


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    folder = options.cwd or here()
    options.cwd = real(folder)
    if not is_folder(options.cwd):
        parser.error(f"--cwd: there is no folder {folder}")
    told = (options.prompt, options.said, options.prompt_file)
    if sum(each is not None for each in told) > 1:
        parser.error("the prompt was given more than once")
    prompt = _read(options.prompt_file) if options.prompt_file else options.prompt or options.said
    words = [text for text in (prompt, _piped()) if text]
    if not words:
        parser.error("there is nothing to ask: give a PROMPT, or pipe it in")
    options.prompt = "\n\n".join(words)
    try:
        return asyncio.run(_main(options))
    except SeraiError as error:
        if options.json:  # beside the sentence that people read
            print_json({"error": error.to_wire()})
        raise


async def _main(options: argparse.Namespace) -> int:
    with open_terminal(apart=True) as terminal:
        warn = _warning(terminal)
        (catalogue, _), finder = await find_agents(options.home, options.cwd, warn, options.agent)
        if options.agent != DEMO and catalogue.resolve(options.agent) is None:
            return await ask_hosted(options, catalogue, terminal)
        told = _told(options, terminal, catalogue, finder)
        agent = ScriptedAgent(_demo, name=DEMO) if options.agent == DEMO else options.agent
        if options.schema:
            is_json = options.schema.lstrip().startswith("{")
            schema = options.schema if is_json else _read(options.schema)
            answer = await ask_json(agent, options.prompt, schema, **told)
            document = {"data": answer.data, "raw": answer.raw, "repaired": answer.repaired}
            print_json({**document, **answer.result.to_wire()} if options.json else answer.data)
            return 0
        turn = stream(agent, options.prompt, **told)
        result = await (turn.result() if options.json else _show(turn, terminal))
        if options.json:
            print_json(result.to_wire())
        if result.stop_reason != "end_turn":
            terminal.note(f"serai: the turn ended with: {result.stop_reason}")
            return 1
    return 0


def _told(
    options: argparse.Namespace, terminal: PlainTerminal, catalogue: Catalogue, finder: Finder
) -> Options:
    """What the words of the command mean to `serai.agents`."""
    redactor = Redactor(managed_from_environment(os.environ) | managed_secrets(catalogue))
    told: Options = {
        "catalogue": catalogue,
        "finder": finder,
        "cwd": options.cwd,
        "mask": redactor.redact,
        "on_warning": _warning(terminal),
    }
    for name in ("model", "effort", "mode", "system_prompt"):
        if (value := getattr(options, name)) is not None:
            told[name] = value
    if options.max_cost_usd is not None:
        told["costs"] = CostTracker(options.max_cost_usd)
    if options.allow_kind or options.block_kind:
        told["tools"] = ToolFilter(allow_kinds=options.allow_kind, block_kinds=options.block_kind or ())
    policy = options.permission or (_ASK if terminal.is_interactive else Policy.AUTO_REJECT)
    told["permissions"] = PermissionPrompt(terminal).ask if policy == _ASK else Policy(policy)
    return told


def _warning(terminal: PlainTerminal) -> Callable[[object], None]:
    return lambda warning: terminal.note(f"serai: {warning}")


async def _demo(turn: ScriptedTurn) -> None:
    """The demo agent without a host: it says back what it is told."""
    turn.think("I say back what I am told.")
    turn.say(_DEMO_HELP if turn.text == "help" else turn.text)


async def _show(turn: AgentStream, terminal: PlainTerminal) -> AskResult:
    """Show an answer as it comes. Where nobody is looking, it is the answer's text alone."""
    paragraph: tuple[str | None, int] | None = None
    is_thinking = False
    seen: dict[str, str] = {}
    async with turn:
        try:
            async for event in turn:
                match event:
                    case TextAdded(text, message_id):
                        before, paragraph = paragraph, (message_id, len(seen))
                        if is_thinking:
                            terminal.new_line()
                            is_thinking = False
                        if before not in {None, paragraph}:
                            terminal.new_line()
                            terminal.text("\n")
                        terminal.text(text)
                    case ThinkingAdded(text) if terminal.is_interactive:
                        if not is_thinking:
                            terminal.new_line()
                            is_thinking = True
                        terminal.dim(text)
                    case ToolCalled(call) | ToolChanged(call) if seen.get(call.id, "pending") != call.status:
                        seen[call.id] = call.status
                        terminal.new_line()
                        terminal.dim(f"[{call.title or call.id}: {call.status.replace('_', ' ')}]\n")
                    case _:
                        pass
        finally:
            terminal.new_line()  # what follows, an error perhaps, has a line of its own
        return await turn.result()


class PermissionPrompt:
    """Asks the person at a terminal, one question at a time."""

    def __init__(self, terminal: PlainTerminal) -> None:
        self._terminal = terminal
        self._one = asyncio.Lock()

    async def ask(self, asked: PermissionAsked) -> PermissionOption | bool:
        """What the person chooses. Nothing is no."""
        if not self._terminal.is_interactive:
            return False
        async with self._one:
            call = asked.call
            self._terminal.note(f"May it? {call.title or call.id} ({call.kind})")
            for diff in call.diffs:
                self._terminal.note(f"  changes {diff.path}")
            for number, option in enumerate(asked.options, 1):
                self._terminal.note(f"  {number}  {option.name}")
            places = {str(number): option for number, option in enumerate(asked.options, 1)}
            chosen = await choose(self._terminal, "A number, or Enter for no: ", {**places, "": None})
            return chosen or False


def _piped() -> str:
    """What is piped in, or comes from a file. A terminal is not waited for."""
    return "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode(errors="replace").strip()


def _read(name: str) -> str:
    try:
        return read_input(name).decode()
    except UnicodeDecodeError as error:
        raise FileUnreadable(f"{name} cannot be read: {error}") from None


def _sum(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no sum above 0")
    return value
