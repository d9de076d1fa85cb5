"""Answers in JSON of a requested shape."""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar, cast

import msgspec

from serai.agents.ask.events import AskResult, JsonResult
from serai.agents.ask.prompt import Aside, Prompt, SlashCommand
from serai.contract.record import checked
from serai.errors import JsonInvalid, Mismatch, ParseError

T = TypeVar("T")

SchemaText: TypeAlias = Mapping[str, Any] | bool | str
"""A JSON Schema, as a mapping or as text."""

_ISSUES = 10
_ISSUE_LENGTH = 300
_BRACKETS = 1_000
"""Largest number of brackets that are tried as the beginning of JSON, so that prose takes no time."""
_PIECES = 64
"""Largest number of pieces of an answer that are tried as JSON."""
_INSTRUCTIONS = (
    "Answer with one JSON value and nothing else: no explanation, no code fence. "
    "It must be valid under this JSON Schema:\n"
)
_FENCED = re.compile(r"```\w*\r?\n(.*?)\r?\n?```", re.DOTALL)
_BRACKET = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()


class Unfit(Exception):
    """An answer does not have the requested shape; `issues` say why."""

    def __init__(self, *issues: str) -> None:
        super().__init__("; ".join(issues))
        self.issues = tuple(issue[:_ISSUE_LENGTH] for issue in issues[:_ISSUES])


@dataclass(frozen=True, slots=True)
class AnswerShape(Generic[T]):
    """The requested shape of an answer."""

    schema: Mapping[str, Any]
    """The JSON Schema for the agent."""
    read: Callable[[bytes], T]
    """Reads JSON; raises `Unfit`."""


def shape_of(schema: Any) -> AnswerShape[Any]:
    """Return the shape for a type, a pydantic model or a JSON Schema.

    Raises:
        Mismatch: It is none of these.
    """
    if isinstance(schema, str):
        try:
            schema = msgspec.json.decode(checked(schema))
        except (msgspec.DecodeError, ParseError) as error:
            raise Mismatch(f"this is no JSON Schema: {error}", field="schema") from None
    if isinstance(schema, Mapping | bool):
        return _json_schema(cast("Mapping[str, Any] | bool", schema))
    try:
        described = msgspec.json.schema(schema)
        decoder = msgspec.json.Decoder(schema)
    except TypeError as error:
        if (shape := _adapted(schema)) is not None:
            return shape
        raise Mismatch(f"this type cannot be asked for: {error}", field="schema") from None

    def read(data: bytes) -> Any:
        try:
            return decoder.decode(data)
        except msgspec.ValidationError as error:
            raise Unfit(str(error)) from None

    return AnswerShape(described, read)


def read_answer(text: str, shape: AnswerShape[T]) -> tuple[T, str]:
    """Return the value of an answer, and its JSON. Code fences and words around the JSON are skipped.

    The whole text is tried first, then pieces in brackets, from the last to the first: agents end with their
    conclusion.

    Raises:
        Unfit: It has no JSON, or none of the requested shape.
    """
    problem: Unfit | None = None
    for candidate in _candidates(text):
        try:
            data = checked(candidate)
            msgspec.json.decode(data)
        except (msgspec.DecodeError, ParseError, UnicodeDecodeError) as error:
            problem = problem or Unfit(f"it is no JSON: {error}")
            continue
        try:
            return shape.read(data), candidate
        except Unfit as unfit:
            if problem is None or problem.issues[0].startswith("it is no JSON"):
                problem = unfit
    raise problem or Unfit("the answer is empty")


def _candidates(text: str) -> Iterator[str]:
    """Yield the whole text, then its outermost pieces of JSON in brackets, the last first."""
    if whole := text.strip():
        yield whole
    if (fenced := _FENCED.fullmatch(whole)) is not None:
        yield fenced[1]
    pieces: deque[str] = deque(maxlen=_PIECES)
    place = 0
    for _ in range(_BRACKETS):
        if (start := _BRACKET.search(text, place)) is None:
            break
        try:
            _, place = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            place = start.end()
        else:
            pieces.append(text[start.start() : place])
    yield from reversed(pieces)


def _adapted(schema: Any) -> AnswerShape[Any] | None:
    """Return the shape for a type that pydantic understands; `None` for others."""
    pydantic: Any = sys.modules.get("pydantic")  # a program with such models has imported it
    if pydantic is None:
        return None
    try:
        adapter = pydantic.TypeAdapter(schema)
        described = adapter.json_schema()
    except Exception:  # noqa: BLE001 - each of its many errors means that this is no such type
        return None

    def read(data: bytes) -> Any:
        try:
            return adapter.validate_json(data)
        except pydantic.ValidationError as error:
            raise Unfit(*(f"{each['msg']} - at `{_path(each['loc'])}`" for each in error.errors())) from None

    return AnswerShape(described, read)


def _json_schema(schema: Mapping[str, Any] | bool) -> AnswerShape[Any]:
    # They are slow to import, and rarely needed.
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - that is why
    from jsonschema.validators import validator_for  # noqa: PLC0415 - the same
    from referencing import Registry  # noqa: PLC0415 - the same
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - the same

    document: Any = schema if isinstance(schema, bool) else msgspec.to_builtins(schema)
    kind: Any = validator_for(document, default=Draft202012Validator)
    try:
        kind.check_schema(document)
    except SchemaError as error:
        raise Mismatch(f"this is no JSON Schema: {error.message}", field="schema") from None
    # An empty registry: references to other documents are not fetched.
    nothing_else: Registry[Any] = Registry()
    validator: Any = kind(document, registry=nothing_else)

    def read(data: bytes) -> Any:
        value = msgspec.json.decode(data)
        try:
            errors: list[Any] = list(islice(validator.iter_errors(value), _ISSUES))
        except Unresolvable as error:
            raise Mismatch(f"the schema refers to something outside it: {error}", field="schema") from None
        if errors:
            raise Unfit(*(f"{error.message} - at `{_path(error.absolute_path)}`" for error in errors))
        return value

    return AnswerShape(document, read)


def _path(parts: Any) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


async def ask_for(
    shape: AnswerShape[T],
    prompt: Prompt,
    ask: Callable[[Prompt], Awaitable[AskResult]],
    *,
    is_second: bool = False,
) -> JsonResult[T]:
    """Ask for an answer of a shape. An answer of another shape is sent back once.

    Raises:
        JsonInvalid: The second answer was wrong, too.
    """
    parts = [prompt] if isinstance(prompt, str | SlashCommand) else prompt
    schema = msgspec.json.encode(shape.schema).decode()
    result = await ask([*parts, Aside(_INSTRUCTIONS + schema)])
    try:
        return JsonResult(*read_answer(result.text, shape), result, is_second)
    except Unfit as unfit:
        if is_second or result.stop_reason != "end_turn":
            ended, who = result.stop_reason, result.agent
            how = "" if ended == "end_turn" else f" (the turn ended with {ended})"
            raise JsonInvalid(
                f"the agent {who!r} did not answer with the JSON that was asked for{how}: {unfit}",
                agent=who,
                text=result.text,
                issues=unfit.issues,
            ) from None
        issues = "\n".join(f"- {issue}" for issue in unfit.issues)
    return await ask_for(shape, f"That answer cannot be used:\n{issues}", ask, is_second=True)
