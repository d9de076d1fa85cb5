"""The relay as tools for agents: their arguments and answers, independent of the transport.

Answers are short, since an agent reads all of them: ids and states, and never the text that it sent. The
caller is the holder of the connection's token, never an argument.

Each action that the caller may use is a tool, too. A tool's name has letters, digits, `_` and `-`, so
`agent.create` is `agent_create`. Where two would have one name the relay's own tool has it, then the host's
action, then the first by name; `invoke_action` reaches them all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from inspect import signature
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from serai import contract as c
from serai.contract.record import mismatch, tool_schema
from serai.contract.relay_calls import misfit
from serai.errors import MethodNotFound
from serai.host.identities import Participant
from serai.relay import WorkspacePart
from serai.relay.delivery.session_queue import SessionQueue
from serai.relay.tokens import Caller
from serai.relay.workspace import Workspace

_EXCERPT = 300
"""Most characters of a hit that a search shows."""
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


_Wait = Annotated[
    int, Meta(ge=0, le=50, description="Seconds to wait for the answers; 0 returns once the message is sent")
]
_Mode = Annotated[c.DeliveryMode, Meta(description="When it surfaces; by default when the recipient is idle")]
_MessageId = Annotated[str, Meta(description="The id of a message, msg_…")]
_RoomName = Annotated[str, Meta(description="#name")]
_Limit = Annotated[int, Meta(ge=1, le=500)]
_Peek = Annotated[bool, Meta(description="Look without receiving")]
_NewRoom = Annotated[str, Meta(description="Letters, digits, '-', '_' and '.'")]
_Query = Annotated[str, Meta(description="Words; all of them have to be there")]
_DeliveryId = Annotated[str, Meta(description="The id of a delivery, dlv_…")]
_OnlyMode = Annotated[c.DeliveryMode, Meta(description="Only those in this mode")]
_Handle = Annotated[str, Meta(description="@handle")]
_OutcomeWait = Annotated[int, Meta(ge=0, le=50, description="Seconds to wait for the outcome")]
_To = Annotated[str | list[str], Meta(description="A #room, a @handle, or a list of handles for a group")]

_Run: TypeAlias = Callable[..., Awaitable[Any]]


class RelayTool(NamedTuple):
    """One tool: its name, its description, and the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, Any]


_RUNS: dict[str, tuple[type[Struct], _Run, str]] = {}
"""The tools, by name: the type of their arguments, the function and the description."""


def _tool(description: str) -> Callable[[_Run], _Run]:
    """Register a method as the tool of its name. Its keyword arguments are those of the tool."""

    def add(run: _Run) -> _Run:
        hints = get_type_hints(run, include_extras=True)
        arguments = [one for one in signature(run).parameters.values() if one.kind == one.KEYWORD_ONLY]
        fields = [
            (one.name, hints[one.name])
            if one.default is one.empty
            else (one.name, hints[one.name], one.default)
            for one in arguments
        ]
        name = run.__name__.removeprefix("_")
        kind = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
        _RUNS[name] = kind, run, description
        return run

    return add


class RelayTools(WorkspacePart):
    """The tools of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._do = workspace.call
        self._notices: dict[tuple[int, int], asyncio.Task[None]] = {}
        """The pending notifications about an idle agent, by the numbers of the asker and of the agent."""

    async def tools(self, caller: Caller) -> list[RelayTool]:
        """List the tools of a caller: the relay's own, and one for each action that the caller may use."""
        actions = await self._actions(caller)
        return [*self.own, *(RelayTool(name, one.description, _schema(one)) for name, one in actions.items())]

    async def _actions(self, caller: Caller) -> dict[str, c.ActionDescriptor]:
        """Return the actions that a caller may invoke, by the names of their tools."""
        found: Iterable[c.ActionDescriptor] = (await self._do(caller, "actions.list", c.Empty())).actions
        tools: dict[str, c.ActionDescriptor] = {}
        for action in sorted(found, key=lambda one: (one.owner is not None, one.name)):
            name = _NOT_IN_A_NAME.sub("_", action.name)[:_LONGEST_NAME]
            if name not in _RUNS:
                tools.setdefault(name, action)
        return tools

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool. Returns JSON.

        Raises:
            MethodNotFound: There is no such tool.
            InvalidParams: The arguments do not fit.
            SeraiError: It cannot be done; nothing of it was.
        """
        if name not in _RUNS:
            action = (await self._actions(caller)).get(name)
            if action is None:
                raise MethodNotFound(f"there is no tool {name!r}")
            given = arguments.get("input") if _is_wrapped(action) else dict(arguments)
            return await self._invoke(caller, action.name, given, 50)
        kind, run, _ = _RUNS[name]
        try:
            read = msgspec.convert(arguments, kind, strict=False)
        except msgspec.ValidationError as error:
            raise misfit(mismatch(str(error))) from None
        return await run(self, caller, **asdict(read))

    async def close(self) -> None:
        """Cancel all notifications."""
        notices = list(self._notices.values())
        for notice in notices:
            notice.cancel()
        await asyncio.gather(*notices, return_exceptions=True)

    # -- messages ------------------------------------------------------------------------------------------

    @_tool("Send a message. Tells how far it came to each; with wait, also their answers.")
    async def _send_message(
        self,
        caller: Caller,
        *,
        to: _To,
        text: str,
        mode: _Mode | None = None,
        priority: c.Priority = c.Priority.NORMAL,
        wait: _Wait = 0,
    ) -> Any:
        whom = to if isinstance(to, str) else tuple(to)
        params = c.SendParams(to=whom, text=text, mode=mode, priority=priority, **_until(wait))
        return self._sent(await self._do(caller, "messages.send", params))

    @_tool("Answer a message in its thread. Tells as send_message does.")
    async def _reply(
        self,
        caller: Caller,
        *,
        message: _MessageId,
        text: str,
        mode: _Mode | None = None,
        priority: c.Priority = c.Priority.NORMAL,
        wait: _Wait = 0,
    ) -> Any:
        params = c.ReplyParams(message_id=message, text=text, mode=mode, priority=priority, **_until(wait))
        return self._sent(await self._do(caller, "messages.reply", params))

    @_tool("Put an emoji under a message, or take it away.")
    async def _react(self, caller: Caller, *, message: _MessageId, emoji: str, remove: bool = False) -> Any:
        method = "messages.unreact" if remove else "messages.react"
        await self._do(caller, method, c.ReactParams(message_id=message, emoji=emoji))
        return {"message": message}

    @_tool("Receive the messages that wait until you look, and see what is unread.")
    async def _check_inbox(self, caller: Caller, *, limit: _Limit = 50, peek: _Peek = False) -> Any:
        inbox = await self._do(caller, "inbox.get", c.InboxParams(limit=limit, peek=peek))
        return _without_empty(
            messages=[self._message(message) for message in inbox.messages],
            mentions=[message.id for message in inbox.mentions],
            unread={one.room.name: one.unread for one in (*inbox.rooms, *inbox.conversations)},
            reactions=[c.to_wire(one) for one in inbox.reactions],
        ) or {"messages": []}

    @_tool("Mark all messages of a room or conversation as read, up to this one.")
    async def _mark_read(self, caller: Caller, *, message: _MessageId) -> Any:
        await self._do(caller, "messages.read", c.ReadParams(message_id=message))
        return {"readUntil": message}

    @_tool("Find messages by words, the best first.")
    async def _search_messages(self, caller: Caller, *, query: _Query, limit: _Limit = 20) -> Any:
        params = c.SearchParams(query=query, limit=limit)
        found = await self._do(caller, "messages.search", params)
        return {
            "hits": [
                self._message(hit.message, _EXCERPT)
                if hit.message is not None
                else {"session": hit.session, "turn": hit.turn_id, "text": hit.text[:_EXCERPT]}
                for hit in found.hits
            ]
        }

    @_tool("A message and all answers in its thread.")
    async def _get_thread(self, caller: Caller, *, message: _MessageId) -> Any:
        thread = await self._do(caller, "messages.thread", c.MessageParams(message_id=message))
        return {"messages": [self._message(message) for message in thread.messages]}

    # -- agents and rooms ----------------------------------------------------------------------------------

    @_tool("Who takes part, what each does, and who you are.")
    async def _list_agents(self, caller: Caller) -> Any:
        hello = await self._do(caller, "hello", c.Empty())
        found = await self._do(caller, "agents.list", c.AgentsListParams())
        agents = [
            _without_empty(
                agent=one.identity.handle, kind=one.identity.kind, status=one.status, waiting=one.waiting
            )
            for one in found.agents
        ]
        return _without_empty(you=hello.identity and hello.identity.handle, agents=agents)

    @_tool("The rooms, and the conversations that you are in.")
    async def _list_rooms(self, caller: Caller) -> Any:
        found = await self._do(caller, "rooms.list", c.RoomsListParams())
        return {"rooms": [_room(room) for room in found.rooms]}

    @_tool("Make a room. You are in it.")
    async def _create_room(self, caller: Caller, *, name: _NewRoom, topic: str | None = None) -> Any:
        params = c.RoomCreateParams(name=name, topic=topic)
        return _room(await self._do(caller, "rooms.create", params))

    @_tool("Be in a room: its messages are delivered to you.")
    async def _join_room(self, caller: Caller, *, room: _RoomName) -> Any:
        return _room(await self._do(caller, "rooms.join", c.RoomParams(room=room)))

    @_tool("Be in a room no longer.")
    async def _leave_room(self, caller: Caller, *, room: _RoomName) -> Any:
        return _room(await self._do(caller, "rooms.leave", c.RoomParams(room=room)))

    # -- deliveries ----------------------------------------------------------------------------------------

    @_tool("How far a message of yours, or one for you, has come, and how that is known.")
    async def _get_delivery(self, caller: Caller, *, delivery: _DeliveryId) -> Any:
        record = await self._do(caller, "deliveries.get", c.DeliveryParams(delivery_id=delivery))
        return self._delivery(record) | {"message": record.message_id, "evidence": record.evidence}

    @_tool("Have what waits for you enter as soon as you are idle, whatever it waits for.")
    async def _flush_deliveries(self, caller: Caller, *, mode: _OnlyMode | None = None) -> Any:
        params = c.FlushParams(agent=self._workspace.speaker(caller).handle, mode=mode)
        flushed = await self._do(caller, "deliveries.flush", params)
        return {"deliveries": [self._delivery(record) for record in flushed.deliveries]}

    @_tool("Get a message, once, when someone has nothing to do any more, or is gone.")
    async def _notify_when_idle(self, caller: Caller, *, agent: _Handle) -> Any:
        own, about = self._workspace.speaker(caller), self._identities.get(agent)
        queue = self._workspace.queue_of(about)
        told = {"agent": about.handle, "status": self._workspace.info(about).status}
        if about.gone or not isinstance(queue, SessionQueue) or self._is_idle(queue):
            return told | {"willNotify": False}  # an idle agent does not become idle
        key = own.number, about.number
        if key not in self._notices:
            # The notification continues the chain of messages that led to this call.
            hops = self._workspace.runner.hops_of(own, None)
            task = self._notices[key] = asyncio.create_task(self._notify(own, about, queue, hops))
            task.add_done_callback(lambda _: self._notices.pop(key, None))
        return told | {"willNotify": True}

    def _is_idle(self, queue: SessionQueue) -> bool:
        return queue.status == c.AgentStatus.IDLE and not queue.waiting["idle"]

    async def _notify(self, asker: Participant, agent: Participant, queue: SessionQueue, hops: int) -> None:
        """Notify a participant once another one is idle, or gone."""
        params = c.SubscribeParams(types=("agent.status.idle", "session.released"), agent=agent.handle)
        _, events = await self._workspace.subscribe(Caller(c.Role.OWNER), params)
        async with aclosing(events):
            while not (is_gone := self._identities[agent.number].gone) and not self._is_idle(queue):
                await anext(events)
        text = f"{agent.handle} is gone." if is_gone else f"{agent.handle} is idle now."
        if not self._identities[asker.number].gone:
            sender, reason = self._workspace.system, c.DeliveryReason.NOTIFICATION
            self._workspace.post.notify(sender, asker, text, reason, metadata={}, hops=hops)

    # -- actions -------------------------------------------------------------------------------------------

    @_tool("What others do for you when you invoke it.")
    async def _list_actions(self, caller: Caller) -> Any:
        found = await self._do(caller, "actions.list", c.Empty())
        return {
            "actions": [
                _without_empty(
                    name=one.name, by=one.owner, description=one.description, input=one.input_schema
                )
                for one in found.actions
            ]
        }

    @_tool("Have an action done. Tells the outcome; if it takes longer, a message does.")
    async def _invoke_action(
        self,
        caller: Caller,
        *,
        name: str,
        input: Any = None,  # noqa: A002 - as on the wire
        wait: _OutcomeWait = 50,
    ) -> Any:
        return await self._invoke(caller, name, input, wait)

    async def _invoke(self, caller: Caller, name: str, given: Any, seconds: int) -> Any:
        params = c.InvokeParams(name=name, input=given, wait_ms=seconds * 1000)
        result = await self._do(caller, "actions.invoke", params)
        told = {"invocation": result.invocation_id, "state": result.state}
        if result.state == c.ActionState.COMPLETED:
            return told | {"output": result.output}
        return told | _without_empty(code=result.code, error=result.error)  # otherwise a message follows

    # -- answers -------------------------------------------------------------------------------------------

    def _sent(self, result: c.SendResult) -> dict[str, Any]:
        deliveries = [self._delivery(record) for record in result.deliveries]
        told = {"message": result.message.id, "deliveries": deliveries}
        return told | _without_empty(unknownMentions=list(result.unknown_mentions))

    def _delivery(self, record: c.DeliveryRecord) -> dict[str, Any]:
        answer = record.answer
        return {"to": record.agent, "delivery": record.id} | _without_empty(
            state=record.state,
            mode=record.mode if record.requested_mode else None,
            waitsFor=record.waits_for,
            error=record.error,
            answer=answer and _without_empty(state=answer.state, text=answer.text, reply=answer.reply_id),
        )

    def _message(self, message: c.RelayMessage, most: int | None = None) -> dict[str, Any]:
        return {
            "message": message.id,
            "from": self._identities.get(message.sender.id).handle,
        } | _without_empty(
            room=message.channel and message.channel.name,
            thread=message.thread_id,
            at=f"{message.created_at:%Y-%m-%dT%H:%M:%SZ}",
            text=message.text[:most],
            attachments=[c.to_wire(one) for one in message.attachments],
        )

    own: ClassVar = tuple(RelayTool(name, told, tool_schema(kind)) for name, (kind, _, told) in _RUNS.items())
    """The relay's own tools, in the form in which agents get them."""


def _is_wrapped(action: c.ActionDescriptor) -> bool:
    """Tell whether an action's input is wrapped in the argument `input`, because it is no object."""
    return bool(action.input_schema) and action.input_schema.get("type") != "object"


def _schema(action: c.ActionDescriptor) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of an action's tool."""
    if _is_wrapped(action):
        return {"type": "object", "properties": {"input": action.input_schema}, "required": ["input"]}
    return {"type": "object", "properties": {}, **action.input_schema}


def _until(wait: int) -> dict[str, Any]:
    """Return the parameters that say how long a sender waits."""
    return {"wait_for": c.WaitFor.ANSWERED if wait else c.WaitFor.ACCEPTED, "timeout_ms": wait * 1000}


def _room(room: c.Room) -> dict[str, Any]:
    return {"room": room.name} | _without_empty(topic=room.topic, members=list(room.members))


def _without_empty(**told: Any) -> dict[str, Any]:
    return {name: value for name, value in told.items() if value}
