// How the page tells of deliveries, and where it puts the nodes of a graph.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { evidenceOf, stateOf, stepsOf, whyOf } from "../../../src/serai/web/page/js/views/aside/delivery_words.js";
import { layered } from "../../../src/serai/web/page/js/views/aside/layers.js";

const AT = "2026-01-01T12:00:00Z";
const agent = (status) => ({ identity: { id: "1", name: "demo", handle: "@demo" }, status });
const receipt = (status, more = {}) => ({ at: AT, receipt: { status, ...more } });
const delivery = (fields) => ({
  id: "dlv",
  messageId: "msg",
  agent: "@demo",
  state: "created",
  mode: "on-idle",
  receipts: [],
  createdAt: AT,
  updatedAt: AT,
  ...fields,
});
const states = (fields) => stepsOf(delivery(fields)).map((step) => step.state);
const why = (fields, status = "idle") => whyOf(delivery(fields), agent(status), () => "noon");

describe("the steps of a delivery", () => {
  it("show where it stands", () => {
    assert.deepEqual(states({ state: "accepted", receipts: [receipt("accepted")] }), ["done", "now", "ahead", "ahead"]);
    assert.deepEqual(states({ state: "handing" }).slice(0, 3), ["done", "passed", "now"]);
  });

  it("show that it was answered, and that nobody had to hold it", () => {
    const answer = { turnId: "t", state: "complete", text: "Rivers" };
    assert.deepEqual(states({ state: "delivered", receipts: [receipt("delivered")], answer }), [
      "done",
      "passed",
      "done",
      "done",
    ]);
    assert.equal(stateOf(delivery({ state: "delivered", answer })), "answered");
  });

  it("show where it ended", () => {
    const receipts = [receipt("accepted"), receipt("failed")];
    assert.deepEqual(states({ state: "failed", error: "expired", receipts }), ["done", "done", "failed", "ahead"]);
  });

  it("show no answer of someone who only fetches", () => {
    assert.equal(states({ state: "delivered", evidence: { evidence: "fetched" } }).length, 3);
  });
});

describe("why a delivery is stuck", () => {
  it("depends on what its agent does", () => {
    const waiting = { state: "accepted", waitsFor: "idle" };
    assert.match(why(waiting, "paused"), /paused: resume it/);
    assert.match(why(waiting, "active"), /middle of a turn/);
    assert.match(why(waiting, "waiting"), /approval or an answer of yours/);
  });

  it("is a sentence for every thing to wait for, also for one that the page does not know", () => {
    const all = [
      "idle",
      "next-message",
      "next-tool-call",
      "flush",
      "fetch",
      "connection",
      "take",
      "adapter",
      "approval",
      "x",
    ];
    for (const waitsFor of all) assert.match(why({ state: "accepted", waitsFor }), /^[A-Z@].*\.$/);
  });

  it("names the attempts and the next one", () => {
    const put = { state: "deferred", attempts: 2, nextAttemptAt: AT, error: "busy" };
    assert.equal(why(put), "It was tried 2 times in vain (busy), and is tried again at noon.");
  });

  it("tells a refusal from a message that was taken back, and says what an agent said", () => {
    const cancelled = (reason) => ({
      state: "failed",
      error: "cancelled",
      receipts: [receipt("failed", { metadata: { why: reason } })],
    });
    assert.match(why(cancelled("refused")), /refused/);
    assert.match(why(cancelled("retracted")), /taken back/);
    assert.match(why(cancelled("something else")), /cancelled/);
    assert.match(why({ state: "failed", error: "no such tool" }), /no such tool/);
  });
});

it("evidence is said in words", () => {
  assert.match(evidenceOf(delivery({ evidence: { evidence: "receipt", via: "webhook" } })), /receipt, over webhook/);
  assert.equal(evidenceOf(delivery({})), "");
});

describe("a graph", () => {
  it("has each node below all that lead to it, and no two at one place", () => {
    const edges = [
      ["a", "b"],
      ["a", "c"],
      ["b", "d"],
      ["c", "d"],
      ["a", "d"],
    ].map(([from, to]) => ({ from, to }));
    const { placed } = layered(["a", "b", "c", "d"], edges);
    const at = new Map(placed.map((place) => [place.id, place]));
    for (const { from, to } of edges) assert.ok(at.get(from).y < at.get(to).y);
    assert.equal(new Set(placed.map(({ x, y }) => `${x} ${y}`)).size, 4);
  });

  it("is drawn also where it goes round in a circle, or names nobody", () => {
    const { placed } = layered(
      ["a", "b"],
      [
        { from: "a", to: "b" },
        { from: "b", to: "a" },
        { from: "x", to: "a" },
      ],
    );
    assert.equal(placed.length, 2);
  });
});
