"""The answer to the command `completions`: finds the word that is being written, and makes offers for it.

    token = token_at(params.text, params.offset)
    if token is not None:
        found = items(token, await FileIndex(folder).candidates(token.query))

Clients count UTF-16 units, so an emoji counts as two. Two kinds of words can be completed: a mention with
`@`, at the start of a word, whose name may be put in quotes (`@"my file`; a quote or a backslash in it has a
backslash before it); and a command with `/`, at the start of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from unicodedata import normalize

from serai.ahp.commands import CompletionItem
from serai.ahp.types import MessageAttachment
from serai.errors import InvalidParams

KIND = "serai.kind"
"""Key in an attachment's `_meta` for what was chosen: `file`, `folder`, `skill`, `prompt`, `room`, or who."""

TRIGGERS = ["@", "/"]
"""Characters that begin a word that can be completed; `initialize` tells clients."""

ITEM_LIMIT = 50
"""Most offers in one answer."""

# Scripts that are written without spaces between words, such as Thai, Chinese, Japanese and Korean.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff"
    r"\uff66-\uffdc\U00020000-\U0003ffff"
)
# Not in an address (`me@host`), nor where `@` belongs to a path (`node_modules/@types`).
_BEGINS = rf"(?<![^\W{_UNSPACED}])(?<![@/\\])"
# There it is part of the name that is being written: `@icon@2x.png`.
_INSIDE = rf"(?:(?<=[^\W{_UNSPACED}])|(?<=[/\\]))@"

_TOKENS = (
    (
        "@",
        re.compile(
            rf"""{_BEGINS}@(?:"(?P<quoted>(?:[^"\\\n]|\\.)*+\\?)|(?P<query>(?:[^\s"@]|{_INSIDE})*+))\Z"""
        ),
    ),
    ("/", re.compile(r"\A/(?P<query>\S*)\Z")),
)

_ESCAPED = re.compile(r"""\\(["\\])""")


@dataclass(frozen=True, slots=True)
class Token:
    """A word that is being written: its trigger, the text after it, and its place in UTF-16 units."""

    trigger: str
    query: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible completion: its name, as it is written after the trigger, and its attachment."""

    name: str
    attachment: MessageAttachment
    text: str | None = None
    """Inserted text, where that is not the trigger and the name."""


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def index_of(text: str, offset: int) -> int:
    """Return the place in a text that an offset in UTF-16 units means.

    Raises:
        InvalidParams: The offset is before the text, behind it, or inside a character.
    """
    if not 0 <= offset <= units(text):
        raise InvalidParams(
            f"the offset {offset} is outside of a text of {units(text)} units", field="params.offset"
        )
    if text.isascii():
        return offset
    before = text.encode("utf-16-le", "surrogatepass")[: 2 * offset].decode("utf-16-le", "surrogatepass")
    if units(text[: len(before)]) != offset:
        raise InvalidParams(f"the offset {offset} is inside a character", field="params.offset")
    return len(before)


def token_at(text: str, offset: int) -> Token | None:
    """Return the word that is being written at an offset; `None` when it cannot be completed.

    Raises:
        InvalidParams: The offset is before the text, behind it, or inside a character.
    """
    before = text[: index_of(text, offset)]
    line = before[before.rfind("\n") + 1 :]
    for trigger, pattern in _TOKENS:
        if (match := pattern.search(line)) is not None:
            found = match.groupdict()
            quoted = found.get("quoted")
            return Token(
                trigger,
                found["query"] if quoted is None else _ESCAPED.sub(r"\1", quoted),
                start=offset - units(match.group()),
                end=offset,
            )
    return None


def items(token: Token, candidates: Iterable[Candidate]) -> list[CompletionItem]:
    """Return the offers for a word, at most `ITEM_LIMIT`. Each replaces all of it up to the cursor."""
    return [
        CompletionItem(
            insert_text=candidate.text
            or token.trigger + (_quoted(candidate.name) if token.trigger == "@" else candidate.name),
            attachment=candidate.attachment,
            range_start=token.start,
            range_end=token.end,
        )
        for candidate in candidates
    ][:ITEM_LIMIT]


def _quoted(name: str) -> str:
    if not re.search(r"""[\s"]""", name):
        return name
    return '"' + re.sub(r"""["\\]""", r"\\\g<0>", name) + '"'


def folded(text: str) -> str:
    """Return a text in which case and the spelling of letters with signs make no difference."""
    return normalize("NFC", text.lower())
