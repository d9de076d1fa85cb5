"""Messages: where they are said, who gets and sees them, and what is refused without a trace."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from relay.workspaces import Inn, Nobody, inn
from requirements import proves
from serai.ahp import actions as a
from serai.config.settings import RelayPolicy
from serai.contract import (
    DeliveryReason,
    DeliveryState,
    IdentityKind,
    MessageKind,
    Role,
)
from serai.errors import (
    CapabilityUnsupported,
    Forbidden,
    IdempotencyConflict,
    SeraiError,
    UnknownDelivery,
    UnknownMessage,
    UnknownRoom,
    UnknownTarget,
)
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn
from serai.relay.tokens import Caller

OBSERVER = Caller(Role.OBSERVER)
AS_ROBOT: dict[str, Any] = {"as": "@robot"}
AS_DEMO: dict[str, Any] = {"as": "@demo"}
PIXEL = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=", "label": "a pixel"}


async def furnish(house: Inn) -> None:
    """Two agents, a service, and a room where all of them are."""
    await house.session("one")
    await house.session("two")
    house.workspace.identities.enlist("robot", IdentityKind.SERVICE)
    await house.call("rooms.create", name="ops")
    for name in ("demo", "demo-2", "robot"):
        await house.call("rooms.invite", room="#ops", agent=f"@{name}")


# -- where messages are said -------------------------------------------------------------------------------


@proves(
    "delivery:Delivery-Runner/one-attempt-per-target",
    "caps:Messaging-Capabilities/every-kind-delivered",
    "delivery:Delivery-Context/context-tells-why",
)
async def test_a_session_gets_room_direct_group_and_thread_messages_each_with_its_reason() -> None:
    reasons: list[DeliveryReason] = []

    async def answer(turn: Turn) -> None:
        del turn

    harness = CallbackHarness("echo", answer)
    create = harness.create

    async def creating(*arguments: Any) -> Any:
        session = await create(*arguments)
        receive = session.receive_message

        async def receive_message(message: Any, context: Any) -> Any:
            reasons.append(context.reason)
            return await receive(message, context)

        session.receive_message = receive_message  # type: ignore[method-assign]
        return session

    harness.create = creating  # type: ignore[method-assign]
    async with inn(harnesses=[harness]) as house:
        await house.session("one", "echo")
        house.workspace.identities.enlist("robot", IdentityKind.SERVICE)
        await house.call("rooms.create", name="ops")
        await house.call("rooms.invite", room="#ops", agent="@echo")
        await house.call("rooms.invite", room="#ops", agent="@robot")
        said = await house.send("#ops", "to all")
        sent = [said]
        for to, text in (
            ("#ops", "@echo to you"),
            ("@echo", "between us"),
            (["@echo", "@robot"], "we three"),
        ):
            await house.until(lambda: len(reasons) == len(sent))
            sent.append(await house.send(to, text))
        await house.until(lambda: len(reasons) == 4)
        sent.append(await house.call("messages.reply", messageId=said.message.id, text="in a thread"))
        await house.until(lambda: len(reasons) == 5)
    assert reasons == ["message", "mention", "dm", "dm", "thread-reply"]
    assert [len(one.deliveries) for one in sent] == [2, 2, 1, 2, 2]
    assert [one.message.kind for one in sent] == [
        MessageKind.CHANNEL,
        MessageKind.CHANNEL,
        MessageKind.DM,
        MessageKind.GROUP_DM,
        MessageKind.THREAD_REPLY,
    ]


async def test_a_room_is_made_described_joined_left_and_archived(house: Inn) -> None:
    await furnish(house)
    assert (await house.call("rooms.update", room="#ops", topic="what runs")).topic == "what runs"
    robot = house.workspace.identities.get("@robot")
    as_robot = Caller(Role.AGENT, robot)
    assert (await house.call("rooms.leave", as_robot, room="#ops")).members == ("@alice", "@demo", "@demo-2")
    assert "@robot" in (await house.call("rooms.join", as_robot, room="ops")).members
    await house.send("#ops", "before")
    assert (await house.call("rooms.archive", room="#ops")).archived
    assert [room.name for room in (await house.call("rooms.list")).rooms] == []
    assert [room.name for room in (await house.call("rooms.list", archived=True)).rooms] == ["#ops"]
    assert not (await house.call("rooms.archive", room="#ops", archived=False)).archived
    await house.send("#ops", "back again")
    assert [one.text for one in (await house.call("messages.list", room="#ops")).messages] == [
        "before",
        "back again",
    ]


async def test_whoever_mutes_a_room_hears_only_of_mentions(house: Inn) -> None:
    await furnish(house)
    await house.call("rooms.mute", house.agent("@robot"), room="#ops")
    assert (await house.call("rooms.members", room="#ops")).muted == ("@robot",)
    quiet = await house.send("#ops", "to all")
    called = await house.send("#ops", "and @Robot, too")
    assert "@robot" not in {one.agent for one in quiet.deliveries}
    assert "@robot" in {one.agent for one in called.deliveries}
    await house.call("rooms.leave", house.agent("@robot"), room="#ops")
    with pytest.raises(Forbidden):
        await house.call("rooms.mute", house.agent("@robot"), room="#ops")


async def test_a_thread_keeps_its_answers_apart_and_together(house: Inn) -> None:
    await furnish(house)
    first = (await house.send("#ops", "what now?")).message
    answer = (await house.call("messages.reply", messageId=first.id, text="this")).message
    await house.call("messages.reply", messageId=answer.id, text="and that")
    thread = (await house.call("messages.thread", messageId=answer.id)).messages
    assert [one.text for one in thread] == ["what now?", "this", "and that"]
    assert {one.thread_id for one in thread[1:]} == {first.id}
    assert [one.text for one in (await house.call("messages.list", room="#ops")).messages] == ["what now?"]
    assert (await house.call("messages.get", messageId=first.id)).reply_count == 2


async def test_mentions_are_found_and_unknown_ones_are_told(house: Inn) -> None:
    await furnish(house)
    sent = await house.send("#ops", "@demo, @DEMO-2 and @nobody (mail a@b.example): look.")
    assert sent.message.mentions == ("@demo", "@demo-2")
    assert sent.unknown_mentions == ("@nobody",)
    reasons = {one.agent: one.reason for one in sent.deliveries}
    assert reasons.pop("@robot") == DeliveryReason.MESSAGE
    assert set(reasons.values()) == {DeliveryReason.MENTION}


async def test_reactions_come_and_go_and_are_in_the_inbox_of_the_sender(house: Inn) -> None:
    await furnish(house)
    message = (await house.send("#ops", "done")).message
    for name in ("@demo", "@robot"):
        await house.call("messages.react", house.agent(name), messageId=message.id, emoji="👍")
    shown = await house.call("messages.react", house.agent("@demo"), messageId=message.id, emoji="👍")
    [reaction] = shown.reactions
    assert (reaction.emoji, reaction.count, set(reaction.agents)) == ("👍", 2, {"demo", "robot"})
    assert {one.agent for one in (await house.call("inbox.get")).reactions} == {"@demo", "@robot"}
    shown = await house.call("messages.unreact", house.agent("@demo"), messageId=message.id, emoji="👍")
    assert shown.reactions[0].agents == ("robot",)


@proves("caps:Capability-Negotiation/content-enforced", "caps:Capability-Negotiation/no-silent-loss")
@proves("delivery:Delivery-Runner/checks-capabilities")
@pytest.mark.parametrize("images", ["describe", "fail"])
async def test_an_image_for_a_session_that_takes_none_is_described_or_fails(images: Any) -> None:
    seen: list[Any] = []

    async def answer(turn: Turn) -> None:
        seen.append(turn.message)

    policy = RelayPolicy(me="alice", images=images)
    async with inn(harnesses=[CallbackHarness("echo", answer)], policy=policy) as house:
        await house.session("one", "echo")
        sending = house.send("@echo", "look", attachments=[PIXEL], waitFor="answered")
        if images == "fail":
            with pytest.raises(CapabilityUnsupported):
                await sending
            assert (await house.call("rooms.list")).rooms == ()
        else:
            sent = await sending
            assert sent.message.attachments[0].label == "a pixel"
            assert sent.deliveries[0].state == DeliveryState.DELIVERED
            assert "a pixel: this session takes no images" in repr(seen)


# -- what waits, what is read ------------------------------------------------------------------------------


@proves("delivery:WebSocket-Role/polling")
async def test_what_a_person_fetches_is_delivered_and_what_it_peeks_at_is_not(house: Inn) -> None:
    await furnish(house)
    sent = await house.send("@alice", "for you", house.agent("@demo"))
    [record] = sent.deliveries
    assert (record.state, record.waits_for) == (DeliveryState.ACCEPTED, "fetch")
    assert [one.text for one in (await house.call("inbox.get", peek=True)).messages] == ["for you"]
    assert (await house.delivery(record.id)).is_open
    assert [one.text for one in (await house.call("inbox.get")).messages] == ["for you"]
    record = await house.delivery(record.id)
    assert (record.state, record.evidence) == (DeliveryState.DELIVERED, {"evidence": "fetched"})
    assert (await house.call("inbox.get")).messages == ()


async def test_two_who_fetch_at_once_get_each_message_once(house: Inn) -> None:
    await furnish(house)
    for number in range(5):
        await house.send("@alice", f"note {number}", house.agent("@demo"))
    both = await asyncio.gather(house.call("inbox.get"), house.call("inbox.get"))
    got = [one.text for inbox in both for one in inbox.messages]
    assert sorted(got) == [f"note {number}" for number in range(5)]


async def test_a_read_mark_counts_for_all_up_to_a_message(house: Inn) -> None:
    await furnish(house)
    sent = [(await house.send("#ops", f"note {n} for @robot")).message for n in range(3)]
    robot = house.agent("@robot")
    [unread] = (await house.call("inbox.get", robot)).rooms
    assert (unread.room.name, unread.unread) == ("#ops", 3)
    await house.call("messages.read", robot, messageId=sent[1].id)
    inbox = await house.call("inbox.get", robot)
    assert (inbox.rooms[0].unread, [one.id for one in inbox.mentions]) == (1, [sent[2].id])
    await house.call("messages.read", robot, messageId=sent[0].id)  # it never goes back
    assert (await house.call("inbox.get", robot)).rooms[0].unread == 1
    read = [(await house.call("messages.get", messageId=one.id)).read_by_count for one in sent]
    assert read == [1, 1, None]


async def test_words_are_found_in_messages_and_in_turns_by_those_who_may_see_them(house: Inn) -> None:
    await furnish(house)
    public = (await house.send("#ops", "the elephants are loose")).message
    private = (await house.send("@robot", "no elephant is loose")).message
    await house.send("@demo", "say elephantine", waitFor="answered")
    hits = (await house.call("messages.search", query="elephant")).hits
    assert {hit.message.id for hit in hits if hit.message} >= {public.id, private.id}
    assert "ahp-session:/one" in {hit.session for hit in hits if hit.turn_id}
    seen = {
        name: {
            hit.message.id for hit in (await house.call("messages.search", caller, query="loose eleph")).hits
        }
        for name, caller in {"robot": house.agent("@robot"), "other": house.agent("@demo-2")}.items()
    }
    assert seen == {"robot": {public.id, private.id}, "other": {public.id}}
    turns = (await house.call("messages.search", house.agent("@demo"), query="elephantine")).hits
    assert [hit for hit in turns if hit.turn_id] == []


async def test_whoever_is_called_as_the_id_of_another_gets_what_is_theirs_alone(house: Inn) -> None:
    await house.session("one")
    first = house.workspace.identities.get("@demo")
    await house.call("tokens.create", agent=first.identity.id)
    second = house.workspace.identities.get(f"@{first.identity.id}")
    assert second.number != first.number
    [held] = (await house.send("@demo", "to the first", mode="manual")).deliveries
    await house.call("deliveries.flush", agent="@demo")
    assert (await house.final(held.id)).state == DeliveryState.DELIVERED
    sent = await house.send(second.handle, "to the second")
    assert [one.agent for one in sent.deliveries] == [second.handle]
    await house.call("rooms.create", name="ops")
    assert (await house.send("#ops", f"hello {second.handle}")).deliveries[0].agent == second.handle


async def test_what_is_taken_back_reaches_nobody_any_more_and_is_found_no_more(house: Inn) -> None:
    await furnish(house)
    sent = await house.send("#ops", "a blunder", mode="manual")
    assert len((await house.call("messages.search", query="blunder")).hits) == 1
    with pytest.raises(Forbidden):
        await house.call("messages.retract", house.agent("@demo"), messageId=sent.message.id)
    done = await house.call("messages.retract", messageId=sent.message.id)
    assert {(one.state, one.error) for one in done.deliveries} == {(DeliveryState.FAILED, "cancelled")}
    assert (await house.call("messages.get", messageId=sent.message.id)).text == "(taken back)"
    assert (await house.call("messages.search", query="blunder")).hits == ()
    assert (await house.call("inbox.get", house.agent("@robot"))).messages == ()
    assert (await house.call("deliveries.flush", agent="@demo")).deliveries == ()


# -- once --------------------------------------------------------------------------------------------------


async def test_under_one_key_there_is_one_message_also_when_it_is_sent_twice_at_once(house: Inn) -> None:
    await furnish(house)
    both = await asyncio.gather(*(house.send("@demo", "once", idempotencyKey="k") for _ in range(3)))
    again = await house.send("demo", "once", idempotencyKey="k", waitFor="answered")
    assert len({one.message.id for one in [*both, again]}) == 1
    assert len({record.id for one in [*both, again] for record in one.deliveries}) == 1
    assert again.deliveries[0].answer is not None
    other = await house.send("@demo", "once", house.agent("@robot"), idempotencyKey="k")
    assert other.message.id != again.message.id


async def test_a_call_that_is_given_up_leaves_its_key_in_order(house: Inn) -> None:
    await furnish(house)
    begun = asyncio.create_task(house.send("@demo", "once", idempotencyKey="k"))
    for _ in range(3):
        await asyncio.sleep(0)
    begun.cancel()
    [one, two] = await asyncio.gather(*(house.send("@demo", "once", idempotencyKey="k") for _ in range(2)))
    assert one.message.id == two.message.id


@pytest.mark.parametrize(
    "other", [{"text": "other"}, {"to": "@demo-2"}, {"to": "#ops"}, {"attachments": [PIXEL]}], ids=str
)
async def test_a_key_stands_for_one_message_only(house: Inn, other: dict[str, Any]) -> None:
    await furnish(house)
    params: dict[str, Any] = {"to": "@demo", "text": "once", "idempotencyKey": "k"}
    sent = await house.call("messages.send", **params)
    with pytest.raises(IdempotencyConflict, match=sent.message.id):
        await house.call("messages.send", **{**params, **other})
    with pytest.raises(IdempotencyConflict):
        await house.call("messages.reply", messageId=sent.message.id, text="once", idempotencyKey="k")


# -- who may what ------------------------------------------------------------------------------------------


async def test_the_owner_speaks_for_people_and_services_and_for_no_session(house: Inn) -> None:
    await furnish(house)
    sent = await house.send("#ops", "beep", **AS_ROBOT)
    assert sent.message.sender.name == "robot"
    await house.send("@robot", "for you", house.agent("@demo"))
    assert len((await house.call("inbox.get", **AS_ROBOT)).messages) == 1
    with pytest.raises(Forbidden):
        await house.send("#ops", "hello", **AS_DEMO)
    with pytest.raises(Forbidden):
        await house.send("#ops", "hello", house.agent("@demo"), **AS_ROBOT)


async def test_what_a_token_may_not_see_does_not_exist_for_it(house: Inn) -> None:
    await furnish(house)
    public = await house.send("#ops", "for all", mode="manual")
    private = await house.send("@robot", "between us")
    message, room, [record] = private.message.id, private.message.conversation_id, private.deliveries
    for stranger in (house.agent("@demo"), OBSERVER):
        for method in ("messages.get", "messages.thread"):
            with pytest.raises(UnknownMessage):
                await house.call(method, stranger, messageId=message)
        for method in ("messages.list", "rooms.get", "rooms.members"):
            with pytest.raises(UnknownRoom):
                await house.call(method, stranger, room=room)
        with pytest.raises(UnknownDelivery):
            await house.call("deliveries.get", stranger, deliveryId=record.id)
        listed = (await house.call("deliveries.list", stranger)).deliveries
        assert record.id not in {one.id for one in listed}
        assert [one.name for one in (await house.call("rooms.list", stranger)).rooms] == ["#ops"]
        assert (await house.call("messages.get", stranger, messageId=public.message.id)).text == "for all"
    for stranger_room in (room, "dm:1,4"):
        with pytest.raises(UnknownRoom):
            await house.send(str(stranger_room), "me, too", house.agent("@demo"))
    tries: dict[str, dict[str, Any]] = {
        "rooms.join": {"room": room},
        "messages.reply": {"messageId": message, "text": "me, too"},
        "messages.react": {"messageId": message, "emoji": "👀"},
        "messages.read": {"messageId": message},
    }
    for method, params in tries.items():
        with pytest.raises((UnknownRoom, UnknownMessage)):
            await house.call(method, house.agent("@demo"), **params)


async def test_an_observer_reads_and_does_nothing_else(house: Inn) -> None:
    await furnish(house)
    sent = await house.send("#ops", "for all", mode="manual")
    listed = (await house.call("deliveries.list", OBSERVER)).deliveries
    assert {one.id for one in listed} == {one.id for one in sent.deliveries}
    tries: dict[str, dict[str, Any]] = {
        "messages.send": {"to": "#ops", "text": "hello"},
        "messages.react": {"messageId": sent.message.id, "emoji": "👀"},
        "inbox.get": {},
        "rooms.create": {"name": "mine"},
        "deliveries.flush": {"agent": "@demo"},
        "tokens.list": {},
    }
    for method, params in tries.items():
        with pytest.raises(Forbidden):
            await house.call(method, OBSERVER, **params)


async def test_nobody_changes_what_is_not_theirs(house: Inn) -> None:
    await furnish(house)
    sent = await house.send("@demo", "wait", mode="manual")
    theirs: dict[str, Any] = {"deliveryId": sent.deliveries[0].id}
    for method in ("deliveries.cancel", "deliveries.retry", "deliveries.redeliver"):
        with pytest.raises(Forbidden):
            await house.call(method, house.agent("@demo"), **theirs)
        with pytest.raises(UnknownDelivery):
            await house.call(method, house.agent("@robot"), **theirs)
    with pytest.raises(Forbidden):
        await house.call("deliveries.flush", house.agent("@robot"), agent="@demo")
    with pytest.raises(Forbidden):
        await house.call("tokens.create", house.agent("@demo"))
    direct = await house.call("rooms.get", room=sent.message.conversation_id)
    for method in ("rooms.leave", "rooms.archive", "rooms.join"):
        with pytest.raises(Forbidden):
            await house.call(method, room=direct.id)


# -- bad input ---------------------------------------------------------------------------------------------

BAD: list[tuple[str, str, dict[str, Any]]] = [
    ("unknown_target", "messages.send", {"to": ["@demo", "@nobody"], "text": "hello"}),
    ("unknown_target", "messages.send", {"to": [], "text": "hello"}),
    ("unknown_target", "messages.send", {"to": "@demo-3", "text": "hello"}),
    ("unknown_target", "messages.send", {"to": ["@demo", "#ops"], "text": "hello"}),
    ("unknown_target", "messages.send", {"to": "#ops", "text": "hello", "as": "@nobody"}),
    ("unknown_target", "rooms.invite", {"room": "#ops", "agent": "@nobody"}),
    ("unknown_target", "deliveries.flush", {"agent": "@nobody"}),
    ("unknown_room", "messages.send", {"to": "#nowhere", "text": "hello"}),
    ("unknown_room", "messages.list", {"room": "room-99"}),
    ("unknown_room", "rooms.join", {"room": "#nowhere"}),
    ("unknown_message", "messages.reply", {"messageId": "msg_0", "text": "hello"}),
    ("unknown_message", "messages.react", {"messageId": "msg_0", "emoji": "👍"}),
    ("unknown_message", "messages.retract", {"messageId": "msg_0"}),
    ("unknown_delivery", "deliveries.cancel", {"deliveryId": "dlv_0"}),
    ("unknown_delivery", "deliveries.retry", {"deliveryId": "dlv_0"}),
    ("unknown_mode", "messages.send", {"to": "@demo", "text": "hello", "mode": "sometime"}),
    ("unknown_mode", "deliveries.flush", {"agent": "@demo", "mode": "sometime"}),
    ("empty_message", "messages.send", {"to": "@demo", "text": " \n"}),
    ("empty_message", "messages.reply", {"messageId": "SAID", "text": ""}),
    ("message_too_large", "messages.send", {"to": "#ops", "text": "x" * 256 * 1024}),
    ("message_too_large", "messages.send", {"to": "#ops", "text": "x", "metadata": {"x": "x" * 256 * 1024}}),
    ("room_archived", "messages.send", {"to": "#old", "text": "hello"}),
    ("room_archived", "messages.reply", {"messageId": "OLD", "text": "hello"}),
    ("room_archived", "messages.react", {"messageId": "OLD", "emoji": "👍"}),
    ("room_archived", "rooms.join", {"room": "#old"}),
    ("room_archived", "rooms.invite", {"room": "#old", "agent": "@demo"}),
    ("room_archived", "rooms.update", {"room": "#old", "topic": "new"}),
    ("name_taken", "rooms.create", {"name": "OPS"}),
    ("name_taken", "rooms.create", {"name": "#old"}),
    ("forbidden", "messages.send", {"to": "#ops", "text": "hello", "as": "@demo"}),
    ("delivery_final", "deliveries.cancel", {"deliveryId": "FINAL"}),
    ("deadline_exceeded", "messages.send", {"to": "@demo", "text": "x", "deadline": "2020-01-01T00:00:00Z"}),
    ("idempotency_conflict", "messages.send", {"to": "#ops", "text": "other", "idempotencyKey": "k"}),
    ("invalid_params", "rooms.create", {"name": "two words"}),
    ("invalid_params", "messages.react", {"messageId": "SAID", "emoji": " "}),
    ("invalid_params", "messages.search", {"query": "?!"}),
]


async def test_bad_input_is_an_error_and_nothing_is_stored(house: Inn) -> None:
    await furnish(house)
    await house.session("three")
    await house.host.dispose("ahp-session:/three")
    await house.call("rooms.create", name="old")
    names = {
        "OLD": (await house.send("#old", "before")).message.id,
        "SAID": (await house.send("#ops", "said", idempotencyKey="k", mode="manual")).message.id,
        "FINAL": (await house.send("@demo", "hello", waitFor="answered")).deliveries[0].id,
    }
    await house.call("rooms.archive", room="#old")
    await house.host.journal.committed()
    before = await everything(house)
    for code, method, given in BAD:
        params: dict[str, Any] = {key: names.get(str(value), value) for key, value in given.items()}
        with pytest.raises(SeraiError) as refused:
            await house.call(method, **params)
        assert refused.value.code == code, (method, given)
        await house.host.journal.committed()
        assert await everything(house) == before, (method, given)


async def everything(house: Inn) -> list[Any]:
    """All that the relay has stored."""
    store = house.store
    return [
        await store.relay("list_deliveries", None, "", 1 << 62, 1 << 30),
        await store.relay("rooms"),
        sorted(await store.relay("members")),
        await store.relay("messages_by_number", str(list(range(house.host.journal.last_seq + 1)))),
        house.host.journal.last_seq,
    ]


async def test_past_its_bound_a_mailbox_fails_what_comes() -> None:
    async with inn(policy=RelayPolicy(me="alice", mailbox=2)) as house:
        await house.session("one")
        records = [(await house.send("@demo", "later", mode="manual")).deliveries[0] for _ in range(3)]
        assert [record.error for record in records] == [None, None, "mailbox_full"]
        assert records[2].state == DeliveryState.FAILED
        await house.call("deliveries.cancel", deliveryId=records[0].id)
        assert (await house.send("@demo", "later", mode="manual")).deliveries[0].error is None


async def test_one_of_those_that_wait_is_let_in_and_the_others_go_on_waiting(house: Inn) -> None:
    await furnish(house)
    first, second = [(await house.send("@demo", text, mode="manual")).deliveries[0] for text in "ab"]
    flushed = await house.call("deliveries.flush", agent="@demo", deliveryId=second.id)
    assert [record.id for record in flushed.deliveries] == [second.id]
    assert (await house.call("deliveries.get", deliveryId=first.id)).waits_for == "flush"


async def test_the_deliveries_of_messages_are_listed_together(house: Inn) -> None:
    await furnish(house)
    sent = [await house.send("#ops", text, mode="manual") for text in "abc"]
    listed = await house.call("deliveries.list", messages=[one.message.id for one in sent[:2]])
    wanted = {record.id for one in sent[:2] for record in one.deliveries}
    assert {record.id for record in listed.deliveries} == wanted


async def test_after_a_person_cancelled_a_flush_goes_on(house: Inn) -> None:
    session = await house.session("one")
    house.say(session, "work 600 every 1")
    [record] = (await house.send("@demo", "and then this")).deliveries
    cancel = a.SessionTurnCancelledAction(turn_id="said")
    session.dispatch(cancel, a.ActionOrigin(client_id="client", client_seq=2), Nobody())
    assert (await house.delivery(record.id)).state == DeliveryState.ACCEPTED
    await house.call("deliveries.flush", agent="@demo")
    assert (await house.final(record.id)).state == DeliveryState.DELIVERED


async def test_what_waits_for_a_session_that_is_disposed_of_fails(house: Inn) -> None:
    await house.session("one")
    [record] = (await house.send("@demo", "later", mode="manual")).deliveries
    await house.host.dispose("ahp-session:/one")
    record = await house.final(record.id)
    assert (record.state, record.error) == (DeliveryState.FAILED, "session_disposed")


async def test_who_is_gone_comes_into_no_room(house: Inn) -> None:
    await house.session("one")
    await house.call("rooms.create", name="ops")
    await house.host.dispose("ahp-session:/one")
    for method in ("rooms.join", "rooms.invite"):
        with pytest.raises(UnknownTarget):
            await house.call(method, room="#ops", agent="@demo")


async def test_who_types_is_offered_the_rooms_and_the_others(house: Inn) -> None:
    session = await house.session("one")
    gone = await house.session("two")
    await house.session("three")
    await house.host.dispose(gone.uri)
    await house.call("rooms.create", name="deploys", topic="what goes out")
    await house.call("rooms.create", name="demos-of-old")
    await house.call("rooms.archive", room="#demos-of-old")
    offered = await house.host.completions.complete(session, session.prompts, "ask @de", 7)
    assert [item.insert_text for item in offered] == ["@demo-3", "#deploys"]
