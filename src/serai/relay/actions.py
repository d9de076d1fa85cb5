"""Actions: what participants and the host do for others, asked for by name, with a record of every decision.

    known? → invoked → input valid? → available to the caller? → handler → output valid? → an outcome

Whoever asks gets the invocation's id at once. The outcome is an event, and a message to the caller.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from serai.contract import (
    ActionDescriptor,
    ActionRegisterParams,
    ActionRunParams,
    ActionState,
    ActionUse,
    AgentSessionCapabilities,
    DeliveryReason,
    IdentityKind,
    InvokeParams,
    InvokeResult,
    Record,
    decode,
    encode,
    name_key,
    require,
    supports,
    to_wire,
)
from serai.errors import ActionNotFound, Forbidden, InvalidParams, NameTaken, SeraiError
from serai.host.identities import Identities, Participant
from serai.host.ledger import Ledger
from serai.redact import Redactor
from serai.relay.inbox import Caller
from serai.relay.post import Post
from serai.relay.runner import Runner
from serai.store.contract import RelayWrite

__all__ = ["Actions", "MayAsk", "RunAction"]

RunAction = Callable[[ActionRunParams, Caller], Awaitable[Any]]
"""Does what an action is for. What it raises is the outcome: `Forbidden` a denial, all else a failure."""

MayAsk = Callable[[Caller, Participant], bool]
"""Whether an action exists for a caller, who speaks for a participant."""

_LONGEST = 10 * 60
"""How long an action may take, in seconds."""
_REMEMBERED = 1000
"""How many invocations are remembered, so that a repeat is known."""
_SYSTEM = "serai"
"""Who sends the outcome of what the host itself did."""


class _Registered(NamedTuple):
    descriptor: ActionDescriptor
    run: RunAction
    owner: Participant | None
    connection: object
    """Who answers for it: when that is gone, the action is."""
    check_input: Callable[[Any], str | None]
    check_output: Callable[[Any], str | None]
    may_ask: MayAsk


class _Invocation(Record):
    """What is kept of an invocation."""

    name: str
    owner: str | None
    """The id of who does it; none for what the host does itself."""
    result: InvokeResult


class Actions:
    """The actions of a workspace.

    Args:
        ledger: Where every decision is written down.
        identities: Who takes part.
        post: Sends outcomes.
        runner: Knows how long a chain of agents is.
        redactor: Masks secrets in what is written down.
        declared: What the session of a participant declares; `None` for one without a session.
        new_id: Makes ids that are in the order of time.
    """

    def __init__(
        self,
        ledger: Ledger,
        identities: Identities,
        post: Post,
        runner: Runner,
        redactor: Redactor,
        declared: Callable[[Participant], AgentSessionCapabilities | None],
        new_id: Callable[[str], str],
    ) -> None:
        self._ledger = ledger
        self._identities = identities
        self._post = post
        self._runner = runner
        self._redactor = redactor
        self._declared = declared
        self._new_id = new_id
        self._actions: dict[str, _Registered] = {}
        self._invocations: OrderedDict[tuple[int, str], asyncio.Task[InvokeResult]] = OrderedDict()
        self._awaited: Counter[tuple[int, str]] = Counter()
        """How many wait for the outcome of an invocation: they get it as the answer."""

    # -- registering ---------------------------------------------------------------------------------------

    def register(self, params: ActionRegisterParams, caller: Caller, owner: Participant) -> ActionDescriptor:
        """Have a participant do something when it is asked for, as long as its connection is there.

        Raises:
            CapabilityUnsupported: The caller's session does not declare `actions.expose`.
            NameTaken: There is an action of that name, of someone else.
            InvalidParams: A schema is none, or the caller cannot be asked.
        """
        self._require(owner, ActionUse.EXPOSE)
        link = caller.link
        if link is None:
            raise InvalidParams("an action is registered over the WebSocket", field="params")
        known = self._actions.get(params.name)
        if known is not None and known.owner != owner:
            raise NameTaken(f"there is an action {params.name!r} already", remedy="Choose another name")

        async def run(call: ActionRunParams, _caller: Caller) -> Any:
            return msgspec.json.decode(await link.request("actions.run", call))

        _check_schema(params.input_schema, "inputSchema")
        _check_schema(params.output_schema or {}, "outputSchema")
        told = self._masked(params.description)
        described = ActionDescriptor(**asdict(params) | {"description": told}, owner=owner.handle)
        if not any(one.connection is link for one in self._actions.values()):
            link.when_closed(lambda: self._left(link))
        selectors = params.available_to
        return self._add(described, run, owner, link, lambda _caller, who: _is_available(selectors, who))

    def build_in(self, params: ActionRegisterParams, run: RunAction, may_ask: MayAsk) -> None:
        """Have the host itself do something when it is asked for."""
        self._add(ActionDescriptor(**asdict(params)), run, None, self, may_ask)

    def _add(
        self,
        descriptor: ActionDescriptor,
        run: RunAction,
        owner: Participant | None,
        connection: object,
        may_ask: MayAsk,
    ) -> ActionDescriptor:
        check_input = partial(_misfit, descriptor.input_schema)
        check_output = partial(_misfit, descriptor.output_schema or {})
        self._actions[descriptor.name] = _Registered(
            descriptor, run, owner, connection, check_input, check_output, may_ask
        )
        if owner is not None:
            data: dict[str, Any] = {"action": descriptor.name, "description": descriptor.description}
            if descriptor.available_to is not None:
                data["availableTo"] = descriptor.available_to
            self._ledger.event("action.registered", data, actor=owner.identity.id)
        return descriptor

    def unregister(self, name: str, owner: Participant, *, is_host_owner: bool) -> None:
        """Take an action back.

        Raises:
            ActionNotFound: There is none.
            Forbidden: Someone else has registered it.
        """
        found = self._found(name)
        if found.owner is None or (found.owner.number != owner.number and not is_host_owner):
            raise Forbidden(f"{name!r} is not an action of {owner.handle}")
        del self._actions[name]

    def _left(self, connection: object) -> None:
        """A connection is gone, and what was registered over it."""
        self._actions = {name: one for name, one in self._actions.items() if one.connection is not connection}

    def list(self, caller: Caller, who: Participant) -> tuple[ActionDescriptor, ...]:
        """The actions that someone may ask for, by name."""
        if (declared := self._declared(who)) is not None and not supports(declared, ActionUse.INVOKE):
            return ()
        mine = [one.descriptor for one in self._actions.values() if one.may_ask(caller, who)]
        return tuple(sorted(mine, key=lambda one: one.name))

    # -- invoking ------------------------------------------------------------------------------------------

    async def invoke(self, params: InvokeParams, caller: Caller, who: Participant) -> InvokeResult:
        """Have an action done. Returns at once, or when the outcome is there if the caller waits for it.

        Cancelling does not stop the action.

        Raises:
            CapabilityUnsupported: The caller's session does not declare `actions.invoke`.
            ActionNotFound: There is no such action.
        """
        self._require(who, ActionUse.INVOKE)
        invocation_id = params.invocation_id or self._new_id("inv")
        key = who.number, invocation_id
        if params.invocation_id and key not in self._invocations:
            await self._runner.committed()
            rows = await self._ledger.store.relay("invocation", *key)
            if rows and key not in self._invocations:  # it did not begin meanwhile
                return decode(rows[0][0], _Invocation).result
        task = self._invocations.get(key)
        if task is None:
            action = self._found(params.name)
            call = ActionRunParams(
                invocation_id=invocation_id, name=params.name, input=params.input, caller=who.identity
            )
            begun = InvokeResult(invocation_id=invocation_id)
            self._tell(begun, call, action.owner, {"input": params.input})
            task = self._invocations[key] = asyncio.create_task(self._run(action, call, caller, who))
            while len(self._invocations) > _REMEMBERED:
                self._invocations.popitem(last=False)
        if params.wait_ms > 0:
            self._awaited[key] += 1
            try:
                await asyncio.wait({task}, timeout=min(params.wait_ms / 1000, _LONGEST))
            finally:
                self._awaited -= Counter({key: 1})
            if task.done():
                return task.result()
        return InvokeResult(invocation_id=invocation_id)

    async def open(self) -> None:
        """What ran when the host was stopped has failed: nobody knows whether it was done."""
        for number, data in await self._ledger.store.relay("open_invocations"):
            kept = decode(data, _Invocation)
            who = self._identities[number]
            owner = self._identities.find(kept.owner) if kept.owner else None
            known = kept.result.invocation_id
            call = ActionRunParams(invocation_id=known, name=kept.name, caller=who.identity)
            outcome = _failed(kept.result, "handler_failed", "the host was stopped while it ran")
            self._tell_outcome(outcome, call, owner, None)
            self._send(owner, call, who, outcome, 0)

    async def close(self) -> None:
        """Let what runs go."""
        running = [task for task in self._invocations.values() if not task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run(
        self, action: _Registered, call: ActionRunParams, caller: Caller, who: Participant
    ) -> InvokeResult:
        hops = self._runner.hops_of(who, None)
        started = time.monotonic()
        outcome = self._masked(await self._outcome(action, call, caller, who))
        self._tell_outcome(outcome, call, action.owner, round((time.monotonic() - started) * 1000))
        if not self._awaited[who.number, call.invocation_id]:
            self._send(action.owner, call, who, outcome, hops)
        return outcome

    def _tell_outcome(
        self, outcome: InvokeResult, call: ActionRunParams, owner: Participant | None, duration: int | None
    ) -> None:
        data: dict[str, Any] = {"durationMs": duration}
        match outcome.state:
            case ActionState.COMPLETED:
                data["output"] = outcome.output
            case ActionState.DENIED:
                data = {"reason": outcome.error, "code": outcome.code}
            case _:
                data |= {"error": outcome.error, "code": outcome.code}
        self._tell(outcome, call, owner, data)

    async def _outcome(
        self, action: _Registered, call: ActionRunParams, caller: Caller, who: Participant
    ) -> InvokeResult:
        """What comes of an invocation."""
        result = InvokeResult(invocation_id=call.invocation_id)
        if problem := action.check_input(call.input):
            return _failed(result, "validation_failed", f"the input does not fit: {problem}")
        if not action.may_ask(caller, who):
            return _denied(result, f"{call.name!r} is not available to {who.handle}")
        try:
            async with asyncio.timeout(_LONGEST):
                output = await action.run(call, caller)
        except Forbidden as error:
            return _denied(result, error.message)
        except TimeoutError:
            return _failed(result, "handler_failed", f"no answer within {_LONGEST} seconds")
        except Exception as error:  # noqa: BLE001 - a handler may raise anything, and its caller hears of it
            message = str(error) if isinstance(error, SeraiError) else f"{type(error).__name__}: {error}"
            return _failed(result, "handler_failed", message)
        if problem := action.check_output(output):
            return _failed(result, "validation_failed", f"the output does not fit: {problem}")
        return replace(result, state=ActionState.COMPLETED, output=output)

    def _send(
        self,
        owner: Participant | None,
        call: ActionRunParams,
        who: Participant,
        outcome: InvokeResult,
        hops: int,
    ) -> None:
        """Send the outcome to whoever asked."""
        if who.gone:
            return
        sender = owner or self._identities.find(_SYSTEM)
        if sender is None:
            sender = self._identities.enlist(_SYSTEM, IdentityKind.SYSTEM)
        if sender.number == who.number:
            return  # its own handler has seen it
        told = msgspec.json.encode(outcome.output).decode() if outcome.error is None else outcome.error
        text = f"The action {call.name} has {outcome.state.value}: {told}"
        if outcome.state == ActionState.DENIED:
            text = f"The action {call.name} was denied: {told}"
        metadata = {"action": call.name, "invocationId": call.invocation_id, "state": outcome.state.value}
        self._post.notify(sender, who, text, DeliveryReason.ACTION_RESULT, metadata=metadata, hops=hops)

    # -- helpers -------------------------------------------------------------------------------------------

    def _found(self, name: str) -> _Registered:
        found = self._actions.get(name)
        if found is None:
            raise ActionNotFound(f"there is no action {name!r}", remedy="'serai actions' lists them")
        return found

    def _require(self, who: Participant, use: ActionUse) -> None:
        declared = self._declared(who)
        if declared is not None:
            require(declared, use, agent=who.handle)

    def _masked(self, value: Any) -> Any:
        return self._redactor.redact_value(value, observed=True)

    def _tell(
        self, result: InvokeResult, call: ActionRunParams, owner: Participant | None, data: dict[str, Any]
    ) -> None:
        """Write a decision down, so that a repeat is known, and tell of it."""
        told = {"action": call.name, "invocationId": call.invocation_id, "caller": to_wire(call.caller)}
        told |= self._masked({key: value for key, value in data.items() if value is not None})
        subject = owner.identity.id if owner else None
        kept = _Invocation(name=call.name, owner=subject, result=result)
        caller, is_open = self._identities.get(call.caller.id).number, result.state == ActionState.INVOKED
        write = RelayWrite("put_invocation", (caller, call.invocation_id, is_open, encode(kept)))
        kind = f"action.{result.state.value}"
        self._ledger.event(kind, told, actor=call.caller.id, subject=subject, writes=[write])


def _failed(result: InvokeResult, code: str, error: str) -> InvokeResult:
    return replace(result, state=ActionState.FAILED, code=code, error=error)


def _denied(result: InvokeResult, error: str) -> InvokeResult:
    return replace(result, state=ActionState.DENIED, code="permission_denied", error=error)


def _is_available(selectors: Iterable[str] | None, who: Participant) -> bool:
    """Whether one of the selectors is a participant's: name, handle, id, a glob of them, or a tag."""
    if selectors is None:
        return True
    identity = who.identity
    tags: list[str] = identity.metadata.get("tags", [])
    names = [name_key(one) for one in (identity.name, identity.handle, identity.id, *tags)]
    return any(fnmatchcase(name, name_key(selector)) for selector in selectors for name in names)


def _check_schema(schema: dict[str, Any], field: str) -> None:
    """Go on only with a JSON Schema."""
    # It takes a while to import, and few need it.
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - that is why
    from jsonschema.validators import validator_for  # noqa: PLC0415 - the same

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        raise InvalidParams(f"this is no JSON Schema: {error.message}", field=f"params.{field}") from None


def _misfit(schema: dict[str, Any], value: Any) -> str | None:
    """Why a value does not fit a JSON Schema. What the schema refers to elsewhere is not fetched."""
    if not schema:
        return None
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - it takes a while to import
    from jsonschema.validators import validator_for  # noqa: PLC0415 - the same
    from referencing import Registry  # noqa: PLC0415 - the same
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - the same

    registry: Registry[Any] = Registry()
    kind: Any = validator_for(schema, default=Draft202012Validator)
    try:
        error = next(iter(kind(schema, registry=registry).iter_errors(value)), None)
    except Unresolvable as missing:
        return f"the schema refers to what is not in it: {missing}"
    return None if error is None else f"{error.message} (at {error.json_path})"
