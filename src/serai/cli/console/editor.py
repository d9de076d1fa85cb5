"""A terminal with an input line that can be edited. It stays at the bottom, and output is written above it.

The import takes a fifth of a second, so only a chat at a terminal does it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from prompt_toolkit.application.current import set_app
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import PromptSession
from prompt_toolkit.utils import get_cwidth

from serai.cli.console.markdown import BOLD, DIM, LineStream, diff_style
from serai.cli.console.output import clean
from serai.cli.console.terminal import Ask, PlainTerminal
from serai.client.events import ClosableQueue
from serai.redact import Redactor
from serai.redact.managed import managed_from_environment


class _History(FileHistory):
    """Earlier messages, in a file for its owner alone, with known secrets masked."""

    def __init__(self, file: Path) -> None:
        file.touch(0o600)
        self._redactor = Redactor(managed_from_environment(os.environ))
        super().__init__(file)

    def store_string(self, string: str) -> None:
        super().store_string(self._redactor.redact(string))


class _TabCompleter(Completer):
    """Completes messages while the person goes on writing. Answers to questions are not completed."""

    def __init__(self, terminal: EditedTerminal) -> None:
        self._terminal = terminal

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return nothing: only `get_completions_async` is called."""
        del document, complete_event
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        """Yield all completions at once."""
        del complete_event
        place, terminal = document.cursor_position, self._terminal
        if terminal.suggest is None or terminal.asked is not None:
            return
        for text, start, about in await terminal.suggest(document.text, place):
            space = "" if text.endswith("/") else " "  # into a folder one goes on
            yield Completion(f"{text}{space}", start - place, display=text, display_meta=about)


class EditedTerminal(PlainTerminal):
    """The person's terminal with an input line: see `open_editor`."""

    def __init__(self, history: Path, *, has_colour: bool) -> None:
        super().__init__(ClosableQueue(), sys.stdout, sys.stdout, is_interactive=True, has_colour=has_colour)
        # Never ask for the position of the cursor: the answer could come when someone else reads.
        self._output = Vt100_Output(
            sys.stdout,
            self._size,
            term=os.environ.get("TERM"),
            default_color_depth=None if has_colour else ColorDepth.DEPTH_1_BIT,
            enable_cpr=False,
        )
        self._stream = LineStream(lambda: self._size().columns, get_cwidth, has_styles=has_colour)
        self.asked: Ask | None = None
        """The open question: its text is the line before the answer."""
        self._draft = Document()  # a half-written message that a question has interrupted
        self._is_working = True
        self._session: PromptSession[str] = PromptSession(
            self._before_input,
            history=_History(history),
            key_bindings=self._keys(),
            completer=_TabCompleter(self),
            complete_while_typing=False,
            erase_when_done=True,
            output=self._output,
            prompt_continuation="  ",
        )
        self._app = self._session.app
        self._buffer = self._session.default_buffer

    async def run(self) -> None:
        """Edit lines until the person ends the input, or this is cancelled."""
        with suppress(EOFError):
            await self._app.run_async(set_exception_handler=False, handle_sigint=False)
        self.lines.end()

    def close(self) -> None:
        """Restore the screen."""
        self._app.renderer.erase()
        self._output.flush()

    # -- output --------------------------------------------------------------------------------------------

    def text(self, text: str) -> None:
        """Write a piece of an answer."""
        self._print(self._stream.feed(clean(text)))

    def dim(self, text: str) -> None:
        """Write something that matters less."""
        self._print(self._stream.feed(clean(text), dim=True))

    def note(self, text: str, *, style: str = "", aside: bool = False) -> None:
        """Write lines of their own; with `aside`, above a line that is still coming in."""
        self._print([*([] if aside else self._stream.end()), *self._stream.plain(clean(text), style)])

    def new_line(self) -> None:
        """Begin a new line, unless the screen is at the beginning of one."""
        self._print(self._stream.end())

    def _print(self, rows: Iterable[str]) -> None:
        if written := "".join(f"{row}\n" for row in rows):
            self._app.renderer.erase(leave_alternate_screen=False)
            self._output.write_raw(written)
            self._output.flush()
        self._app.invalidate()

    # -- questions and input -------------------------------------------------------------------------------

    def ask(self, asked: Ask) -> None:
        """Ask a question. A half-written message comes back afterwards."""
        *lines, last = asked.text.split("\n")
        for line in lines:
            self.note(line, style=diff_style(line))
        if self.asked is None:
            self._draft = self._buffer.document
        self.asked = replace(asked, text=clean(last))
        self._session.is_password = asked.secret
        self._buffer.document = Document(clean(asked.prefill))
        self._app.invalidate()

    def unask(self) -> None:
        """Withdraw the question."""
        if self.asked is not None:
            begun = self._buffer.text if self.asked.choices else ""  # no choice yet, so a part of the message
            self.asked = None
            self._session.is_password = False
            self._buffer.document, self._draft = self._draft, Document()
            self._buffer.insert_text(begun)
        self._app.invalidate()

    def prompt(self) -> None:
        """Show that the person may write."""
        self._is_working = False
        self._print(self._stream.end(is_all=True))
        self.unask()

    def typed(self) -> None:
        """Note that a person has entered a line, which is being handled."""
        self._is_working = True

    def _enter(self, buffer: Buffer) -> None:
        text, asked = buffer.text, self.asked
        word = text.strip().casefold()
        is_choice = not (asked and asked.choices) or word in {"", *asked.choices} or word.startswith("/")
        if self._draft.text and not is_choice:
            self.unask()  # it is the rest of the message, which waits for the answer
            self.lines.put("")
            return
        shown = "*" * len(text) if asked and asked.secret else clean(text).replace("\n", "\n  ")
        # Above a line that is still coming in, which goes on.
        self._print(self._stream.plain(f"{asked.text if asked else '> '}{shown}", "" if asked else BOLD))
        # Only messages are remembered, never answers: those may be secrets.
        buffer.reset(append_to_history=asked is None)
        self.unask()
        self.lines.put(text)

    def _takes_a_key(self) -> bool:
        """Tell whether a single key answers the question. A half-written message makes that ambiguous."""
        choices = self.asked.choices if self.asked else ()
        return "y" in choices and not self._draft.text and not self._buffer.text

    def _before_input(self) -> ANSI:
        """Return the text before the input: the end of incoming text, and the question."""
        rows = self._stream.rest()[-max(self._size().rows // 3, 1) :]
        question = self.asked.text if self.asked else ("… " if self._is_working else "> ")
        *before, last = self._stream.plain(question.rstrip(" "), DIM if self._is_working else BOLD)
        return ANSI("\n".join([*rows, *before, f"{last} "]))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def interrupt(_event: KeyPressEvent) -> None:
            signal.raise_signal(signal.SIGINT)  # as if the terminal did it

        @keys.add("enter", filter=has_focus(DEFAULT_BUFFER))
        def enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.complete_state and buffer.complete_state.current_completion:
                buffer.complete_state = None  # the completion is chosen
            else:
                self._enter(buffer)

        @keys.add("y", filter=Condition(self._takes_a_key))
        @keys.add("n", filter=Condition(self._takes_a_key))
        def answer(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text(event.data)
            self._enter(event.current_buffer)

        @keys.add("escape", "enter")
        def begin_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        del interrupt, enter, answer, begin_line
        return keys

    def _size(self) -> Size:
        size = shutil.get_terminal_size()
        return Size(rows=size.lines, columns=size.columns)

    @asynccontextmanager
    async def handed_over(self) -> AsyncGenerator[None]:
        """Leave the screen and the input to someone else for the length of a block."""
        self.new_line()
        self.close()
        with set_app(self._app):
            async with in_terminal():
                yield


@asynccontextmanager
async def open_editor(history: Path, *, has_colour: bool) -> AsyncGenerator[EditedTerminal]:
    """Open the person's terminal, with an input line, for the length of a block.

    Args:
        history: The file of earlier messages.
        has_colour: True when colours may be used.
    """
    terminal = EditedTerminal(history, has_colour=has_colour)
    task = asyncio.create_task(terminal.run())
    await asyncio.sleep(0)
    try:
        yield terminal
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        terminal.close()
