"""The commands of the relay: messages, rooms, deliveries, actions, events, tokens, webhooks and secrets.

Each command calls a method of the relay with its options as parameters, and prints the result.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncGenerator, Callable
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from serai import contract as c
from serai.cli.console.output import json_text, progress
from serai.cli.console.target import RelayCommand, add_command, add_relay_command
from serai.errors import InvalidParams
from serai.relay.sdk import Relay


def calling(
    method: str,
    lines: Callable[[Any], list[str]],
    *fields: str,
    failed: Callable[[Any], bool] = lambda _result: False,
) -> RelayCommand:
    """Return a command that calls one method, and prints its result.

    Args:
        method: The method.
        lines: Makes lines for people of the result.
        fields: The parameters, each from the option of its name. `url=to` takes `url` from the option `to`.
        failed: Tells whether the result is a failure of the command.
    """

    async def call(relay: Relay, options: argparse.Namespace) -> int:
        params = {one.partition("=")[0]: getattr(options, one.rpartition("=")[2], None) for one in fields}
        result = await relay.call(method, **params)
        show(result, options, lines)
        return 1 if failed(result) else 0

    return call


def each(field: str, line: Callable[[Any], str], none: str = "") -> Callable[[Any], list[str]]:
    """Return a function that makes a line of each item in a field of a result, or `none` without any."""
    return lambda result: [*map(line, getattr(result, field))] or [none] * bool(none)


def show(result: c.Record, options: argparse.Namespace, lines: Callable[[Any], list[str]]) -> None:
    """Print the result of a method: as JSON, or as lines for people."""
    if options.json:
        print(json_text(c.to_wire(result)))
    else:
        for line in lines(result):
            print(line)


def line_of_message(message: c.RelayMessage) -> str:
    """Return a message as text for people."""
    where = f" in {message.channel.name}" if message.channel else ""
    reply = " (reply)" if message.thread_id else ""
    return f"{message.created_at:%H:%M} @{message.sender.name}{where}{reply}: {message.text}  [{message.id}]"


def line_of_delivery(record: c.DeliveryRecord) -> str:
    """Return a delivery as a line for people."""
    waits = f", waits for {record.waits_for}" if record.waits_for else ""
    error = f": {record.error}" if record.error else ""
    asked = f" (asked for {record.requested_mode.value})" if record.requested_mode else ""
    return f"{record.id}  {record.agent}  {record.state.value}{waits}{error}  {record.mode.value}{asked}"


# -- messages --------------------------------------------------------------------------------------------


def configure_send(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai send`."""
    parser.add_argument("to", metavar="TO", help="'#room', '@handle', or several handles with commas")
    parser.add_argument("text", metavar="TEXT", help="what to say; '-' reads it from standard input")
    parser.add_argument("--as", dest="sender", metavar="NAME", help="a person or service of yours")
    parser.add_argument("--mode", choices=[mode.value for mode in c.DeliveryMode], help="when it may surface")
    parser.add_argument("--urgent", action="store_true", help="deliver it before other messages")
    parser.add_argument("--deadline", metavar="TIME", help="expires then, as 2027-01-31T12:00:00Z")
    parser.add_argument("--key", help="an idempotency key: sent again under it, it is the same message")
    parser.add_argument(
        "--wait",
        choices=["accepted", "delivered", "answered"],
        help="how far to wait for it (default: accepted)",
    )
    parser.add_argument("--timeout", type=float, default=30, metavar="SECONDS", help="how long to wait")
    add_relay_command(parser, _send)


async def _send(relay: Relay, options: argparse.Namespace) -> int:
    to = options.to.split(",") if "," in options.to else options.to
    text = sys.stdin.read() if options.text == "-" else options.text
    sent: c.SendResult = await relay.call(
        "messages.send",
        to=to,
        text=text,
        **{"as": options.sender},
        mode=options.mode,
        priority="urgent" if options.urgent else None,
        deadline=options.deadline,
        idempotencyKey=options.key,
        waitFor=options.wait,
        timeoutMs=round(options.timeout * 1000),
    )

    def lines(result: c.SendResult) -> list[str]:
        shown = [result.message.id]
        for record in result.deliveries:
            shown.append(f"  {line_of_delivery(record)}")
            if record.answer is not None:
                shown.append(f"  {record.answer.state}: {record.answer.text}")
        shown += [f"  nobody is called {name}" for name in result.unknown_mentions]
        return shown

    show(sent, options, lines)
    return 1 if any(record.state == c.DeliveryState.FAILED for record in sent.deliveries) else 0


def configure_inbox(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai inbox`."""
    parser.add_argument("--as", metavar="NAME", help="the inbox of a person or service of yours")
    parser.add_argument("--peek", action="store_true", help="look without receiving")
    add_relay_command(parser, calling("inbox.get", _inbox, "as", "peek"))


def _inbox(inbox: c.Inbox) -> list[str]:
    shown = [line_of_message(message) for message in inbox.messages]
    shown += [f"{one.unread} unread in {one.room.name}" for one in (*inbox.rooms, *inbox.conversations)]
    return shown or ["Nothing waits."]


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai search`."""
    parser.add_argument("query", metavar="WORDS", nargs="+", help="all of them have to be there")
    parser.add_argument("--limit", type=int, default=20, help="how many to show")
    add_relay_command(parser, _search)


async def _search(relay: Relay, options: argparse.Namespace) -> int:
    query = " ".join(options.query)
    with progress("Searching; what is new is indexed first"):
        found: c.SearchResult = await relay.call("messages.search", query=query, limit=options.limit)
    show(found, options, each("hits", _hit, "Nothing was found."))
    return 0 if found.hits else 1


def _hit(hit: c.SearchHit) -> str:
    if hit.message is not None:
        return line_of_message(hit.message)
    return f"{hit.session} {hit.turn_id}: {' '.join(hit.text.split())[:200]}"


# -- rooms -----------------------------------------------------------------------------------------------

_ROOM_VERBS = {
    "join": "join a room, or add an agent to it",
    "leave": "leave a room, or remove an agent from it",
    "archive": "archive a room: nobody can write in it any more",
    "mute": "get only mentions from a room",
}


def configure_rooms(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai rooms`."""
    parser.add_argument("--archived", action="store_true", help="also those that are archived")
    add_relay_command(
        parser, calling("rooms.list", each("rooms", _room_line, "There is no room yet."), "archived")
    )
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    made = calling("rooms.create", lambda room: [_room_line(room)], "name", "topic")
    create = add_command(verbs, "create", "make a room", "name", relay=made)
    create.add_argument("--topic", help="what it is about")
    messages = calling("messages.list", each("messages", line_of_message), "room", "limit")
    read = add_command(verbs, "read", "show what was said in a room", "room", relay=messages)
    read.add_argument("--limit", type=int, default=50)
    for verb, summary in _ROOM_VERBS.items():
        more = "archived" if verb == "archive" else "agent"
        changed = calling(f"rooms.{verb}", lambda room: [_room_line(room)], "room", more)
        one = add_command(verbs, verb, summary, "room", relay=changed)
        if verb == "archive":
            one.add_argument("--undo", dest="archived", action="store_false", help="let people write again")
        else:
            one.add_argument("agent", metavar="AGENT", nargs="?", help="by default you")


def _room_line(room: c.Room) -> str:
    topic = f": {room.topic}" if room.topic else ""
    archived = " (archived)" if room.archived else ""
    return f"{room.name}{archived}{topic}  {len(room.members)} in it"


# -- deliveries ------------------------------------------------------------------------------------------

_delivery_lines = each("deliveries", line_of_delivery, "There are no deliveries.")
_DELIVERY_VERBS = {
    "retry": "retry a delivery now",
    "cancel": "cancel a delivery",
    "redeliver": "deliver the message of a final delivery once more",
}


def configure_deliveries(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai deliveries`."""
    parser.add_argument("--agent", metavar="HANDLE", help="only those for one participant")
    parser.add_argument("--state", choices=[state.value for state in c.DeliveryState])
    parser.add_argument("--stuck", action="store_true", help="only those that need attention")
    parser.add_argument("--watch", action="store_true", help="continue, and print their events")
    parser.add_argument("--limit", type=int, default=50)
    add_relay_command(parser, _list_deliveries)
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    for verb, summary in _DELIVERY_VERBS.items():
        changed = calling(
            f"deliveries.{verb}",
            lambda record: [line_of_delivery(record)],
            "deliveryId=delivery",
            failed=_is_final if verb == "retry" else lambda _record: False,
        )
        add_command(verbs, verb, summary, "delivery", relay=changed)
    flushed = calling("deliveries.flush", _delivery_lines, "agent=handle", "mode")
    summary = "deliver everything that waits for a participant"
    flush = add_command(verbs, "flush", summary, "handle", relay=flushed)
    flush.add_argument(
        "--mode", choices=[mode.value for mode in c.DeliveryMode], help="only those in one mode"
    )


def _is_final(record: c.DeliveryRecord) -> bool:
    if not record.is_open:
        print("serai: it is final, so it was not tried again; 'redeliver' does that", file=sys.stderr)
    return not record.is_open


async def _list_deliveries(relay: Relay, options: argparse.Namespace) -> int:
    await calling("deliveries.list", _delivery_lines, "agent", "state", "stuck", "limit")(relay, options)
    if options.watch:
        await _print(relay.follow("delivery.*", agent=options.agent), options)
    return 0


# -- actions ---------------------------------------------------------------------------------------------


def configure_actions(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai actions`."""
    add_relay_command(parser, calling("actions.list", each("actions", _action_line)))
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    invoke = add_command(verbs, "invoke", "invoke an action, and wait for its outcome", "name", relay=_invoke)
    invoke.add_argument("input", metavar="JSON", nargs="?", help="what it is called with")
    invoke.add_argument("--wait", metavar="SECONDS", type=float, default=600.0, help="how long to wait")


async def _invoke(relay: Relay, options: argparse.Namespace) -> int:
    try:
        given = None if options.input is None else msgspec.json.decode(options.input)
    except msgspec.DecodeError as error:
        raise InvalidParams(f"the input is no JSON: {error}", field="input") from None
    outcome = await relay.invoke(options.name, given, wait_ms=round(options.wait * 1000))
    show(outcome, options, _outcome_lines)
    return 0 if outcome.state in {c.ActionState.COMPLETED, c.ActionState.INVOKED} else 1


def _action_line(one: c.ActionDescriptor) -> str:
    return f"{one.name}  {one.description}" + (f"  (by {one.owner})" if one.owner else "")


def _outcome_lines(outcome: c.InvokeResult) -> list[str]:
    if outcome.error is not None:
        return [f"{outcome.state.value}: {outcome.error} [{outcome.code}]"]
    if outcome.state == c.ActionState.INVOKED:
        return [f"{outcome.invocation_id} has begun; its outcome is an event"]
    return [msgspec.json.format(msgspec.json.encode(outcome.output)).decode()]


# -- events ----------------------------------------------------------------------------------------------


def configure_listen(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai listen`."""
    parser.add_argument("types", metavar="TYPE", nargs="*", help="such as 'delivery.*'; by default all")
    parser.add_argument("--agent", metavar="HANDLE", help="only those by or about one participant")
    parser.add_argument("--in", dest="room", metavar="ROOM", help="only those about a room")
    parser.add_argument("--after", metavar="ID", help="also what came after this event")
    add_relay_command(parser, _listen)


async def _listen(relay: Relay, options: argparse.Namespace) -> int:
    from serai.relay.events.observer import TYPES  # noqa: PLC0415 - only this command needs it

    for pattern in options.types:
        if not any(fnmatchcase(name, pattern) for name in TYPES):
            known = ", ".join(sorted({name.partition(".")[0] for name in TYPES}))
            raise InvalidParams(f"there are no events {pattern!r}; they begin with {known}", field="types")
    events = relay.follow(*options.types, agent=options.agent, room=options.room, after=options.after)
    await _print(events, options)
    return 0


async def _print(events: AsyncGenerator[c.WorkspaceEvent], options: argparse.Namespace) -> None:
    async for event in events:
        print(json_text(c.to_wire(event)) if options.json else line_of_event(event), flush=True)


def line_of_event(event: c.WorkspaceEvent) -> str:
    """Return an event as a line for people."""
    data: dict[str, Any] = {"message": {}, "agent": {}, "event": {}, **event.data}
    kind = " ".join(filter(None, (event.type, data["event"].get("type"))))
    who = data["agent"] if isinstance(data["agent"], str) else data["agent"].get("handle")
    text = " ".join(data["message"].get("text", "").split())[:100]
    words = (event.id, f"{event.at:%H:%M:%S}", kind, data.get("deliveryId"), who, data.get("reason"), text)
    return "  ".join(filter(None, words))


# -- administration by the owner -------------------------------------------------------------------------


def configure_token(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai token`."""
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT", required=True)
    made = calling("tokens.create", lambda made: [made.token], "agent", "kind", "label")
    create = add_command(verbs, "create", "make a token; it is shown only now", relay=made)
    whom = create.add_mutually_exclusive_group(required=True)
    whom.add_argument("--for", dest="agent", metavar="NAME", help="a participant, perhaps a new one")
    whom.add_argument("--observer", action="store_true", help="for an observer, who may only read")
    create.add_argument("--kind", choices=list(c.IdentityKind), help="what a new one is (default: agent)")
    create.add_argument("--label", default="", help="what it is for")
    add_command(verbs, "list", "show which tokens there are", relay=_list_tokens)
    revoked = calling("tokens.revoke", lambda _: ["It is revoked."], "id")
    add_command(verbs, "revoke", "revoke a token", "id", relay=revoked)


async def _list_tokens(relay: Relay, options: argparse.Namespace) -> int:
    found: c.TokensResult = await relay.call("tokens.list")
    agents: c.AgentsResult = await relay.call("agents.list", gone=True)
    kinds = {one.identity.handle: one.identity.kind for one in agents.agents}

    def line(info: c.TokenInfo) -> str:
        words = [info.id, info.role.value, info.agent, kinds.get(info.agent or "")]
        return "  ".join(filter(None, [*words, f"{info.created_at:%Y-%m-%d}", info.label]))

    show(found, options, each("tokens", line, "There are no tokens."))
    return 0


def configure_webhooks(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai webhooks`."""
    add_relay_command(parser, calling("webhooks.list", each("webhooks", _webhook, "There are no webhooks.")))
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    made = calling("webhooks.create", lambda made: [made.webhook.id, made.secret], "url=to", "types")
    summary = "have events posted to a URL; the signing secret is shown only now"
    create = add_command(verbs, "create", summary, relay=made)
    create.add_argument("to", metavar="URL")
    create.add_argument("types", metavar="TYPE", nargs="*", help="such as 'delivery.*'; by default all")
    deleted = calling("webhooks.delete", lambda _: ["It is deleted."], "id")
    add_command(verbs, "delete", "delete a webhook", "id", relay=deleted)


def _webhook(one: c.Webhook) -> str:
    problem = f"  not taken: {one.error}" if one.error else ""
    return f"{one.id}  {one.url}  {' '.join(one.types) or '*'}  until {one.delivered_until}{problem}"


def configure_secrets(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai secrets`."""
    parser.add_argument("name", metavar="NAME", help="how it is shown: [secret:NAME]")
    add_relay_command(parser, _register)


async def _register(relay: Relay, options: argparse.Namespace) -> int:
    await relay.call("secrets.register", name=options.name, value=sys.stdin.read().rstrip("\n"))
    print(f"[secret:{options.name}] is masked until the host stops.")
    return 0
