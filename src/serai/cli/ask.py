"""`serai ask`: asks an agent one question, on this machine or on the host that has the agent."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import sys
import uuid
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
from serai.cli.agents import DEMO, find_agents, hosted_agents, managed_secrets
from serai.cli.console.output import print_json
from serai.cli.console.terminal import PlainTerminal, choose, open_terminal, read_input
from serai.client import connect
from serai.client.address import find_address
from serai.config.paths import here, is_folder, real
from serai.contract import DeliveryState
from serai.errors import ConfigInvalid, FileUnreadable, SeraiError
from serai.redact import Redactor
from serai.redact.managed import managed_from_environment
from serai.relay.sdk import Relay

_ASK = "ask"
_DEMO_HELP = (
    "I need no key and no network. Without a host I say back what I am told. In a session I can do more: "
    "serai chat --agent demo, and then help."
)

_OWN_OPTIONS = (
    *("schema", "model", "effort", "mode", "system_prompt"),
    *("max_cost_usd", "permission", "allow_kind", "block_kind"),
)
"""Options that hold only for agents that this command starts itself."""


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
    parser.add_argument(
        "-p", "--prompt", dest="prompt_option", metavar="TEXT", help="the prompt, as an option"
    )
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
    parser.set_defaults(run=partial(_run, parser))


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    folder = options.cwd or here()
    options.cwd = real(folder)
    if not is_folder(options.cwd):
        parser.error(f"--cwd: there is no folder {folder}")
    prompts = (options.prompt, options.prompt_option, options.prompt_file)
    if sum(each is not None for each in prompts) > 1:
        parser.error("the prompt was given more than once")
    prompt = _read(options.prompt_file) if options.prompt_file else options.prompt or options.prompt_option
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
            return await _ask_hosted(options, catalogue, terminal)
        choices = _choices(options, terminal, catalogue, finder)
        agent = ScriptedAgent(_demo, name=DEMO) if options.agent == DEMO else options.agent
        if options.schema:
            is_json = options.schema.lstrip().startswith("{")
            schema = options.schema if is_json else _read(options.schema)
            answer = await ask_json(agent, options.prompt, schema, **choices)
            document = {"data": answer.data, "raw": answer.raw, "repaired": answer.repaired}
            print_json({**document, **answer.result.to_wire()} if options.json else answer.data)
            return 0
        turn = stream(agent, options.prompt, **choices)
        result = await (turn.result() if options.json else _show(turn, terminal))
        if options.json:
            print_json(result.to_wire())
        if result.stop_reason != "end_turn":
            terminal.note(f"serai: the turn ended with: {result.stop_reason}")
            return 1
    return 0


def _choices(
    options: argparse.Namespace, terminal: PlainTerminal, catalogue: Catalogue, finder: Finder
) -> Options:
    """Return the options of the command as options of `serai.agents`."""
    redactor = Redactor(managed_from_environment(os.environ) | managed_secrets(catalogue))
    choices: Options = {
        "catalogue": catalogue,
        "finder": finder,
        "cwd": options.cwd,
        "mask": redactor.redact,
        "on_warning": _warning(terminal),
    }
    for name in ("model", "effort", "mode", "system_prompt"):
        if (value := getattr(options, name)) is not None:
            choices[name] = value
    if options.max_cost_usd is not None:
        choices["costs"] = CostTracker(options.max_cost_usd)
    if options.allow_kind or options.block_kind:
        choices["tools"] = ToolFilter(allow_kinds=options.allow_kind, block_kinds=options.block_kind or ())
    policy = options.permission or (_ASK if terminal.is_interactive else Policy.AUTO_REJECT)
    ask = partial(_ask_person, terminal, asyncio.Lock())
    choices["permissions"] = ask if policy == _ASK else Policy(policy)
    return choices


def _warning(terminal: PlainTerminal) -> Callable[[object], None]:
    return lambda warning: terminal.note(f"serai: {warning}")


async def _demo(turn: ScriptedTurn) -> None:
    """Act as the demo agent without a host: repeat the prompt."""
    turn.think("I say back what I am told.")
    turn.say(_DEMO_HELP if turn.text == "help" else turn.text)


async def _show(turn: AgentStream, terminal: PlainTerminal) -> AskResult:
    """Show an answer as it comes. Where no person is, show its text alone."""
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


async def _ask_hosted(options: argparse.Namespace, catalogue: Catalogue, terminal: PlainTerminal) -> int:
    """Ask an agent of a running host. Returns the exit code. Cancelling it ends the session, too.

    Raises:
        AgentUnknown: The host does not know the agent either. The error lists all agents.
        ConfigInvalid: An option cannot be used there.
    """
    agents, name = await hosted_agents(options.home), options.agent.removeprefix("@")
    if name not in agents:
        raise catalogue.unknown(name, also=(DEMO, *agents))
    if wrong := [f"--{one.replace('_', '-')}" for one in _OWN_OPTIONS if getattr(options, one) is not None]:
        raise ConfigInvalid(f"{name} answers on the host, where {', '.join(wrong)} cannot be chosen")
    handle, answer = agents[name], io.StringIO()
    with open_terminal(apart=True, out=answer) if options.json else contextlib.nullcontext(terminal) as shown:
        code = await (_write_to(handle, options, shown) if handle else _converse(name, options, shown))
    if options.json:
        text = answer.getvalue().strip("\n")
        print_json({"agent": name, "text": text, "stopReason": "error" if code else "end_turn"})
    return code


async def _converse(name: str, options: argparse.Namespace, terminal: PlainTerminal) -> int:
    """Run one turn in a session that is disposed of afterwards."""
    from serai.cli.chat.conversation import Chat  # noqa: PLC0415 - most questions do not need it

    uri = f"ahp-session:/{uuid.uuid4()}"
    folder = options.cwd if find_address(home=options.home).is_local else None
    async with connect(home=options.home) as client:
        try:
            session = await client.create_session(name, uri=uri, working_directory=folder)
            return await Chat(client, session, terminal, once=options.prompt).run()
        finally:
            with contextlib.suppress(SeraiError):
                await client.dispose_session(uri)


async def _write_to(handle: str, options: argparse.Namespace, terminal: PlainTerminal) -> int:
    """Send one message, and show the answer that comes with its receipt."""
    async with await Relay.connect(home=options.home) as relay:
        sent = await relay.send(handle, options.prompt, wait_for="delivered", timeout_ms=600_000)
        record = await relay.delivery(sent.deliveries[0].id)  # the answer is kept after the receipt
    if record.answer is not None:
        terminal.text(f"{record.answer.text}\n")
    else:
        terminal.note(f"serai: {handle} has not answered: {record.error or record.state.value}")
    return 0 if record.state == DeliveryState.DELIVERED else 1


async def _ask_person(
    terminal: PlainTerminal, one: asyncio.Lock, asked: PermissionAsked
) -> PermissionOption | bool:
    """Return the choice of the person at a terminal, one question at a time; an empty line is a no."""
    if not terminal.is_interactive:
        return False
    async with one:
        call = asked.call
        places = {str(number): option for number, option in enumerate(asked.options, 1)}
        terminal.note(f"May it? {call.title or call.id} ({call.kind})")
        for diff in call.diffs:
            terminal.note(f"  changes {diff.path}")
        for number, option in places.items():
            terminal.note(f"  {number}  {option.name}")
        return await choose(terminal, "A number, or Enter for no: ", {**places, "": None}) or False


def _piped() -> str:
    """Read the standard input, unless it is a terminal."""
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
