// The page's model without a host: the mirror of channels, the list of sessions, what a person prefers.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientState } from "../../../src/serai/web/page/js/ahp/client.js";
import { reduce } from "../../../src/serai/web/page/js/ahp/reduce.js";
import { Status } from "../../../src/serai/web/page/js/ahp/reducers/session.js";
import { seconds } from "../../../src/serai/web/page/js/host/clock.js";
import { Dispatches } from "../../../src/serai/web/page/js/host/dispatches.js";
import { SessionList } from "../../../src/serai/web/page/js/host/session_list.js";
import { groupOf, grouped, lines } from "../../../src/serai/web/page/js/host/sessions.js";
import { effect } from "../../../src/serai/web/page/js/host/signals.js";
import { pinned, preference, togglePinned } from "../../../src/serai/web/page/js/host/preferences.js";

const URI = "ahp-session:/one";
const NOW = 5;

function summary(fields = {}) {
  return { resource: URI, provider: "demo", title: "One", status: 1, createdAt: 1, modifiedAt: 1, ...fields };
}

function session(fields = {}) {
  return { summary: summary(), lifecycle: "ready", turns: [], ...fields };
}

const parts = (count) => Array.from({ length: count }, (_, n) => ({ kind: "markdown", id: `p${n}`, content: "" }));
const running = (count) => session({ activeTurn: { id: "t", userMessage: { text: "" }, responseParts: parts(count) } });
const delta = (partId, content) => ({ type: "session/delta", turnId: "t", partId, content });
const titled = (title) => ({ type: "session/titleChanged", title });
const envelope = (serverSeq, action, more = {}) => ({ channel: URI, serverSeq, action, ...more });
const ours = (clientSeq, more = {}) => ({ origin: { clientId: "me", clientSeq }, ...more });

/** A client that follows one session. */
function following(state = session(), fromSeq = 10) {
  const client = new ClientState("me");
  client.subscribed({ snapshot: { resource: URI, state, fromSeq } }, client.subscribe(URI), NOW);
  return client;
}

describe("a mirror", () => {
  it("keeps what comes before the snapshot, and applies of it what the snapshot does not have", () => {
    const client = new ClientState("me");
    const asked = client.subscribe(URI);
    assert.equal(client.receive(envelope(10, titled("in the snapshot")), NOW), "buffered");
    assert.equal(client.receive(envelope(11, titled("later")), NOW), "buffered");
    const state = session({ summary: summary({ title: "as it was at 10" }) });
    client.subscribed({ snapshot: { resource: URI, state, fromSeq: 10 } }, asked, NOW);
    assert.equal(client.state(URI, NOW).summary.title, "later");
  });

  it("passes over an answer to a subscription that was taken back", () => {
    const client = new ClientState("me");
    const asked = client.subscribe(URI);
    client.unsubscribe(URI);
    client.subscribed({ snapshot: { resource: URI, state: session(), fromSeq: 1 } }, asked, NOW);
    assert.equal(client.state(URI, NOW), null);
  });

  it("shows what is pending on top of what others do, until the host has answered", () => {
    const client = following();
    const { clientSeq } = client.dispatch(URI, titled("mine"));
    client.receive(envelope(11, titled("theirs")), NOW);
    assert.equal(client.state(URI, NOW).summary.title, "mine");
    assert.equal(client.confirmed(URI).summary.title, "theirs");
    assert.equal(
      client.receive(envelope(12, titled("mine"), ours(clientSeq, { rejectionReason: "no" })), NOW),
      "rejected",
    );
    assert.equal(client.state(URI, NOW), client.confirmed(URI));
  });

  it("changes nothing for an envelope that comes again", () => {
    const client = following(running(1));
    for (const _ of [1, 2]) client.receive(envelope(11, delta("p0", "once")), NOW);
    assert.equal(client.state(URI, NOW).activeTurn.responseParts[0].content, "once");
  });

  it("makes of many small pieces of text what the reducer makes of each", () => {
    const client = following(running(3));
    let state = running(3);
    const pieces = [
      ["p0", "a"],
      ["p0", "b"],
      ["p2", "c"],
      ["p0", "d"],
      ["none", "e"],
      ["p0", "f"],
    ];
    pieces.forEach(([partId, content], n) => {
      client.receive(envelope(11 + n, delta(partId, content)), NOW);
      state = reduce("session", state, delta(partId, content), NOW);
    });
    assert.deepEqual(client.state(URI, NOW), state);
  });

  it("replays after a gap, and names what was not answered and what is gone", () => {
    const client = following();
    const other = "ahp-session:/two";
    client.subscribed({ snapshot: { resource: other, state: session(), fromSeq: 10 } }, client.subscribe(other), NOW);
    const [answered, waiting] = [client.dispatch(URI, titled("a")), client.dispatch(URI, titled("b"))];
    assert.deepEqual(client.reconnect().subscriptions, [URI, other]);
    const actions = [envelope(11, titled("a"), ours(answered.clientSeq))];
    const done = client.reconnected({ type: "replay", actions, missing: [other] }, NOW);
    assert.deepEqual(done, { resend: [waiting], lost: [other] });
    assert.equal(client.lastSeenServerSeq, 11);
  });

  it("begins from snapshots where too much was missed, also below what it has seen", () => {
    const client = following();
    const snapshot = { resource: URI, state: session({ summary: summary({ title: "new" }) }), fromSeq: 3 };
    client.reconnected({ type: "snapshot", snapshots: [snapshot] }, NOW);
    assert.equal(client.state(URI, NOW).summary.title, "new");
    assert.equal(client.lastSeenServerSeq, 3);
  });

  it("does not show what was typed into a terminal before the host has", () => {
    const client = new ClientState("me");
    const uri = "ahp-terminal:/one";
    const state = { title: "sh", content: [], claim: { kind: "client", clientId: "me" } };
    client.subscribed({ snapshot: { resource: uri, state, fromSeq: 1 } }, client.subscribe(uri), NOW);
    client.dispatch(uri, { type: "terminal/titleChanged", title: "mine" });
    assert.equal(client.state(uri, NOW).title, "sh");
  });
});

describe("actions on their way", () => {
  it("take a duplicate for a yes where the state shows that it happened", async () => {
    const client = following(running(0));
    const dispatches = new Dispatches(client);
    const sent = [];
    const answer = dispatches.dispatch(URI, { type: "session/turnCancelled", turnId: "gone" }, (one) => sent.push(one));
    const echo = envelope(11, sent[0].action, ours(sent[0].clientSeq, { rejectionReason: "duplicate" }));
    client.receive(echo, NOW);
    dispatches.heard(echo);
    assert.equal(await answer, null);
  });

  it("are sent again only if the state does not show them as done", () => {
    const client = following(running(0));
    const dispatches = new Dispatches(client);
    void dispatches.dispatch(URI, { type: "session/turnCancelled", turnId: "gone" }, () => {});
    void dispatches.dispatch(URI, titled("unsent"), null);
    const sent = [];
    dispatches.resume((one) => sent.push(one.action.type));
    assert.deepEqual(sent, ["session/titleChanged"]);
  });

  it("say that nobody knows what became of them when the host has forgotten who sent them", async () => {
    const client = following();
    const dispatches = new Dispatches(client);
    const answer = dispatches.dispatch(URI, titled("sent"), () => {});
    const unsent = dispatches.dispatch(URI, titled("unsent"), null);
    client.initialized({ serverSeq: 1, snapshots: [{ resource: URI, state: session(), fromSeq: 1 }] });
    const sent = [];
    dispatches.restart((one) => sent.push(one));
    assert.match(await answer, /started again/);
    assert.deepEqual(
      sent.map((one) => one.action.title),
      ["unsent"],
    );
    dispatches.heard(envelope(2, sent[0].action, ours(sent[0].clientSeq)));
    assert.equal(await unsent, null);
  });
});

describe("the list of sessions", () => {
  it("keeps what was told while it was asked for", () => {
    const list = new SessionList();
    const answered = list.asked();
    list.told("root/sessionRemoved", { session: URI });
    list.told("root/sessionAdded", { summary: summary({ resource: "ahp-session:/new" }) });
    answered({ items: [summary()] });
    assert.deepEqual([...list.snapshot().keys()], ["ahp-session:/new"]);
  });

  it("clears an agent that is null and an activity that is empty", () => {
    const list = new SessionList();
    list.told("root/sessionAdded", { summary: summary({ agent: { uri: "file:///a" }, activity: "Reading" }) });
    list.told("root/sessionSummaryChanged", { session: URI, changes: { agent: null, activity: "", title: "Two" } });
    assert.deepEqual(list.snapshot().get(URI), summary({ title: "Two" }));
  });

  it("puts each session where someone looks for it", () => {
    const at = (status, waiting) => groupOf(summary({ status }), waiting);
    assert.equal(at(Status.INPUT_NEEDED | Status.IS_READ), "needsYou");
    assert.equal(at(Status.ERROR), "needsYou");
    assert.equal(at(Status.ERROR | Status.IS_READ), "done");
    assert.equal(at(Status.IN_PROGRESS, 3), "running");
    assert.equal(at(Status.IDLE, 3), "waiting");
    assert.equal(at(Status.IDLE), "done");
  });

  it("shows pinned ones first, then the last modified, and of the archived none unless asked", () => {
    const one = (id, fields) => summary({ resource: id, title: `Session ${id}`, ...fields });
    const all = [
      one("a", { modifiedAt: 1 }),
      one("b", { modifiedAt: 3 }),
      one("c", { modifiedAt: 2 }),
      one("d", { status: 65 }),
    ];
    const ids = (options) => grouped(all, new Map(), options).map(({ sessions }) => sessions.map((s) => s.resource));
    assert.deepEqual(ids({ pinned: ["a"] }), [["a", "b", "c"]]);
    assert.deepEqual(ids({ archived: true }), [["d"]]);
    assert.deepEqual(ids({ filter: "demo SESSION b" }), [["b"]]);
  });

  it("counts the lines since the session began", () => {
    const changesets = [
      { uriTemplate: "ahp-changeset:/a/uncommitted", additions: 9, deletions: 9 },
      { uriTemplate: "ahp-changeset:/a/session", additions: 5 },
    ];
    assert.deepEqual(lines(summary({ changesets })), { added: 5, removed: 0 });
  });
});

describe("a preference", () => {
  it("is one signal under its name", () => {
    assert.equal(preference("x", 1), preference("x", 2));
    togglePinned(URI);
    assert.deepEqual(pinned.value, [URI]);
    togglePinned(URI);
    assert.deepEqual(pinned.value, []);
  });
});

describe("the clock", () => {
  it("ticks while someone reads it, and not longer", (test) => {
    test.mock.timers.enable({ apis: ["setInterval", "Date"], now: 0 });
    const seen = [];
    const stop = effect(() => void seen.push(seconds.value));
    test.mock.timers.tick(1000);
    test.mock.timers.tick(1000);
    stop();
    test.mock.timers.tick(5000);
    assert.deepEqual(seen.slice(1), [1000, 2000]);
  });
});
