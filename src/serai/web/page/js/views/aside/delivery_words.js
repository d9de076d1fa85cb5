// What is known of a delivery, in words: how far it has come, and why it goes no further. No part of it draws.

/** @typedef {import("../../host/relay.js").Delivery} Delivery */
/** @typedef {import("../../host/relay.js").Agent} Agent */
/** What was passed over was not needed: nobody held what could enter at once. */
/** @typedef {"done" | "now" | "ahead" | "failed" | "passed"} StepState */
/** @typedef {{name: string, state: StepState, at?: string}} Step */

/** When a message enters, by its mode. @type {Record<string, string>} */
export const MODES = {
  "on-idle": "when it is idle",
  immediate: "now, interrupting",
  "next-message": "with the next message of a person",
  "next-tool-call": "before its next tool call",
  manual: "when someone lets it in",
};

/** Why a delivery has failed, and what may be done. @type {Record<string, string>} */
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

/** Why it was cancelled, where that is known. @type {Record<string, string>} */
const CANCELLED = {
  refused: "You refused it.",
  retracted: "Its message was taken back before it arrived.",
  unregistered: "Its agent takes part no longer.",
};

/** How it is known that a message has arrived. @type {Record<string, string>} */
const EVIDENCE = {
  journal: "the turn that it began is in the journal",
  answer: "the agent answered it",
  receipt: "the agent sent a receipt",
  fetched: "it was fetched from the inbox",
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

/**
 * The four steps of a delivery. Someone who only fetches gives no answer, so there are three.
 * @param {Delivery} delivery
 * @returns {Step[]}
 */
export function stepsOf(delivery) {
  const { state, answer, receipts = [] } = delivery;
  const at = (/** @type {string} */ status) => receipts.find((one) => one.receipt.status === status)?.at;
  const failedAt = state === "failed" ? (at("accepted") || at("deferred") ? 2 : 1) : -1;
  /** @type {Step[]} */
  const steps = [
    { name: "created", state: "done", at: delivery.createdAt },
    { name: state === "deferred" ? "put off" : "held", state: "ahead", at: at("accepted") ?? at("deferred") },
    { name: state === "handing" ? "on its way" : "delivered", state: "ahead", at: at("delivered") },
    { name: "answered", state: "ahead", at: answer ? delivery.updatedAt : undefined },
  ];
  const reached = { created: 0, accepted: 1, deferred: 1, handing: 2, delivered: 2, failed: failedAt }[state] ?? 0;
  steps.forEach((step, index) => {
    if (index < reached || (index === reached && state === "delivered")) step.state = "done";
    else if (index === reached) step.state = state === "failed" ? "failed" : "now";
  });
  const [, held, , answered] = steps;
  if (held && held.state === "done" && !held.at) held.state = "passed";
  if (state === "failed" && steps[failedAt])
    Object.assign(steps[failedAt], { name: stateOf(delivery), at: at("failed") });
  if (answered && answer) {
    answered.state = answer.state === "complete" ? "done" : "failed";
    if (answer.state !== "complete") answered.name = answer.state === "cancelled" ? "stopped" : "error";
  } else if (answered && state === "delivered" && delivery.evidence?.evidence !== "fetched") answered.state = "now";
  if (delivery.evidence?.evidence === "fetched" || delivery.waitsFor === "fetch") steps.pop();
  return steps;
}

/** How far a delivery has come, in a word or two. @param {Delivery} delivery */
export function stateOf(delivery) {
  const { state, answer } = delivery;
  if (answer)
    return answer.state === "complete" ? "answered" : `turn ${answer.state === "error" ? "failed" : answer.state}`;
  if (delivery.error === "cancelled" && state === "failed") return "cancelled";
  if (isHeld(delivery)) return "held for you";
  if (state === "accepted") return "held";
  if (state === "deferred") return "put off";
  if (state === "handing") return "on its way";
  return state;
}

/**
 * What a delivery waits for or why it failed, in a plain sentence; empty for one that has arrived.
 * @param {Delivery} delivery
 * @param {Agent | undefined} agent whom it is for
 * @param {(moment: string) => string} written how a time is written
 */
export function whyOf(delivery, agent, written) {
  const who = agent?.identity.handle ?? "its agent";
  const { state, waitsFor, error, attempts = 0 } = delivery;
  if (state === "delivered") return delivery.answer ? "" : whyNoAnswer(delivery, agent, who);
  if (state === "failed") {
    const why = delivery.receipts?.at(-1)?.receipt.metadata?.why;
    return (
      (CANCELLED[error === "cancelled" ? why : ""] ?? FAILURES[error ?? ""]) ||
      `It failed: ${error ?? "nobody said why"}.`
    );
  }
  if (state === "handing") {
    const until = delivery.leaseUntil ? ` It has until ${written(delivery.leaseUntil)} to say so.` : "";
    return `It was handed to ${who}, who has not confirmed it yet.${until}`;
  }
  if (waitsFor === "approval") return `You decide: the policy holds messages of this sender until you let them in.`;
  if (state === "deferred") {
    const next = delivery.nextAttemptAt ?? delivery.availableAt;
    const tried =
      attempts > 0 ? `It was tried ${attempts === 1 ? "once" : `${attempts} times`} in vain` : "It was put off";
    return `${tried}${error ? ` (${error})` : ""}${next ? `, and is tried again at ${written(next)}` : ""}.`;
  }
  return waiting(waitsFor ?? "", agent, who);
}

/**
 * @param {Delivery} delivery
 * @param {Agent | undefined} agent
 * @param {string} who
 */
function whyNoAnswer(delivery, agent, who) {
  if (delivery.evidence?.evidence === "fetched") return "";
  if (agent?.status === "waiting") return `${who} has it, and waits for an approval or an answer of yours.`;
  return agent?.status === "active" ? `${who} has it and is working.` : "";
}

/**
 * @param {string} waitsFor
 * @param {Agent | undefined} agent
 * @param {string} who
 */
function waiting(waitsFor, agent, who) {
  const status = agent?.status;
  switch (waitsFor) {
    case "idle":
      if (status === "paused") return `${who} is paused: resume it, and the message enters.`;
      if (status === "active") return `${who} is in the middle of a turn: the message waits until that is over.`;
      if (status === "waiting")
        return `${who} waits for an approval or an answer of yours. The message enters after that turn.`;
      if (status === "blocked") return `${who} cannot go on unless someone steps in: a sign-in, or its budget.`;
      if (status === "offline" || status === "failed") return `${who} cannot be reached at the moment.`;
      return `It enters when ${who} may go on. After someone stopped a turn, that is when a person speaks to it again.`;
    case "next-message":
      return `It enters together with what a person says to ${who} next.`;
    case "next-tool-call":
      return `It enters before the next tool call of ${who}.`;
    case "flush":
      return `It was sent to be let in by hand: deliver it when you want.`;
    case "fetch":
      return `${who} has not looked into the inbox yet.`;
    case "connection":
      return `${who} is not connected. The message waits until it is.`;
    case "take":
      return `${who} fetches its messages, and has not come for this one.`;
    case "adapter":
      return `${who} has it, and holds it for a moment of its own.`;
    default:
      return waitsFor ? `It waits for: ${waitsFor}.` : "It was just written down.";
  }
}

/** How it is known that a message has arrived. @param {Delivery} delivery */
export function evidenceOf(delivery) {
  const { evidence, via } = delivery.evidence ?? {};
  if (!evidence) return "";
  const known = EVIDENCE[evidence] ?? String(evidence);
  return via && via !== evidence ? `${known}, over ${via}` : known;
}
