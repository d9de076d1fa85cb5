"""The speech of the demo agent: text, reasoning, long work, notices and failures."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator
from typing import ClassVar

from serai.ahp import types as t
from serai.errors import SeraiError
from serai.harness.demo.stage import DemoStage, Misuse, number, quoted, words

_MOST_WORDS = 100_000
_MOST_SECONDS = 7 * 24 * 3600
_MOST_TOKENS = 1_000_000_000

_PROSE = (
    "A caravanserai stood a day's ride from the next. Travellers came in at dusk, told what they had seen, "
    "and left before the heat. The house kept the messages for those who had not come yet. "
)
_EXTRAS = (
    "- one gate, and someone who watches it\n- rooms around a court\n- water, always\n",
    "```python\ndef greet(name: str) -> str:\n    return f'Welcome, {name}.'\n```\n",
    "| guest | room |\n|---|---|\n| agent | first floor |\n| person | wherever *they* like |\n",
    "> What is written in the book of the house is still there tomorrow.\n",
)


class DemoFailed(SeraiError):
    """The demo agent was told to fail."""

    code: ClassVar[str] = "demo_failed"


async def echo(stage: DemoStage, text: str) -> None:
    """Answer a text that is no command: repeat it, and explain the agent."""
    said = f"You said {quoted(text)}." if text.strip() else "You said nothing, and that is fine."
    await stage.say(
        f"{said}\n\nI am the demo agent. There is no model behind me: I follow a script, so that you can see "
        "what a session can do. Say `help` and I will tell you all of it; `tool` and `ask` are a good start."
    )


async def think(stage: DemoStage, about: str) -> None:
    """Reason, then answer."""
    topic = quoted(re.sub(r"^about\s+", "", about)) if about else "nothing in particular"
    await stage.think(
        f"The person wants me to think about {topic}. What do I know of it? Nothing: I am a script. "
        "What would be helpful? To show how thoughts arrive, apart from the answer. I should say so."
    )
    await stage.say(f"I have thought about {topic}. My thoughts are in a part of their own, above this one.")


async def write(stage: DemoStage, argument: str) -> None:
    """Stream a number of words of Markdown."""
    count = int(number(argument, most=_MOST_WORDS, what="a number of words"))
    pieces = list(itertools.islice(_markdown(), count))
    if sum(piece.count("```") for piece in pieces) % 2:
        pieces.append("\n```")  # the next text must not become code
    await stage.stream(pieces)


def _markdown() -> Iterator[str]:
    """Yield endless Markdown, word by word: headings and prose, with lists, tables, quotations and code."""
    for chapter in itertools.count():
        yield from words(f"{'##' if chapter else '#'} Chapter {chapter + 1}\n\n")
        yield from words(f"{_PROSE}It was **written down**, as `entry {chapter + 1}`.\n\n")
        yield from words(f"{_EXTRAS[chapter % len(_EXTRAS)]}\n")


_WORK = re.compile(r"(?P<seconds>\S+)(\s+every\s+(?P<every>\S+))?", re.IGNORECASE)


async def work(stage: DemoStage, argument: str) -> None:
    """Work for a time, and report each step. Steering is taken at each step."""
    found = _WORK.fullmatch(argument)
    if found is None:
        raise Misuse("it needs a number of seconds")
    seconds = number(found["seconds"], least=0, most=_MOST_SECONDS, what="a number of seconds")
    every = number(found["every"] or "1000", most=3_600_000, what="a number of milliseconds") / 1000
    clock = asyncio.get_running_loop().time
    await stage.say(
        f"I work for {seconds:g} s. A message that steers is heard at each step; `stop` stops me.\n"
    )
    begun = clock()
    steps = 0
    while (left := begun + seconds - clock()) > 0:
        await asyncio.sleep(min(every, left))
        steps += 1
        await stage.turn.say(f"\n- step {steps}: {clock() - begun:.1f} of {seconds:g} s")
        await stage.take_steering()
    await stage.say(f"Done, after {steps} step{'' if steps == 1 else 's'}.")


async def usage(stage: DemoStage, argument: str) -> None:
    """Report a number of tokens."""
    tokens = int(number(argument, most=_MOST_TOKENS, what="a number of tokens"))
    model = stage.turn.model.id if stage.turn.model else "demo-small"
    await stage.turn.used(
        t.UsageInfo(
            input_tokens=tokens, output_tokens=tokens // 10, cache_read_tokens=tokens // 2, model=model
        )
    )
    await stage.say(f"I report {tokens:,} tokens for {model}. They cost nothing: I made them up.")


async def notice(stage: DemoStage, text: str) -> None:
    """Show a notice."""
    await stage.notice(text or "This is a notice. Neither you nor I have said it.")


async def activity(stage: DemoStage, text: str) -> None:
    """Show an activity until the turn ends."""
    if not text:
        raise Misuse("it needs a text")
    await stage.turn.activity(text)
    await stage.say(f"Until this turn ends, a list of sessions shows that I am {quoted(text)}.")


async def fail(_stage: DemoStage, message: str) -> None:
    """End the turn with an error, as an agent does that knows what went wrong."""
    raise DemoFailed(message or "You told me to fail, and I have")


async def crash(_stage: DemoStage, _argument: str) -> None:
    """End the turn with an unexpected exception."""
    raise RuntimeError("the demo agent fell over, as it was told to")


async def list_attachments(stage: DemoStage, attachments: list[t.MessageAttachment]) -> None:
    """List the attachments of the message."""
    count = f"{len(attachments)} attachments" if len(attachments) > 1 else "one attachment"
    await stage.say(
        f"Your message has {count}:\n\n" + "\n".join(f"- {_described(one)}" for one in attachments)
    )


def _described(attachment: t.MessageAttachment) -> str:
    match attachment:
        case t.SimpleMessageAttachment():
            size = len(attachment.model_representation or "")
            return f"simple: **{attachment.label}**, {size:,} characters"
        case t.MessageEmbeddedResourceAttachment():
            size = len(attachment.data.rstrip("=")) * 3 // 4  # base64 has four characters for three bytes
            return f"embeddedResource: **{attachment.label}**, {attachment.content_type}, {size:,} bytes"
        case t.MessageResourceAttachment():
            size = "unknown size" if attachment.size_hint is None else f"{attachment.size_hint:,} bytes"
            return f"resource: **{attachment.label}**, {attachment.uri}, {size}"
        case _:
            return f"{attachment.raw.get('type')}: a kind that I do not know"
