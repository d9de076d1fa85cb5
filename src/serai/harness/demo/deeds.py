"""What the demo agent really does: it runs commands, reads and writes files, and has another agent help it.

All of it happens in the session's folder, and what changes something asks first.
"""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

from serai.ahp.commands import ContentEncoding
from serai.ahp.types import FileEdit, Markdown, MarkdownResponsePart, TurnState, UserMessage
from serai.errors import ProtocolError, SeraiError
from serai.harness.demo.stage import DemoStage, Misuse, quoted
from serai.harness.demo.tools import field_of, file_edit, freely, made, may
from serai.host.turn import Turn

__all__ = ["read_file", "run_command", "save_file", "send_subagent"]


async def run_command(stage: DemoStage, argument: str) -> None:
    """Run a shell command in a terminal that can be followed, once someone allows it."""
    if not argument:
        raise Misuse("it needs a command")
    call = await may(
        stage,
        "run",
        "Run a command for real",
        message=Markdown(markdown=f"Run `{argument}`"),
        title="Run a command?",
        input=json.dumps({"command": argument}),
        editable=True,
    )
    if call is None:
        return
    command = field_of(call, "command")
    try:
        terminal = await stage.turn.terminal(["sh", "-c", command], title=command, call=call)
    except SeraiError as error:
        await call.done("Could not run it", error=str(error))
        await stage.say(f"That did not work: {error}")
        return
    call.show(terminal.content)
    code = await terminal.wait()
    failed = None if code == 0 else f"it ended with {code}"
    await call.done(
        Markdown(markdown=f"Ran `{command}`"), text=terminal.text(), content=[terminal.content], error=failed
    )
    await stage.say(f"`{command}` ended with {code}.")


async def read_file(stage: DemoStage, argument: str) -> None:
    """Read a file of the session's folder."""
    uri = _uri(stage.turn, argument)
    call = await freely(stage, "read", "Read a file", f"Read {argument}")
    try:
        read = await stage.turn.read(uri)
    except ProtocolError as error:
        await call.done("Could not read it", error=str(error))
        await stage.say(f"I could not read it: {error}")
        return
    await call.done(f"Read {argument}", text=read.data)
    await stage.say(f"`{argument}` has {len(read.data):,} characters ({read.encoding}).")


async def save_file(stage: DemoStage, argument: str) -> None:
    """Write a file of the session's folder, once someone allows it. What it changes becomes a changeset."""
    name, _, text = argument.partition(" ")
    uri = _uri(stage.turn, name)
    text = f"{text.strip() or 'A traveller was here.'}\n"
    call = await may(
        stage,
        "save",
        "Write a file for real",
        message=Markdown(markdown=f"Write `{name}`"),
        title=f"Write {name}?",
        input=json.dumps({"path": name, "text": text}),
        editable=True,
        edits=[await _edit(stage.turn, uri, text)],
    )
    if call is None:
        return
    name, text = field_of(call, "path", name), field_of(call, "text")
    try:
        uri = _uri(stage.turn, name)
        edit = await _edit(stage.turn, uri, text)  # again: the file may have changed in the meantime
        await stage.turn.write(uri, text)
    except (Misuse, ProtocolError) as error:
        await call.done("Could not write it", error=str(error))
        await stage.say(f"I could not write it: {error}")
        return
    await call.done(Markdown(markdown=f"Wrote `{name}`"), content=[made(edit)])
    await stage.say(f"`{name}` is written. The session's changesets show it.")


async def _edit(turn: Turn, uri: str, text: str) -> FileEdit:
    """What writing a text would change in a file as it is now. One that cannot be read counts as none."""
    try:
        read = await turn.read(uri)
    except ProtocolError:
        return file_edit(turn, uri, None, text)
    is_text = read.encoding != ContentEncoding.BASE64
    return file_edit(turn, uri, read.data.encode() if is_text else base64.b64decode(read.data), text)


async def send_subagent(stage: DemoStage, argument: str) -> None:
    """Have another demo agent do something, in a session of its own that can be followed."""
    errand = argument or "write 60"
    call = await freely(stage, "delegate", "Ask another agent", f"Have it done: {errand}")
    try:
        subagent = await stage.turn.delegate("demo", UserMessage(text=errand), title=quoted(errand))
        call.show(subagent.content)
        answer = await subagent.answer()
    except SeraiError as error:
        await call.done("It could not be done", error=str(error))
        await stage.say(f"That did not work: {error}")
        return
    said = "".join(part.content for part in answer.response_parts if isinstance(part, MarkdownResponsePart))
    complete = answer.state == TurnState.COMPLETE
    await call.done(
        "The other agent has answered",
        text=said,
        content=[subagent.content],
        error=None if complete else f"its turn ended as {answer.state}",
    )
    await stage.say(f"The other agent said {len(said.split())} words.")


def _uri(turn: Turn, name: str) -> str:
    """The URI of a file that is named as people name it: from the session's folder on."""
    if not name:
        raise Misuse("it needs the name of a file")
    if turn.working_directory is None:
        raise Misuse("this session has no folder")
    return f"{turn.working_directory.rstrip('/')}/{quote(name)}"
