"""Actions: services of participants and of the host, invoked by name, with a record of every decision.

    known? → invoked → input valid? → available to the caller? → handler → output valid? → an outcome

The caller gets the invocation's id at once. The outcome is an event, and a message to the caller.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from serai import contract as c
from serai.errors import ActionNotFound, Forbidden, InvalidParams, NameTaken, SeraiError
from serai.host.identities import Participant
from serai.relay import WorkspacePart
from serai.relay.tokens import Caller
from serai.store.contract import RelayWrite

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

RunAction = Callable[[c.ActionRunParams, Caller], Awaitable[Any]]
"""Function that runs an action. An exception is the outcome: `Forbidden` a denial, others a failure."""

MayAsk = Callable[[Caller, Participant], bool]
"""Function that tells whether an action exists for a caller, who speaks for a participant."""

_LONGEST = 10 * 60
"""Longest time that an action may take, in seconds."""


class _Registered(NamedTuple):
    descriptor: c.ActionDescriptor
    run: RunAction
    owner: Participant | None
    connection: object
    """The connection, or the host, that answers for the action. When it is gone, the action is gone."""
    may_ask: MayAsk


class _Invocation(c.Record):
    """The stored record of an invocation."""

    name: str
    owner: str | None
    """The id of the participant that runs the action; `None` for the host's own actions."""
    result: c.InvokeResult


class Actions(WorkspacePart):
    """The actions of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._actions: dict[str, _Registered] = {}
        self._running: dict[tuple[int, str], asyncio.Task[c.InvokeResult]] = {}
        self._awaited: Counter[tuple[int, str]] = Counter()
        """Number of callers that wait for the outcome of an invocation: they get it as the answer."""

    # -- registering ---------------------------------------------------------------------------------------

    def register(self, caller: Caller, params: c.ActionRegisterParams) -> c.ActionDescriptor:
        """Offer an action of a participant, for as long as its connection lasts.

        Raises:
            CapabilityUnsupported: The caller's session does not declare `actions.expose`.
            NameTaken: There is an action of that name, of someone else.
            InvalidParams: A schema is none, or the caller cannot be asked.
        """
        owner, link = self._workspace.speaker(caller), caller.link
        self._require(owner, c.ActionUse.EXPOSE)
        if link is None:
            raise InvalidParams("an action is registered over the WebSocket", field="params")
        known = self._actions.get(params.name)
        if known is not None and known.owner != owner:
            raise NameTaken(f"there is an action {params.name!r} already", remedy="Choose another name")

        async def run(call: c.ActionRunParams, _caller: Caller) -> Any:
            return await link.request("actions.run", call)

        def may_ask(_caller: Caller, who: Participant) -> bool:
            return _is_available(params.available_to, who)

        _check_schema(params.input_schema, "inputSchema")
        _check_schema(params.output_schema or {}, "outputSchema")
        described = c.ActionDescriptor(**asdict(params), owner=owner.handle)
        described = replace(described, description=self._masked(params.description))
        if not any(one.connection is link for one in self._actions.values()):
            link.when_closed(lambda: self._connection_closed(link))
        self._actions[params.name] = _Registered(described, run, owner, link, may_ask)
        data: dict[str, Any] = {"action": described.name, "description": described.description}
        if params.available_to is not None:
            data["availableTo"] = params.available_to
        self._ledger.event("action.registered", data, actor=owner.identity.id)
        return described

    def add_built_in(self, params: c.ActionRegisterParams, run: RunAction, may_ask: MayAsk) -> None:
        """Add an action that the host itself does."""
        described = c.ActionDescriptor(**asdict(params))
        self._actions[params.name] = _Registered(described, run, None, self, may_ask)

    def unregister(self, caller: Caller, params: c.ActionParams) -> c.Empty:
        """Remove an action.

        Raises:
            ActionNotFound: There is none.
            Forbidden: Someone else has registered it.
        """
        found, who = self._found(params.name), self._workspace.speaker(caller)
        if found.owner is None or (found.owner.number != who.number and caller.role != c.Role.OWNER):
            raise Forbidden(f"{params.name!r} is not an action of {who.handle}")
        del self._actions[params.name]
        return c.Empty()

    def _connection_closed(self, connection: object) -> None:
        """Remove the actions that were registered over a connection that is gone."""
        self._actions = {name: one for name, one in self._actions.items() if one.connection is not connection}

    def list(self, caller: Caller, _params: c.Empty) -> c.ActionsResult:
        """List the actions that a caller may invoke, by name."""
        if caller.only_reads:
            return c.ActionsResult(actions=())
        who = self._workspace.speaker(caller)
        if (declared := self._workspace.declared(who)) is not None and not c.supports(
            declared, c.ActionUse.INVOKE
        ):
            return c.ActionsResult(actions=())
        mine = [one.descriptor for one in self._actions.values() if one.may_ask(caller, who)]
        return c.ActionsResult(actions=tuple(sorted(mine, key=lambda one: one.name)))

    # -- invoking ------------------------------------------------------------------------------------------

    async def invoke(self, caller: Caller, params: c.InvokeParams) -> c.InvokeResult:
        """Invoke an action. Returns at once, or with the outcome if the caller waits for it.

        Cancelling does not stop the action.

        Raises:
            CapabilityUnsupported: The caller's session does not declare `actions.invoke`.
            ActionNotFound: There is no such action.
        """
        who = self._workspace.speaker(caller)
        self._require(who, c.ActionUse.INVOKE)
        invocation_id = params.invocation_id or self._new_id("inv")
        key = who.number, invocation_id
        task = self._running.get(key)
        if task is None and params.invocation_id:
            await self._workspace.runner.committed()
            rows = await self._store.relay("invocation", *key)
            task = self._running.get(key)  # it may have begun meanwhile
            if rows and task is None:
                return c.decode(rows[0][0], _Invocation).result
        if task is None:
            action = self._found(params.name)
            call = c.ActionRunParams(
                invocation_id=invocation_id, name=params.name, input=params.input, caller=who.identity
            )
            begun = c.InvokeResult(invocation_id=invocation_id)
            self._record(begun, call, action.owner, {"input": params.input})
            task = self._running[key] = asyncio.create_task(self._run(action, call, caller, who))
            task.add_done_callback(lambda _: self._running.pop(key, None))
        if params.wait_ms > 0:
            self._awaited[key] += 1
            try:
                await asyncio.wait({task}, timeout=min(params.wait_ms / 1000, _LONGEST))
            finally:
                self._awaited -= Counter({key: 1})
            if task.done():
                return task.result()
        return c.InvokeResult(invocation_id=invocation_id)

    async def open(self) -> None:
        """Fail the invocations that ran when the host was stopped: nobody knows whether they were done."""
        for number, data in await self._store.relay("open_invocations"):
            kept = c.decode(data, _Invocation)
            who = self._identities[number]
            owner = self._identities.find(kept.owner) if kept.owner else None
            known = kept.result.invocation_id
            call = c.ActionRunParams(invocation_id=known, name=kept.name, caller=who.identity)
            outcome = _failed(kept.result, "handler_failed", "the host was stopped while it ran")
            self._record(outcome, call, owner, {"error": outcome.error, "code": outcome.code})
            self._send(owner, call, who, outcome, 0)

    async def close(self) -> None:
        """Cancel the invocations that run."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run(
        self, action: _Registered, call: c.ActionRunParams, caller: Caller, who: Participant
    ) -> c.InvokeResult:
        hops = self._workspace.runner.hops_of(who, None)
        started = time.monotonic()
        outcome = self._masked(await self._outcome(action, call, caller, who))
        data = {"error": outcome.error, "code": outcome.code, "output": outcome.output}
        if outcome.state == c.ActionState.DENIED:
            data["reason"] = data.pop("error")
        else:
            data["durationMs"] = round((time.monotonic() - started) * 1000)
        self._record(outcome, call, action.owner, data)
        if not self._awaited[who.number, call.invocation_id]:
            self._send(action.owner, call, who, outcome, hops)
        return outcome

    async def _outcome(
        self, action: _Registered, call: c.ActionRunParams, caller: Caller, who: Participant
    ) -> c.InvokeResult:
        """Run an action and return the outcome."""
        result = c.InvokeResult(invocation_id=call.invocation_id)
        if problem := _misfit(action.descriptor.input_schema, call.input):
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
        except Exception as error:  # noqa: BLE001 - the caller gets whatever a handler raises
            message = str(error) if isinstance(error, SeraiError) else f"{type(error).__name__}: {error}"
            return _failed(result, "handler_failed", message)
        if problem := _misfit(action.descriptor.output_schema, output):
            return _failed(result, "validation_failed", f"the output does not fit: {problem}")
        return replace(result, state=c.ActionState.COMPLETED, output=output)

    def _send(
        self,
        owner: Participant | None,
        call: c.ActionRunParams,
        who: Participant,
        outcome: c.InvokeResult,
        hops: int,
    ) -> None:
        """Send the outcome to the caller as a message."""
        sender = owner or self._workspace.system
        if who.gone or sender.number == who.number:  # its own handler knows the outcome
            return
        told = msgspec.json.encode(outcome.output).decode() if outcome.error is None else outcome.error
        verb = "was" if outcome.state == c.ActionState.DENIED else "has"
        text = f"The action {call.name} {verb} {outcome.state.value}: {told}"
        metadata = {"action": call.name, "invocationId": call.invocation_id, "state": outcome.state.value}
        self._workspace.post.notify(
            sender, who, text, c.DeliveryReason.ACTION_RESULT, metadata=metadata, hops=hops
        )

    # -- helpers -------------------------------------------------------------------------------------------

    def _found(self, name: str) -> _Registered:
        found = self._actions.get(name)
        if found is None:
            raise ActionNotFound(f"there is no action {name!r}", remedy="'serai actions' lists them")
        return found

    def _require(self, who: Participant, use: c.ActionUse) -> None:
        declared = self._workspace.declared(who)
        if declared is not None:
            c.require(declared, use, agent=who.handle)

    def _masked(self, value: Any) -> Any:
        return self._redactor.redact_value(value, observed=True)

    def _record(
        self, result: c.InvokeResult, call: c.ActionRunParams, owner: Participant | None, data: dict[str, Any]
    ) -> None:
        """Store a decision, so that a repeated invocation is recognised, and publish it as an event."""
        told = {"action": call.name, "invocationId": call.invocation_id, "caller": c.to_wire(call.caller)}
        told |= self._masked({key: value for key, value in data.items() if value is not None})
        subject = owner.identity.id if owner else None
        kept = _Invocation(name=call.name, owner=subject, result=result)
        caller, is_open = self._identities.get(call.caller.id).number, result.state == c.ActionState.INVOKED
        write = RelayWrite("put_invocation", (caller, call.invocation_id, is_open, c.encode(kept)))
        kind = f"action.{result.state.value}"
        self._ledger.event(kind, told, actor=call.caller.id, subject=subject, writes=[write])


def _failed(result: c.InvokeResult, code: str, error: str) -> c.InvokeResult:
    return replace(result, state=c.ActionState.FAILED, code=code, error=error)


def _denied(result: c.InvokeResult, error: str) -> c.InvokeResult:
    return replace(result, state=c.ActionState.DENIED, code="permission_denied", error=error)


def _is_available(selectors: Iterable[str] | None, who: Participant) -> bool:
    """Tell whether a selector fits a participant: its name, handle, id, a glob of them, or a tag."""
    if selectors is None:
        return True
    identity = who.identity
    tags: list[str] = identity.metadata.get("tags", [])
    names = [c.name_key(one) for one in (identity.name, identity.handle, identity.id, *tags)]
    return any(fnmatchcase(name, c.name_key(selector)) for selector in selectors for name in names)


def _check_schema(schema: dict[str, Any], field: str) -> None:
    """Check that this is a JSON Schema."""
    from jsonschema import SchemaError  # noqa: PLC0415 - it takes a while to import, and few need it

    try:
        _validator(schema).check_schema(schema)
    except SchemaError as error:
        raise InvalidParams(f"this is no JSON Schema: {error.message}", field=f"params.{field}") from None


def _misfit(schema: dict[str, Any] | None, value: Any) -> str | None:
    """Return why a value does not fit a JSON Schema. References to other documents are not fetched."""
    if not schema:
        return None
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

    try:
        error = next(_validator(schema).iter_errors(value), None)
    except Unresolvable as missing:
        return f"the schema refers to what is not in it: {missing}"
    return None if error is None else f"{error.message} (at {error.json_path})"


def _validator(schema: dict[str, Any]) -> Any:
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - as above
    from referencing import Registry  # noqa: PLC0415 - as above

    registry: Registry[Any] = Registry()
    return validators.validator_for(schema, default=Draft202012Validator)(schema, registry=registry)
