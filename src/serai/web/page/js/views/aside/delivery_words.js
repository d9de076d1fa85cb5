// What is known of a delivery, in words: how far it has come, and why it goes no further. No part of it draws.
import { moment } from "../parts/format.js";

/** @import {Agent, Delivery} from "../../host/relay.js" */
/** What was passed over was not needed: nobody held what could enter at once. */
/** @typedef {"done" | "now" | "ahead" | "failed" | "passed"} StepState */
/** @typedef {{name: string, state: StepState, at?: string}} Step */
/** @typedef {Record<string, string>} Words */

/** When a message enters, by its mode. @type {Words} */
export const MODES = {
  "on-idle": "when it is idle",
  immediate: "now, interrupting",
  "next-message": "with the next message of a person",
  "next-tool-call": "before its next tool call",
  manual: "when someone lets it in",
};

/** How far one has come that is on its way. @type {Words} */
const STATES = { accepted: "held", deferred: "put off", handing: "on its way" };

/** Why a delivery has failed, and what may be done. @type {Words} */
const FAILURES = {
  cancelled: "It was cancelled before it arrived.",
  deadline_exceeded: "Its deadline passed before it could enter.",
  expired: "It waited longer than messages are kept for.",
  hop_limit:
    "Too many messages of agents in a row since a person spoke: it was stopped so that agents do not go in circles.",
  rate_limited: "Its sender has sent too many messages within a minute.",
  refused_by_policy: "The policy of this host refuses messages of this kind of sender.",
  mailbox_full: "Too many messages wait there already.",
  capability_unsupported: "That session cannot take it in the way that was asked for.",
  outcome_unknown:
    "The host stopped while it was on its way; nobody knows whether it arrived. Look, and send it again if not.",
  session_disposed: "Its session was disposed of.",
  not_tried_again: "It came from a client directly, and is not tried again by itself.",
};

/** Why it was cancelled, where that is known. @type {Words} */
const CANCELLED = {
  refused: "You refused it.",
  retracted: "Its message was taken back before it arrived.",
  unregistered: "Its agent takes part no longer.",
};

/** How it is known that a message has arrived. @type {Words} */
const EVIDENCE = {
  journal: "the turn that it began is in the journal",
  answer: "the agent answered it",
  receipt: "the agent sent a receipt",
  fetched: "it was fetched from the inbox",
};

/** What it waits for; WHO is whom it is for. @type {Words} */
const WAITS = {
  "": "It was just written down.",
  approval: "You decide: the policy holds messages of this sender until you let them in.",
  idle: "It enters when WHO may go on. After someone stopped a turn, that is when a person speaks to it again.",
  "next-message": "It enters together with what a person says to WHO next.",
  "next-tool-call": "It enters before the next tool call of WHO.",
  flush: "It was sent to be let in by hand: deliver it when you want.",
  fetch: "WHO has not looked into the inbox yet.",
  connection: "WHO is not connected. The message waits until it is.",
  take: "WHO fetches its messages, and has not come for this one.",
  adapter: "WHO has it, and holds it for a moment of its own.",
};

/** Why an agent is not idle, by its status. @type {Words} */
const BUSY = {
  paused: "WHO is paused: resume it, and the message enters.",
  active: "WHO is in the middle of a turn: the message waits until that is over.",
  waiting: "WHO waits for an approval or an answer of yours. The message enters after that turn.",
  blocked: "WHO cannot go on unless someone steps in: a sign-in, or its budget.",
  offline: "WHO cannot be reached at the moment.",
  failed: "WHO cannot be reached at the moment.",
};

/** Why there is no answer yet, by the status of who has it. @type {Words} */
const UNANSWERED = {
  waiting: "WHO has it, and waits for an approval or an answer of yours.",
  active: "WHO has it and is working.",
};

/** @param {Delivery} delivery */
export function isOpen(delivery) {
  return delivery.state !== "delivered" && delivery.state !== "failed";
}

/** Whether someone has to agree before it enters. @param {Delivery} delivery */
export function isHeld(delivery) {
  return isOpen(delivery) && delivery.waitsFor === "approval";
}

/** Whether it came from a client of the session, and not as a message of the relay. @param {Delivery} delivery */
export function cameDirectly(delivery) {
  return delivery.messageId === delivery.id;
}

/** Someone who only fetches gives no answer. @param {Delivery} delivery */
function isFetched(delivery) {
  return delivery.evidence?.evidence === "fetched" || delivery.waitsFor === "fetch";
}

/** The four steps of a delivery; three where there is no answer. @param {Delivery} delivery @returns {Step[]} */
export function stepsOf(delivery) {
  const { state, answer, receipts = [] } = delivery;
  const at = (/** @type {string} */ status) => receipts.find((one) => one.receipt.status === status)?.at;
  const heldAt = at("accepted") ?? at("deferred");
  const reached = { accepted: 1, deferred: 1, handing: 2, delivered: 3, failed: heldAt ? 2 : 1 }[state] ?? 0;
  const steps = [
    { name: "created", at: delivery.createdAt },
    { name: state === "deferred" ? "put off" : "held", at: heldAt },
    { name: state === "handing" ? "on its way" : "delivered", at: at("delivered") },
    { name: "answered", at: answer ? delivery.updatedAt : undefined },
  ];
  const drawn = steps.map((step, index) => {
    if (index === 3 && answer && answer.state !== "complete") {
      return { ...step, name: answer.state === "cancelled" ? "stopped" : "error", state: "failed" };
    }
    if (index === 1 && reached > 1 && !heldAt) return { ...step, state: "passed" };
    if (index < reached || (index === 3 && answer)) return { ...step, state: "done" };
    if (index > reached) return { ...step, state: "ahead" };
    return state === "failed" ? { name: stateOf(delivery), at: at("failed"), state } : { ...step, state: "now" };
  });
  return /** @type {Step[]} */ (drawn.slice(0, isFetched(delivery) ? 3 : 4));
}

/** How far a delivery has come, in a word or two. @param {Delivery} delivery */
export function stateOf(delivery) {
  const { state, answer } = delivery;
  if (answer?.state === "complete") return "answered";
  if (answer) return `turn ${answer.state === "error" ? "failed" : answer.state}`;
  if (delivery.error === "cancelled" && state === "failed") return "cancelled";
  return isHeld(delivery) ? "held for you" : (STATES[state] ?? state);
}

/**
 * What a delivery waits for or why it failed, in a plain sentence; empty for one that has arrived.
 * @param {Delivery} delivery
 * @param {Agent | undefined} agent whom it is for
 * @param {(moment: string) => string} [written] how a time is written
 */
export function whyOf(delivery, agent, written = moment) {
  const who = agent?.identity.handle ?? "its agent";
  const status = agent?.status ?? "";
  const { state, waitsFor = "", error, attempts = 0 } = delivery;
  const said = (/** @type {string} */ words) => words.replaceAll("WHO", who);
  if (state === "delivered") return delivery.answer || isFetched(delivery) ? "" : said(UNANSWERED[status] ?? "");
  if (state === "failed") {
    const why = error === "cancelled" ? delivery.receipts?.at(-1)?.receipt.metadata?.why : "";
    return CANCELLED[why] ?? FAILURES[error ?? ""] ?? `It failed: ${error ?? "nobody said why"}.`;
  }
  if (state === "handing") {
    const until = delivery.leaseUntil ? ` It has until ${written(delivery.leaseUntil)} to say so.` : "";
    return `It was handed to ${who}, who has not confirmed it yet.${until}`;
  }
  if (state === "deferred" && waitsFor !== "approval") {
    const next = delivery.nextAttemptAt ?? delivery.availableAt;
    const times = attempts === 1 ? "once" : `${attempts} times`;
    const tried = attempts > 0 ? `It was tried ${times} in vain` : "It was put off";
    return `${tried}${error ? ` (${error})` : ""}${next ? `, and is tried again at ${written(next)}` : ""}.`;
  }
  return said((waitsFor === "idle" && BUSY[status]) || (WAITS[waitsFor] ?? `It waits for: ${waitsFor}.`));
}

/** How it is known that a message has arrived. @param {Delivery} delivery */
export function evidenceOf(delivery) {
  const { evidence, via } = delivery.evidence ?? {};
  if (!evidence) return "";
  const known = EVIDENCE[evidence] ?? String(evidence);
  return via && via !== evidence ? `${known}, over ${via}` : known;
}
