"""What can be written in a chat: messages, commands, answers."""

from __future__ import annotations

__all__ = ["COMMANDS", "HELP", "TAKE_A_PASTE", "first_word", "pieces"]

HELP = """\
Write a message, and the agent answers. Lines that are pasted together are one message.
  /cancel        stop the running turn (Ctrl-C does it, too)
  /queue TEXT    leave a message for after the running turn
  /steer TEXT    leave a message that reaches the running turn
  /go            send the messages that are held
  /drop NUMBER   take back a message that waits
  /title TEXT    give the session a title
  /signin        sign in to the agent, in a terminal of the host
  /quit          leave; the session stays, and so does a running turn
  //TEXT         send a message that begins with a slash"""

COMMANDS = frozenset({"/cancel", "/queue", "/steer", "/go", "/drop", "/title", "/signin", "/quit", "/help"})

TAKE_A_PASTE = frozenset({"/queue", "/steer"})
"""Those whose text may have several lines."""


def first_word(text: str) -> str:
    """The word that a line begins with."""
    return next(iter(text.split(None, 1)), "")


def pieces(text: str | None, pasted: tuple[str, ...], *, is_asked: bool) -> list[str | None]:
    """What lines that came at once are: one message, or one thing after the other.

    Args:
        text: The first line; `None` when there will be no more.
        pasted: Those that came along with it.
        is_asked: Whether something is asked: then each line is an answer.
    """
    if not pasted:
        return [text]
    whole = "\n".join([text or "", *pasted]).strip("\n")
    word = first_word(whole)
    is_message = not word.startswith("/") or word.startswith("//") or word in TAKE_A_PASTE
    return [whole] if is_message and not is_asked else [text, *pasted]
