"""References in prompts: `{{input}}`, `{{ctx.name}}` and `{{turn-1.output}}`.

Text that only looks like one is neutralised: each opener gets one space more between its braces, and
rendering takes one away. So what a person once typed comes back as it was, whatever it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from serai.errors import Mismatch

_OPENER = re.compile(r"\{(?= *\{)")
# A reference; an opener that was neutralised; an opener that is neither.
_TOKEN = re.compile(r"\{\{ *(input|ctx\.[\w-]+|[a-z0-9-]+\.output) *\}\}|\{ (?= *\{)|\{\{")


def neutralise(text: str) -> str:
    """Text in which nothing is a reference, and which renders as what it was."""
    return _OPENER.sub("{ ", text)


def references(template: str) -> Iterator[str]:
    """The names of a template's references, in order: `input`, `ctx.name`, `turn-1.output`.

    Raises:
        Mismatch: Something opens like a reference and is none.
    """
    for token in _TOKEN.finditer(template):
        if token[1]:
            yield token[1]
        elif token[0] == "{{":
            raise Mismatch(
                f"{template[token.start() : token.start() + 24]!r} is no reference; those are {{{{input}}}}, "
                "{{ctx.name}} and {{turn-1.output}}, and other braces have a space between them",
                field="",
            )


def render(template: str, values: Mapping[str, str]) -> str:
    """A template with the values of its references. What stands in a value stays as it is.

    Raises:
        Mismatch: A reference has no value, or is none.
    """
    missing = [name for name in references(template) if name not in values]
    if missing:
        raise Mismatch(f"{{{{{missing[0]}}}}} has no value", field="")
    return _TOKEN.sub(lambda token: values[token[1]] if token[1] else "{", template)
