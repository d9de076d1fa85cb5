"""Tools that the demo agent only pretends to have: nothing is run, read or written. `deeds` are for real."""

from __future__ import annotations

import json
from mimetypes import guess_type
from typing import Any

from serai.ahp.types import (
    ConfirmationOption,
    ConfirmationOptionKind,
    FileEdit,
    FileEditDiff,
    FileEditSide,
    Markdown,
    ToolCallConfirmationReason,
    ToolCallResult,
    ToolResultEmbeddedResourceContent,
    ToolResultFileEditContent,
    ToolResultTextContent,
)
from serai.harness.demo.stage import DemoStage, Misuse, number, quoted
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn

__all__ = [
    "OPTIONS",
    "ask_about_result",
    "ask_again",
    "big_output",
    "edit_file",
    "failing_tool",
    "field_of",
    "file_edit",
    "freely",
    "live_output",
    "made",
    "may",
    "of_client",
    "picture",
    "shell",
]

_NOT_NEEDED = ToolCallConfirmationReason.NOT_NEEDED.value
_MOST_KIB = 8192
_LISTING = "-rw-r--r-- 1 guest guest  42 README.md\n-rw-r--r-- 1 guest guest 128 notes.md\n"
_FOR_SESSION = "allow-session"


def _option(option_id: str, label: str, kind: ConfirmationOptionKind, group: int) -> ConfirmationOption:
    return ConfirmationOption(id=option_id, label=label, kind=kind.value, group=group)


OPTIONS = [
    _option("allow-once", "Allow once", ConfirmationOptionKind.APPROVE, 0),
    _option(_FOR_SESSION, "Allow for this session", ConfirmationOptionKind.APPROVE, 0),
    _option("deny", "Deny", ConfirmationOptionKind.DENY, 1),
    _option("deny-suggest", "Deny, and say what to do instead", ConfirmationOptionKind.DENY, 1),
]
"""The answers to choose from when a tool wants to run: two ways to say yes, and two to say no."""


# -- asking first ------------------------------------------------------------------------------------------


async def may(stage: DemoStage, name: str, display_name: str, **how: Any) -> ToolCall | None:
    """Begin a call that needs an approval; `None` when it was denied, and that has been said."""
    call = await stage.call(name, display_name, options=OPTIONS, **how)
    return await _heard(stage, call)


async def _heard(stage: DemoStage, call: ToolCall) -> ToolCall | None:
    """Do what the answer to a confirmation asks for, apart from running the tool."""
    if not call.approved:
        await stage.say("You said no, so I have not done it.")
        if call.suggestion:
            await stage.say(f"You would rather have this: {quoted(call.suggestion.text)}. I take note of it.")
        return None
    if call.option == _FOR_SESSION:
        stage.turn.grant(call.name)
    return call


def field_of(call: ToolCall, key: str, otherwise: str | None = None) -> str:
    """A field of the call's input, which a person may have changed into anything.

    Without the field it is `otherwise`, or the whole input.
    """
    try:
        fields = json.loads(call.input or "")
        value = fields[key]
    except (ValueError, TypeError, LookupError, RecursionError):
        return otherwise if otherwise is not None else call.input or ""
    # JSON can write half a character (`\ud800`), which no file and no file's name can hold.
    return value.encode(errors="replace").decode() if isinstance(value, str) else json.dumps(value)


async def _shell(stage: DemoStage, command: str, **how: Any) -> ToolCall | None:
    return await may(
        stage,
        "shell",
        "Run a command",
        message=Markdown(markdown=f"Run `{command}`"),
        title="Run a command?",
        input=json.dumps({"command": command}),
        editable=True,
        **how,
    )


async def shell(stage: DemoStage, argument: str) -> None:
    """Pretend to run a shell command, once someone allows it."""
    call = await _shell(stage, argument or "ls -l")
    if call is None:
        return
    command = field_of(call, "command")
    await stage.breathe()
    await call.done(Markdown(markdown=f"Ran `{command}`"), text=f"$ {command}\n{_LISTING}")
    await stage.say(f"I have pretended to run `{command}`; its output stands with the call.")


async def edit_file(stage: DemoStage, _argument: str) -> None:
    """Pretend to edit a file, and show the edit beforehand."""
    uri, before = "demo-file:/notes.md", b"Rooms: twelve.\nWater: yes.\n"
    planned = "Rooms: fourteen.\nWater: yes.\nStables: two.\n"
    call = await may(
        stage,
        "edit_file",
        "Edit a file",
        message=Markdown(markdown="Edit `notes.md`"),
        title="Edit notes.md?",
        input=json.dumps({"path": "notes.md", "text": planned}),
        editable=True,
        edits=[file_edit(stage.turn, uri, before, planned)],
    )
    if call is None:
        return
    edit = file_edit(stage.turn, uri, before, field_of(call, "text"))
    await call.done(Markdown(markdown="Edited `notes.md`"), content=[made(edit)])
    await stage.say("I have pretended to edit `notes.md`. No file was touched.")


def file_edit(turn: Turn, uri: str, before: bytes | None, after: str) -> FileEdit:
    """What writing a text changes in a file, or (`None`) in one that is not there."""

    def side(data: bytes) -> FileEditSide:
        return FileEditSide(uri=uri, content=turn.keep(data, guess_type(uri)[0] or "text/plain"))

    old, new, diff = _lines(before or b""), after.splitlines(), None
    if old is not None:  # what is no text has no lines to count
        added, removed = (line not in old for line in new), (line not in new for line in old)
        diff = FileEditDiff(added=sum(added), removed=sum(removed))
    return FileEdit(before=None if before is None else side(before), after=side(after.encode()), diff=diff)


def _lines(data: bytes) -> list[str] | None:
    try:
        return data.decode().splitlines()
    except UnicodeDecodeError:
        return None


def made(edit: FileEdit) -> ToolResultFileEditContent:
    """An edit that was made, as the result of its call."""
    return ToolResultFileEditContent(before=edit.before, after=edit.after, diff=edit.diff)


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
    """Run a tool that needs a second permission when it is half done."""
    call = await _shell(stage, "make install")
    if call is None:
        return
    call.show(ToolResultTextContent(text="built; installing needs another permission\n"))
    await stage.breathe()
    # Whatever was allowed for the session, this is another question: it is asked each time.
    await call.ready(
        confirmed=None if stage.asks else ToolCallConfirmationReason.SETTING.value,
        message="Write outside of the working directory",
        meta={"serai.demo.permission": "write-outside"},
        title="Go on and install?",
        options=OPTIONS[:1] + OPTIONS[2:],
    )
    if await _heard(stage, call) is not None:
        await call.done("Installed", text="built\ninstalled\n")
        await stage.say("Installed, in a manner of speaking.")


# -- not asking --------------------------------------------------------------------------------------------


async def freely(stage: DemoStage, name: str, display_name: str, message: str) -> ToolCall:
    """Begin a call that nobody need be asked about."""
    return await stage.call(name, display_name, message=message, confirmed=_NOT_NEEDED)


async def live_output(stage: DemoStage, _argument: str) -> None:
    """Show what a tool has so far, while it runs."""
    call = await freely(stage, "tests", "Run the tests", "Run five tests")
    shown = ""
    for test in ("arrive", "settle in", "eat", "sleep", "leave"):
        shown += f"test {test} … ok\n"
        call.show(ToolResultTextContent(text=shown))
        await stage.breathe()
    await call.done("Ran five tests", text=f"{shown}5 passed\n", structured={"passed": 5, "failed": 0})
    await stage.say("All five pass. A client that shows live output showed each as it ended.")


async def big_output(stage: DemoStage, argument: str) -> None:
    """Return so many KiB of text."""
    size = int(number(argument, most=_MOST_KIB, what="a size in KiB")) * 1024
    call = await freely(stage, "read_log", "Read a log", "Read a long log")
    line = "2001-01-01 00:00:00 a traveller came in, and another one went\n"
    await call.done("Read a long log", text=(line * (size // len(line) + 1))[:size])
    await stage.say(f"The log has {size:,} bytes. I have not read them all, to be honest.")


async def picture(stage: DemoStage, _argument: str) -> None:
    """Return an image."""
    call = await freely(stage, "paint", "Paint a picture", "Paint a small picture")
    content = ToolResultEmbeddedResourceContent(data=_SUNSET, content_type="image/png")
    await call.done("Painted a small picture", text="A sunset over the court", content=[content])
    await stage.say("Here is a sunset, 16 by 16 pixels.")


_SUNSET = (
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAZ0lEQVR42mNwiDpBEmLwid5DEmKIiNlAEmJIiV1C"
    "EmIoiJtBEmKoie8hCTF0JDSQhBimJJaQhBgWJGWQhBjWJMeQhBh2pASQhBiOpLqQhBgupFmQhBjupOuQhBheZCiQ"
    "hBi+ZIqQhADJ+2mQICl5VwAAAABJRU5ErkJggg=="
)
"""A picture that goes from blue to orange, 16 by 16 pixels, as a PNG in base64."""


async def failing_tool(stage: DemoStage, _argument: str) -> None:
    """Run a tool that fails, and go on."""
    call = await freely(stage, "fetch", "Fetch a page", "Fetch a page that is not there")
    await call.done("Could not fetch the page", error="the page is not there")
    await stage.say("The tool failed. That happens; the turn goes on all the same.")


# -- a client's tools --------------------------------------------------------------------------------------


async def of_client(stage: DemoStage, argument: str) -> None:
    """Call a tool that the active client offers, and say what came of it."""
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
        message=Markdown(markdown=f"Call `{name}`"),
        input=tool_input.strip() or "{}",
        # The person has just asked for this very call.
        confirmed=_NOT_NEEDED,
        client_id=client.client_id,
    )
    await stage.say(_told(name, await call.result()))


def _told(name: str, result: ToolCallResult) -> str:
    if not result.success:
        return f"`{name}` failed: {result.error.message if result.error else 'it does not say why'}."
    texts = [item.text for item in result.content or () if isinstance(item, ToolResultTextContent)]
    return f"`{name}` says: {quoted(' '.join(texts), 1000)}." if texts else f"`{name}` is done."
