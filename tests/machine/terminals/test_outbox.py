"""How a terminal's output becomes actions."""

from __future__ import annotations

from serai.ahp import actions as a
from serai.machine.terminals import marks
from serai.machine.terminals.outbox import TerminalOutbox


def test_text_is_joined_until_something_else_happens() -> None:
    outbox = TerminalOutbox()
    assert not outbox
    outbox.tell([marks.Data("a"), marks.Data("b"), marks.PromptStart(), marks.Data("c")])
    outbox.tell([marks.Data("d")])
    assert outbox
    assert outbox.size == 4
    assert outbox.take() == [
        a.TerminalDataAction(data="ab"),
        a.TerminalCommandDetectionAvailableAction(),
        a.TerminalDataAction(data="cd"),
    ]
    assert not outbox
    assert (outbox.size, outbox.take()) == (0, [])


def test_of_titles_and_directories_the_last_is_told_and_only_when_it_is_new() -> None:
    outbox = TerminalOutbox()
    outbox.tell([*(marks.Title(str(number)) for number in range(10_000)), marks.Cwd("/a"), marks.Cwd("/b c")])
    assert outbox.take() == [
        a.TerminalTitleChangedAction(title="9999"),
        a.TerminalCwdChangedAction(cwd="file:///b%20c"),
    ]
    outbox.tell([marks.Title("x"), marks.Title("9999"), marks.Cwd("/b c"), marks.Cwd("relative")])
    assert not outbox
    outbox.tell([marks.Title("")])
    assert outbox.take() == [a.TerminalTitleChangedAction(title="")]


def test_a_command_has_an_id_a_line_an_exit_code_and_a_duration() -> None:
    outbox = TerminalOutbox()
    outbox.tell([marks.CommandFinished(0), marks.MarkedCommand("ls"), marks.CommandFinished(2)])
    outbox.tell([marks.CommandFinished(2), marks.MarkedCommand("cat")])
    executed, finished, again = outbox.take()
    assert isinstance(executed, a.TerminalCommandExecutedAction)
    assert isinstance(finished, a.TerminalCommandFinishedAction)
    assert isinstance(again, a.TerminalCommandExecutedAction)
    assert executed.command_line == "ls"
    assert (finished.command_id, finished.exit_code) == (executed.command_id, 2)
    assert finished.duration_ms is not None
    assert again.command_id != executed.command_id


def test_a_command_whose_end_was_not_told_ends_with_the_next_or_with_the_program() -> None:
    outbox = TerminalOutbox()
    outbox.tell([marks.MarkedCommand("a"), marks.MarkedCommand("b")])
    outbox.exited(3)
    outbox.tell([marks.Title("late")])
    codes = [each.exit_code for each in outbox.take() if isinstance(each, a.TerminalCommandFinishedAction)]
    assert codes == [None, 3]


def test_an_end_that_nobody_saw_has_a_code_too() -> None:
    outbox = TerminalOutbox()
    outbox.tell([marks.MarkedCommand("a")])
    outbox.exited(None)
    _, finished, exited = outbox.take()
    assert isinstance(finished, a.TerminalCommandFinishedAction)
    assert finished.exit_code is None
    assert exited == a.TerminalExitedAction(exit_code=137)


def test_the_end_is_told_last() -> None:
    outbox = TerminalOutbox()
    outbox.exited(0)
    outbox.tell([marks.Data("rest"), marks.Title("t")])
    assert isinstance(outbox.take()[-1], a.TerminalExitedAction)
