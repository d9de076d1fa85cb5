"""Answers that are JSON of a shape that was asked for."""

from __future__ import annotations

import json
import re
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar, cast

import msgspec

from serai.agents.ask.events import AskResult, JsonResult
from serai.agents.ask.prompt import Aside, Command, Prompt
from serai.depth import checked
from serai.errors import JsonInvalid, Mismatch, ParseError

__all__ = ["LARGEST", "Shape", "Unfit", "ask_for", "instructions", "read_answer", "shape_of"]

T = TypeVar("T")

LARGEST = 5 * 1024 * 1024
"""An answer with more characters is not read."""
_ISSUES = 10
_ISSUE_LENGTH = 300
_BRACKETS = 1_000
"""Largest number of brackets that are tried as the beginning of JSON, so that prose takes no time."""
_PIECES = 64
"""How many pieces of an answer are tried."""
_FENCED = re.compile(r"```\w*\r?\n(.*?)\r?\n?```", re.DOTALL)
_BRACKET = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder()


class Unfit(Exception):
    """An answer does not have the shape: `issues` say why."""

    def __init__(self, *issues: str) -> None:
        super().__init__("; ".join(issues))
        self.issues = tuple(issue[:_ISSUE_LENGTH] for issue in issues[:_ISSUES])


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """What an answer has to be."""

    schema: Mapping[str, Any]
    """As JSON Schema, for the agent."""
    read: Callable[[bytes], T]
    """Takes JSON; raises `Unfit`."""


def shape_of(schema: Any) -> Shape[Any]:
    """The shape that a type, a pydantic model or a JSON Schema asks for.

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
    if hasattr(schema, "model_json_schema") and hasattr(schema, "model_validate_json"):
        return _pydantic(_described(schema.model_json_schema), schema.model_validate_json)
    if hasattr(schema, "json_schema") and hasattr(schema, "validate_json"):
        return _pydantic(_described(schema.json_schema), schema.validate_json)
    try:
        described = msgspec.json.schema(schema)
        decoder = msgspec.json.Decoder(schema)
    except TypeError as error:
        if (shape := _adapted(schema)) is not None:
            return shape
        raise Mismatch(f"this is no type that can be asked for: {error}", field="schema") from None

    def read(data: bytes) -> Any:
        try:
            return decoder.decode(data)
        except msgspec.ValidationError as error:
            raise Unfit(str(error)) from None

    return Shape(described, read)


def instructions(shape: Shape[Any]) -> str:
    """What the agent is told beside the question."""
    schema = msgspec.json.encode(shape.schema).decode()
    return (
        "Answer with one JSON value and nothing else: no explanation, no code fence. "
        f"It must be valid under this JSON Schema:\n{schema}"
    )


def read_answer(text: str, shape: Shape[T]) -> tuple[T, str]:
    """What an answer means, and the JSON in it. Fences, and words around it, are passed over.

    The whole text comes first, then what stands in brackets; of several values the last, since agents come to
    a conclusion.

    Raises:
        Unfit: There is no JSON in it, or none of the shape.
    """
    if len(text) > LARGEST:
        raise Unfit(f"the answer is longer than {LARGEST >> 20} MiB")
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
    whole = text.strip()
    if whole:
        yield whole
    if (fenced := _FENCED.fullmatch(whole)) is not None:
        yield fenced[1]
    yield from reversed(deque(_bracketed(text), maxlen=_PIECES))


def _bracketed(text: str) -> Iterator[str]:
    """The outermost pieces of a text that are JSON in brackets."""
    place = 0
    for _ in range(_BRACKETS):
        start = _BRACKET.search(text, place)
        if start is None:
            return
        try:
            _, place = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            place = start.end()
        else:
            yield text[start.start() : place]


# -- the kinds of shapes -----------------------------------------------------------------------------------


def _pydantic(schema: Mapping[str, Any], validate: Callable[[bytes], Any]) -> Shape[Any]:
    def read(data: bytes) -> Any:
        try:
            return validate(data)
        except ValueError as error:  # pydantic's own is one
            told = getattr(error, "errors", None)
            if told is None:
                raise Unfit(str(error)) from None
            raise Unfit(*(f"{each['msg']} - at `{_path(each['loc'])}`" for each in told())) from None

    return Shape(schema, read)


def _described(describe: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    try:
        return describe()
    except Exception as error:  # noqa: BLE001 - pydantic has many errors, which all say that there is none
        reason = str(error).partition("\n")[0]  # more lines point to its documentation
        raise Mismatch(f"there is no JSON Schema of this type: {reason}", field="schema") from None


def _adapted(schema: Any) -> Shape[Any] | None:
    """A type that only pydantic understands, such as a list of its models; `None` when it does not either."""
    pydantic: Any = sys.modules.get("pydantic")  # whoever has such models has imported it
    if pydantic is None:
        return None
    try:
        adapter = pydantic.TypeAdapter(schema)
        described = adapter.json_schema()
    except Exception:  # noqa: BLE001 - it has many errors, which all say that this is no such type
        return None
    return _pydantic(described, adapter.validate_json)


def _json_schema(schema: Mapping[str, Any] | bool) -> Shape[Any]:
    # They take a while to import, and few need them.
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
    # A registry of its own: what a schema refers to elsewhere is not fetched.
    nothing_else: Registry[Any] = Registry()
    validator: Any = kind(document, registry=nothing_else)

    def read(data: bytes) -> Any:
        value = msgspec.json.decode(data)
        try:
            errors: list[Any] = list(islice(validator.iter_errors(value), _ISSUES))
        except Unresolvable as error:
            raise Mismatch(f"the schema refers to what is not in it: {error}", field="schema") from None
        if errors:
            raise Unfit(*(f"{error.message} - at `{_path(error.absolute_path)}`" for error in errors))
        return value

    return Shape(document, read)


def _path(parts: Any) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


async def ask_for(
    shape: Shape[T], prompt: Prompt, ask: Callable[[Prompt], Awaitable[AskResult]]
) -> JsonResult[T]:
    """Ask for an answer of a shape. One that does not have it is sent back once.

    Raises:
        JsonInvalid: The second answer was not right either.
    """
    parts: list[Any] = [prompt] if isinstance(prompt, str | Command) else list(prompt)
    result = await ask([*parts, Aside(instructions(shape))])
    for repaired in (False, True):
        try:
            data, raw = read_answer(result.text, shape)
            return JsonResult(data, raw, result, repaired)
        except Unfit as unfit:
            if repaired or result.stop_reason != "end_turn":
                raise _unreadable(result, unfit) from None
            issues = "\n".join(f"- {issue}" for issue in unfit.issues)
        result = await ask(f"That answer cannot be used:\n{issues}\n\n{instructions(shape)}")
    raise AssertionError("unreachable")


def _unreadable(result: AskResult, unfit: Unfit) -> JsonInvalid:
    how = "" if result.stop_reason == "end_turn" else f" (the turn ended with {result.stop_reason})"
    return JsonInvalid(
        f"the agent {result.agent!r} did not answer with the JSON that was asked for{how}: {unfit}",
        agent=result.agent,
        text=result.text,
        issues=unfit.issues,
    )
