"""The relay as tools for agents: what each takes and answers, whatever brings the call.

Answers are short, since an agent reads all of them: ids and states, and never the text that it sent. Who
calls is the holder of the connection's token, never an argument.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct

from serai import contract as c
from serai.contract.record import mismatch
from serai.contract.relay_calls import misfit
from serai.contract.tool_schema import tool_schema
from serai.errors import Forbidden, MethodNotFound
from serai.relay.action_tools import ActionTool, action_tools, outcome
from serai.relay.idle_notices import IdleNotices
from serai.relay.inbox import Caller
from serai.relay.workspace import Workspace

__all__ = ["RelayTools", "Tool"]

_EXCERPT = 300
"""How much a hit of a search shows, in characters."""


class _Arguments(Struct, forbid_unknown_fields=True):
    """What a tool takes."""


_Wait = Annotated[
    int, Meta(ge=0, le=50, description="Seconds to wait for the answers; 0 returns once the message is sent")
]
_Mode = Annotated[c.DeliveryMode, Meta(description="When it surfaces; by default when the recipient is idle")]
_MessageId = Annotated[str, Meta(description="The id of a message, msg_…")]
_RoomName = Annotated[str, Meta(description="#name")]
_Limit = Annotated[int, Meta(ge=1, le=500)]


class _Sending(_Arguments, kw_only=True):
    text: str
    mode: _Mode | None = None
    priority: c.Priority = c.Priority.NORMAL
    wait: _Wait = 0

    def how(self) -> dict[str, Any]:
        """The same, in the words of the relay's methods."""
        given = {name: getattr(self, name) for name in ("text", "mode", "priority")}
        wait_for = c.WaitFor.ANSWERED if self.wait else c.WaitFor.ACCEPTED
        return given | {"wait_for": wait_for, "timeout_ms": self.wait * 1000}


class _SendMessage(_Sending, kw_only=True):
    to: Annotated[str | list[str], Meta(description="A #room, a @handle, or a list of handles for a group")]


class _Reply(_Sending, kw_only=True):
    message: _MessageId


class _React(_Arguments):
    message: _MessageId
    emoji: str
    remove: bool = False


class _CheckInbox(_Arguments):
    limit: _Limit = 50
    peek: Annotated[bool, Meta(description="Look without receiving")] = False


class _OneMessage(_Arguments):
    message: _MessageId


class _CreateRoom(_Arguments):
    name: Annotated[str, Meta(description="Letters, digits, '-', '_' and '.'")]
    topic: str | None = None


class _OneRoom(_Arguments):
    room: _RoomName


class _SearchMessages(_Arguments):
    query: Annotated[str, Meta(description="Words; all of them have to be there")]
    limit: _Limit = 20


class _OneDelivery(_Arguments):
    delivery: Annotated[str, Meta(description="The id of a delivery, dlv_…")]


class _FlushDeliveries(_Arguments):
    mode: Annotated[c.DeliveryMode, Meta(description="Only those in this mode")] | None = None


class _OneAgent(_Arguments):
    agent: Annotated[str, Meta(description="@handle")]


class _InvokeAction(_Arguments):
    name: str
    input: Any = None
    wait: Annotated[int, Meta(ge=0, le=50, description="Seconds to wait for the outcome")] = 50


_Run: TypeAlias = Callable[..., Awaitable[Any]]


class Tool(NamedTuple):
    """One tool: its name, what it is for, and the JSON Schema of what it takes."""

    name: str
    description: str
    schema: dict[str, Any]


_RUNS: dict[str, tuple[type[_Arguments], _Run, str]] = {}
"""The tools, by name: what each takes, does, and is for."""


def _tool(kind: type[_Arguments], description: str) -> Callable[[_Run], _Run]:
    """Have a method be the tool of its name."""

    def add(run: _Run) -> _Run:
        _RUNS[run.__name__.removeprefix("_")] = kind, run, description
        return run

    return add


class RelayTools:
    """The tools of one workspace.

    Args:
        workspace: The relay; it is open.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._notices = IdleNotices(workspace)

    async def tools(self, caller: Caller) -> list[Tool]:
        """The tools of a caller, as it is told of them: the relay's own, and one for each of its actions."""
        actions = await self._actions(caller)
        return [*self.own, *(Tool(name, one.action.description, one.schema) for name, one in actions.items())]

    async def _actions(self, caller: Caller) -> dict[str, ActionTool]:
        found = await self._do(caller, "actions.list", c.Empty())
        return action_tools(found.actions, _RUNS)

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do what a tool does. Returns JSON.

        Raises:
            MethodNotFound: There is no such tool.
            InvalidParams: The arguments do not fit.
            SeraiError: It cannot be done; nothing of it was.
        """
        if name not in _RUNS:
            action = (await self._actions(caller)).get(name)
            if action is None:
                raise MethodNotFound(f"there is no tool {name!r}")
            return await self._invoke(caller, action.action.name, action.input_of(arguments), 50)
        kind, run, _ = _RUNS[name]
        try:
            read = msgspec.convert(arguments, kind, strict=False)
        except msgspec.ValidationError as error:
            raise misfit(mismatch(str(error))) from None
        return await run(self, caller, read)

    async def close(self) -> None:
        """Notify nobody any more."""
        await self._notices.close()

    async def _own(self, caller: Caller) -> c.AgentIdentity:
        """Who calls and receives."""
        if (identity := (await self._do(caller, "hello", c.Empty())).identity) is None:
            raise Forbidden("an observer receives nothing")
        return identity

    async def _do(self, caller: Caller, method: str, params: c.Record) -> Any:
        return await self._workspace.call(caller, method, params)

    # -- messages ------------------------------------------------------------------------------------------

    @_tool(
        _SendMessage,
        "Send a message. Tells how far it came to each; with wait, also their answers.",
    )
    async def _send_message(self, caller: Caller, given: _SendMessage) -> Any:
        to = given.to if isinstance(given.to, str) else tuple(given.to)
        return self._sent(await self._do(caller, "messages.send", c.SendParams(to=to, **given.how())))

    @_tool(_Reply, "Answer a message in its thread. Tells as send_message does.")
    async def _reply(self, caller: Caller, given: _Reply) -> Any:
        params = c.ReplyParams(message_id=given.message, **given.how())
        return self._sent(await self._do(caller, "messages.reply", params))

    @_tool(_React, "Put an emoji under a message, or take it away.")
    async def _react(self, caller: Caller, given: _React) -> Any:
        method = "messages.unreact" if given.remove else "messages.react"
        await self._do(caller, method, c.ReactParams(message_id=given.message, emoji=given.emoji))
        return {"message": given.message}

    @_tool(_CheckInbox, "Receive the messages that wait until you look, and see what is unread.")
    async def _check_inbox(self, caller: Caller, given: _CheckInbox) -> Any:
        inbox = await self._do(caller, "inbox.get", c.InboxParams(limit=given.limit, peek=given.peek))
        return _without_nothing(
            messages=[self._message(message) for message in inbox.messages],
            mentions=[message.id for message in inbox.mentions],
            unread={one.room.name: one.unread for one in (*inbox.rooms, *inbox.conversations)},
            reactions=[c.to_wire(one) for one in inbox.reactions],
        ) or {"messages": []}

    @_tool(_OneMessage, "Mark all messages of a room or conversation as read, up to this one.")
    async def _mark_read(self, caller: Caller, given: _OneMessage) -> Any:
        await self._do(caller, "messages.read", c.ReadParams(message_id=given.message))
        return {"readUntil": given.message}

    @_tool(_SearchMessages, "Find messages by words, the best first.")
    async def _search_messages(self, caller: Caller, given: _SearchMessages) -> Any:
        params = c.SearchParams(query=given.query, limit=given.limit)
        found = await self._do(caller, "messages.search", params)
        return {
            "hits": [
                self._message(hit.message, _EXCERPT)
                if hit.message is not None
                else {"session": hit.session, "turn": hit.turn_id, "text": hit.text[:_EXCERPT]}
                for hit in found.hits
            ]
        }

    @_tool(_OneMessage, "A message and all answers in its thread.")
    async def _get_thread(self, caller: Caller, given: _OneMessage) -> Any:
        thread = await self._do(caller, "messages.thread", c.MessageParams(message_id=given.message))
        return {"messages": [self._message(message) for message in thread.messages]}

    # -- agents and rooms ----------------------------------------------------------------------------------

    @_tool(_Arguments, "Who takes part, what each does, and who you are.")
    async def _list_agents(self, caller: Caller, _given: _Arguments) -> Any:
        hello = await self._do(caller, "hello", c.Empty())
        found = await self._do(caller, "agents.list", c.AgentsListParams())
        agents = [
            _without_nothing(
                agent=one.identity.handle, kind=one.identity.kind, status=one.status, waiting=one.waiting
            )
            for one in found.agents
        ]
        return _without_nothing(you=hello.identity and hello.identity.handle, agents=agents)

    @_tool(_Arguments, "The rooms, and the conversations that you are in.")
    async def _list_rooms(self, caller: Caller, _given: _Arguments) -> Any:
        found = await self._do(caller, "rooms.list", c.RoomsListParams())
        return {"rooms": [_room(room) for room in found.rooms]}

    @_tool(_CreateRoom, "Make a room. You are in it.")
    async def _create_room(self, caller: Caller, given: _CreateRoom) -> Any:
        params = c.RoomCreateParams(name=given.name, topic=given.topic)
        return _room(await self._do(caller, "rooms.create", params))

    @_tool(_OneRoom, "Be in a room: its messages are delivered to you.")
    async def _join_room(self, caller: Caller, given: _OneRoom) -> Any:
        return _room(await self._do(caller, "rooms.join", c.RoomParams(room=given.room)))

    @_tool(_OneRoom, "Be in a room no longer.")
    async def _leave_room(self, caller: Caller, given: _OneRoom) -> Any:
        return _room(await self._do(caller, "rooms.leave", c.RoomParams(room=given.room)))

    # -- deliveries ----------------------------------------------------------------------------------------

    @_tool(_OneDelivery, "How far a message of yours, or one for you, has come, and how that is known.")
    async def _get_delivery(self, caller: Caller, given: _OneDelivery) -> Any:
        record = await self._do(caller, "deliveries.get", c.DeliveryParams(delivery_id=given.delivery))
        return self._delivery(record) | {"message": record.message_id, "evidence": record.evidence}

    @_tool(_FlushDeliveries, "Have what waits for you enter as soon as you are idle, whatever it waits for.")
    async def _flush_deliveries(self, caller: Caller, given: _FlushDeliveries) -> Any:
        own = await self._own(caller)
        params = c.FlushParams(agent=own.handle, mode=given.mode)
        flushed = await self._do(caller, "deliveries.flush", params)
        return {"deliveries": [self._delivery(record) for record in flushed.deliveries]}

    @_tool(_OneAgent, "Get a message, once, when someone has nothing to do any more, or is gone.")
    async def _notify_when_idle(self, caller: Caller, given: _OneAgent) -> Any:
        own = await self._own(caller)
        about = await self._do(caller, "agents.get", c.AgentParams(agent=given.agent))
        will_notify = self._notices.watch(own.id, about.identity.id)
        return {"agent": about.identity.handle, "status": about.status, "willNotify": will_notify}

    # -- actions -------------------------------------------------------------------------------------------

    @_tool(_Arguments, "What others do for you when you invoke it.")
    async def _list_actions(self, caller: Caller, _given: _Arguments) -> Any:
        found = await self._do(caller, "actions.list", c.Empty())
        return {
            "actions": [
                _without_nothing(
                    name=one.name, by=one.owner, description=one.description, input=one.input_schema
                )
                for one in found.actions
            ]
        }

    @_tool(_InvokeAction, "Have an action done. Tells the outcome; if it takes longer, a message does.")
    async def _invoke_action(self, caller: Caller, given: _InvokeAction) -> Any:
        return await self._invoke(caller, given.name, given.input, given.wait)

    async def _invoke(self, caller: Caller, name: str, given: Any, seconds: int) -> Any:
        params = c.InvokeParams(name=name, input=given, wait_ms=seconds * 1000)
        return outcome(await self._do(caller, "actions.invoke", params))

    # -- how things are told -------------------------------------------------------------------------------

    def _sent(self, result: c.SendResult) -> dict[str, Any]:
        deliveries = [self._delivery(record) for record in result.deliveries]
        told = {"message": result.message.id, "deliveries": deliveries}
        return told | _without_nothing(unknownMentions=list(result.unknown_mentions))

    def _delivery(self, record: c.DeliveryRecord) -> dict[str, Any]:
        answer = record.answer
        return {"to": record.agent, "delivery": record.id} | _without_nothing(
            state=record.state,
            mode=record.mode if record.requested_mode else None,
            waitsFor=record.waits_for,
            error=record.error,
            answer=answer and _without_nothing(state=answer.state, text=answer.text, reply=answer.reply_id),
        )

    def _message(self, message: c.RelayMessage, most: int | None = None) -> dict[str, Any]:
        return {"message": message.id, "from": self._handle(message.sender.id)} | _without_nothing(
            room=message.channel and message.channel.name,
            thread=message.thread_id,
            at=f"{message.created_at:%Y-%m-%dT%H:%M:%SZ}",
            text=message.text[:most],
            attachments=[c.to_wire(one) for one in message.attachments],
        )

    def _handle(self, agent_id: str) -> str:
        return self._workspace.identities.get(agent_id).handle

    own: ClassVar = tuple(Tool(name, told, tool_schema(kind)) for name, (kind, _, told) in _RUNS.items())
    """All tools, as agents are told of them."""


def _room(room: c.Room) -> dict[str, Any]:
    return {"room": room.name} | _without_nothing(topic=room.topic, members=list(room.members))


def _without_nothing(**told: Any) -> dict[str, Any]:
    return {name: value for name, value in told.items() if value}
