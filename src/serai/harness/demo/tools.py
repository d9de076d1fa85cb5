"""The demo agent's tools. Most only pretend: nothing is run, read or written.

`run`, `read`, `save` and `subagent` are for real. All of it happens in the session's folder, and what changes
something asks first.
"""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

from serai.ahp import types as t
from serai.ahp.commands import ContentEncoding
from serai.errors import ProtocolError, SeraiError
from serai.harness.demo.stage import DemoStage, Misuse, number, quoted
from serai.host.tool_call import ToolCall, file_edit, made
from serai.host.turn import Turn

_NOT_NEEDED = t.ToolCallConfirmationReason.NOT_NEEDED.value
_MOST_KIB = 8192
_LISTING = "-rw-r--r-- 1 guest guest  42 README.md\n-rw-r--r-- 1 guest guest 128 notes.md\n"
_FOR_SESSION = "allow-session"


def _option(option_id: str, label: str, kind: t.ConfirmationOptionKind, group: int) -> t.ConfirmationOption:
    return t.ConfirmationOption(id=option_id, label=label, kind=kind.value, group=group)


OPTIONS = [
    _option("allow-once", "Allow once", t.ConfirmationOptionKind.APPROVE, 0),
    _option(_FOR_SESSION, "Allow for this session", t.ConfirmationOptionKind.APPROVE, 0),
    _option("deny", "Deny", t.ConfirmationOptionKind.DENY, 1),
    _option("deny-suggest", "Deny, and say what to do instead", t.ConfirmationOptionKind.DENY, 1),
]
"""The answers to a tool that wants to run: two ways to allow it, and two to deny it."""


# -- tools that ask first ----------------------------------------------------------------------------------


async def _begin_with_approval(
    stage: DemoStage, name: str, display_name: str, message: str, fields: dict[str, str], **how: Any
) -> ToolCall | None:
    """Begin a call that needs an approval; `None` when it was denied, and the denial has been confirmed."""
    call = await stage.call(
        name,
        display_name,
        message=t.Markdown(markdown=message),
        title=f"{display_name.removesuffix(' for real')}?",
        input=json.dumps(fields),
        editable=True,
        options=OPTIONS,
        **how,
    )
    return await _approved(stage, call)


async def _approved(stage: DemoStage, call: ToolCall) -> ToolCall | None:
    """Follow the answer to a confirmation, except for running the tool."""
    if not call.approved:
        await stage.say("You said no, so I have not done it.")
        if call.suggestion:
            await stage.say(f"You would rather have this: {quoted(call.suggestion.text)}. I take note of it.")
        return None
    if call.option == _FOR_SESSION:
        stage.turn.grant(call.name)
    return call


def _field_of(call: ToolCall, key: str, otherwise: str | None = None) -> str:
    """Return a field of the call's input, which a person may have changed to anything.

    Without the field it is `otherwise`, or the whole input.
    """
    try:
        fields = json.loads(call.input or "")
        value = fields[key]
    except (ValueError, TypeError, LookupError, RecursionError):
        return otherwise if otherwise is not None else call.input or ""
    # JSON can write half a character (`\ud800`), which no file and no file's name can hold.
    return value.encode(errors="replace").decode() if isinstance(value, str) else json.dumps(value)


async def _shell(stage: DemoStage, command: str) -> ToolCall | None:
    return await _begin_with_approval(
        stage, "shell", "Run a command", f"Run `{command}`", {"command": command}
    )


async def shell(stage: DemoStage, argument: str) -> None:
    """Pretend to run a shell command, after an approval."""
    call = await _shell(stage, argument or "ls -l")
    if call is None:
        return
    command = _field_of(call, "command")
    await stage.pause()
    await call.done(t.Markdown(markdown=f"Ran `{command}`"), text=f"$ {command}\n{_LISTING}")
    await stage.say(f"I have pretended to run `{command}`; its output stands with the call.")


async def edit_file(stage: DemoStage, _argument: str) -> None:
    """Pretend to edit a file, and show the edit beforehand."""
    uri, before = "demo-file:/notes.md", b"Rooms: twelve.\nWater: yes.\n"
    planned = "Rooms: fourteen.\nWater: yes.\nStables: two.\n"
    edits = [file_edit(stage.turn.keep, uri, before, planned.encode())]
    fields = {"path": "notes.md", "text": planned}
    call = await _begin_with_approval(
        stage, "edit_file", "Edit a file", "Edit `notes.md`", fields, edits=edits
    )
    if call is None:
        return
    edit = file_edit(stage.turn.keep, uri, before, _field_of(call, "text").encode())
    await call.done(t.Markdown(markdown="Edited `notes.md`"), content=[made(edit)])
    await stage.say("I have pretended to edit `notes.md`. No file was touched.")


async def ask_about_result(stage: DemoStage, _argument: str) -> None:
    """Run a tool, and ask whether its result may be used."""
    call = await _shell(stage, "cat letter.txt")
    if call is None:
        return
    text = "Dear guest,\nthe gate closes at ten.\n"
    if await call.done("Read letter.txt", text=text, confirm_result=stage.asks):
        await stage.say("Thank you. I use the result: the gate closes at ten.")
    else:
        await stage.say("You kept the result from me, so I know nothing of any letter.")


async def ask_again(stage: DemoStage, _argument: str) -> None:
    """Run a tool that needs a second approval halfway."""
    call = await _shell(stage, "make install")
    if call is None:
        return
    call.show(t.ToolResultTextContent(text="built; installing needs another permission\n"))
    await stage.pause()
    # This is another question than the one allowed for the session, so it is asked each time.
    await call.ready(
        confirmed=None if stage.asks else t.ToolCallConfirmationReason.SETTING.value,
        message="Write outside of the working directory",
        meta={"serai.demo.permission": "write-outside"},
        title="Go on and install?",
        options=OPTIONS[:1] + OPTIONS[2:],
    )
    if await _approved(stage, call) is not None:
        await call.done("Installed", text="built\ninstalled\n")
        await stage.say("Installed, in a manner of speaking.")


# -- tools that do not ask ---------------------------------------------------------------------------------


async def _begin_freely(stage: DemoStage, name: str, display_name: str, message: str) -> ToolCall:
    """Begin a call that needs no approval."""
    return await stage.call(name, display_name, message=message, confirmed=_NOT_NEEDED)


async def live_output(stage: DemoStage, _argument: str) -> None:
    """Show the output of a tool while it runs."""
    call = await _begin_freely(stage, "tests", "Run the tests", "Run five tests")
    shown = ""
    for test in ("arrive", "settle in", "eat", "sleep", "leave"):
        shown += f"test {test} … ok\n"
        call.show(t.ToolResultTextContent(text=shown))
        await stage.pause()
    await call.done("Ran five tests", text=f"{shown}5 passed\n", structured={"passed": 5, "failed": 0})
    await stage.say("All five pass. A client that shows live output showed each as it ended.")


async def big_output(stage: DemoStage, argument: str) -> None:
    """Return a number of KiB of text."""
    size = int(number(argument, most=_MOST_KIB, what="a size in KiB")) * 1024
    call = await _begin_freely(stage, "read_log", "Read a log", "Read a long log")
    line = "2001-01-01 00:00:00 a traveller came in, and another one went\n"
    await call.done("Read a long log", text=(line * (size // len(line) + 1))[:size])
    await stage.say(f"The log has {size:,} bytes. I have not read them all, to be honest.")


async def failing_tool(stage: DemoStage, _argument: str) -> None:
    """Run a tool that fails, and go on."""
    call = await _begin_freely(stage, "fetch", "Fetch a page", "Fetch a page that is not there")
    await call.done("Could not fetch the page", error="the page is not there")
    await stage.say("The tool failed. That happens; the turn goes on all the same.")


# -- real tools ---------------------------------------------------------------------------------------------


async def _failed(stage: DemoStage, call: ToolCall, what: str, error: Exception) -> None:
    """End a call that failed, and say so."""
    await call.done(what, error=str(error))
    await stage.say(f"That did not work: {error}")


async def run_command(stage: DemoStage, argument: str) -> None:
    """Run a shell command in a terminal that clients can follow, after an approval."""
    if not argument:
        raise Misuse("it needs a command")
    call = await _begin_with_approval(
        stage, "run", "Run a command for real", f"Run `{argument}`", {"command": argument}
    )
    if call is None:
        return
    command = _field_of(call, "command")
    try:
        terminal = await stage.turn.terminal(["sh", "-c", command], title=command, call=call)
    except SeraiError as error:
        await _failed(stage, call, "Could not run it", error)
        return
    call.show(terminal.content)
    code = await terminal.wait()
    failed = None if code == 0 else f"it ended with {code}"
    await call.done(
        t.Markdown(markdown=f"Ran `{command}`"),
        text=terminal.text(),
        content=[terminal.content],
        error=failed,
    )
    await stage.say(f"`{command}` ended with {code}.")


async def read_file(stage: DemoStage, argument: str) -> None:
    """Read a file of the session's folder."""
    uri = _uri(stage.turn, argument)
    call = await _begin_freely(stage, "read", "Read a file", f"Read {argument}")
    try:
        read = await stage.turn.read(uri)
    except ProtocolError as error:
        await _failed(stage, call, "Could not read it", error)
        return
    await call.done(f"Read {argument}", text=read.data)
    await stage.say(f"`{argument}` has {len(read.data):,} characters ({read.encoding}).")


async def save_file(stage: DemoStage, argument: str) -> None:
    """Write a file of the session's folder, after an approval. The change becomes a changeset."""
    name, _, text = argument.partition(" ")
    uri = _uri(stage.turn, name)
    text = f"{text.strip() or 'A traveller was here.'}\n"
    edits, fields = [await _edit(stage.turn, uri, text)], {"path": name, "text": text}
    call = await _begin_with_approval(
        stage, "save", "Write a file for real", f"Write `{name}`", fields, edits=edits
    )
    if call is None:
        return
    name, text = _field_of(call, "path", name), _field_of(call, "text")
    try:
        uri = _uri(stage.turn, name)
        edit = await _edit(stage.turn, uri, text)  # again: the file may have changed in the meantime
        await stage.turn.write(uri, text)
    except (Misuse, ProtocolError) as error:
        await _failed(stage, call, "Could not write it", error)
        return
    await call.done(t.Markdown(markdown=f"Wrote `{name}`"), content=[made(edit)])
    await stage.say(f"`{name}` is written. The session's changesets show it.")


async def _edit(turn: Turn, uri: str, text: str) -> t.FileEdit:
    """Return the edit that writes a text into a file as it is now. An unreadable file counts as missing."""
    try:
        read = await turn.read(uri)
    except ProtocolError:
        return file_edit(turn.keep, uri, None, text.encode())
    is_text = read.encoding != ContentEncoding.BASE64
    before = read.data.encode() if is_text else base64.b64decode(read.data)
    return file_edit(turn.keep, uri, before, text.encode())


async def send_subagent(stage: DemoStage, argument: str) -> None:
    """Let another demo agent do something, in a session that clients can follow."""
    errand = argument or "write 60"
    call = await _begin_freely(stage, "delegate", "Ask another agent", f"Have it done: {errand}")
    try:
        subagent = await stage.turn.delegate("demo", t.UserMessage(text=errand), title=quoted(errand))
        call.show(subagent.content)
        answer = await subagent.answer()
    except SeraiError as error:
        await _failed(stage, call, "Could not have it done", error)
        return
    said = "".join(part.content for part in answer.response_parts if isinstance(part, t.MarkdownResponsePart))
    complete = answer.state == t.TurnState.COMPLETE
    await call.done(
        "The other agent has answered",
        text=said,
        content=[subagent.content],
        error=None if complete else f"its turn ended as {answer.state}",
    )
    await stage.say(f"The other agent said {len(said.split())} words.")


def _uri(turn: Turn, name: str) -> str:
    """Return the URI of a file that is named relative to the session's folder."""
    if not name:
        raise Misuse("it needs the name of a file")
    if turn.working_directory is None:
        raise Misuse("this session has no folder")
    return f"{turn.working_directory.rstrip('/')}/{quote(name)}"


# -- a client's tools --------------------------------------------------------------------------------------


async def of_client(stage: DemoStage, argument: str) -> None:
    """Call a tool that the active client offers, and report its result."""
    name, _, tool_input = argument.partition(" ")
    if not name:
        raise Misuse("it needs the name of a tool")
    client = stage.turn.active_client
    tool = next((tool for tool in client.tools if tool.name == name), None) if client else None
    if client is None or tool is None:
        offered = ", ".join(f"`{tool.name}`" for tool in client.tools) if client else ""
        await stage.say(f"No client lends me a tool {quoted(name)}. These are offered: {offered or 'none'}.")
        return
    call = await stage.call(
        name,
        tool.title or name,
        message=t.Markdown(markdown=f"Call `{name}`"),
        input=tool_input.strip() or "{}",
        # The person has just asked for this very call.
        confirmed=_NOT_NEEDED,
        client_id=client.client_id,
    )
    await stage.say(_result_text(name, await call.result()))


def _result_text(name: str, result: t.ToolCallResult) -> str:
    if not result.success:
        return f"`{name}` failed: {result.error.message if result.error else 'it does not say why'}."
    texts = [item.text for item in result.content or () if isinstance(item, t.ToolResultTextContent)]
    return f"`{name}` says: {quoted(' '.join(texts), 1000)}." if texts else f"`{name}` is done."
