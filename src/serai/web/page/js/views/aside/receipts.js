// How far a message has come to each recipient: a small picture, and all that is known behind it.
import { addressOf } from "../../page.js";
import { html } from "../preact.js";
import { agentById } from "./asked.js";
import { MODES, evidenceOf, stateOf, stepsOf, whyOf } from "./delivery_words.js";
import { Facts } from "./shapes.js";

/** @import {Delivery} from "../../host/relay.js" */
/** @import {Step} from "./delivery_words.js" */

const APART = 22;
const FIRST = 7;
/** @type {Record<Step["state"], number>} */
const SIZES = { ahead: 4, done: 4, failed: 4, now: 4.5, passed: 1.5 };
/** With more recipients than this, a message shows how many there are. */
const MOST = 4;

/** The receipts of one message: a row for each recipient. @param {{deliveries: readonly Delivery[]}} props */
export function Receipts({ deliveries }) {
  const rows = deliveries.map((delivery) => html`<${Receipt} key=${delivery.id} delivery=${delivery} />`);
  if (rows.length <= MOST) return rows;
  const count = (/** @type {string} */ state) => deliveries.filter((one) => one.state === state).length;
  const failed = count("failed");
  return html`<details>
    <summary>
      ${count("delivered")} of ${rows.length} delivered${failed > 0 && html`, <b class="failed">${failed} failed</b>`}
    </summary>
    ${rows}
  </details>`;
}

/** @param {{delivery: Delivery}} props */
function Receipt({ delivery }) {
  const agent = agentById(delivery.agent);
  return html`<details class="receipt small" data-state=${delivery.state}>
    <summary class="row" title=${whyOf(delivery, agent) || stateOf(delivery)}>
      <${Steps} delivery=${delivery} />
      <span class="cut">${delivery.agent}</span>
      <span class="state">${stateOf(delivery)}</span>
      ${delivery.answer?.text && html`<em class="grow cut">${delivery.answer.text}</em>`}
    </summary>
    <p>${whyOf(delivery, agent)}</p>
    <${DeliveryFacts} delivery=${delivery} />
  </details>`;
}

/**
 * The steps as a picture: filled is done, a ring is where it stands, a cross is where it ended.
 * @param {{delivery: Delivery}} props
 */
export function Steps({ delivery }) {
  const steps = stepsOf(delivery);
  const width = FIRST * 2 + APART * (steps.length - 1);
  const told = steps.filter(({ state }) => state !== "ahead" && state !== "passed");
  return html`<span class="steps">
    <svg width=${width} height="14" viewBox=${`0 0 ${width} 14`} aria-hidden="true">
      ${steps.map(({ state }, index) => {
        const x = FIRST + APART * index;
        return html`<g key=${index} class=${state}>
          ${index > 0 && html`<path d=${`M${x - APART + 6} 7h${APART - 12}`} />`}
          ${state === "failed"
            ? html`<path class="cross" d=${`M${x - 4} 3l8 8m0 -8l-8 8`} />`
            : html`<circle cx=${x} cy="7" r=${SIZES[state]} />`}
        </g>`;
      })}
    </svg>
    <span class="hidden">${told.map(({ name, state }) => (state === "now" ? `now ${name}` : name)).join(", ")}</span>
  </span>`;
}

/** All that is known of a delivery. @param {{delivery: Delivery}} props */
export function DeliveryFacts({ delivery }) {
  const agent = agentById(delivery.agent);
  const { answer, mode, requestedMode } = delivery;
  const asked = requestedMode && requestedMode !== mode ? ` (asked for: ${requestedMode})` : "";
  /** @type {[string, unknown][]} */
  const facts = [
    ...stepsOf(delivery).map(({ name, at }) => /** @type {[string, unknown]} */ ([name, at && exact(at)])),
    ["known because", evidenceOf(delivery)],
    ["mode", `${mode}${asked}, ${MODES[mode] ?? ""}`],
    ["priority", delivery.priority === "urgent" && "urgent"],
    ["attempts", delivery.attempts],
    ["deadline", delivery.deadline && exact(delivery.deadline)],
    ["reason", delivery.error],
    ["sends again", delivery.redeliveryOf],
    ["id", html`<span class="mono">${delivery.id}</span>`],
  ];
  return html`<div class="facts small">
    <${Facts} of=${facts} />
    ${answer &&
    html`<p class="faint">What came of it${answer.state === "complete" ? "" : ` (${answer.state})`}</p>
      <blockquote>${answer.text || "The turn ended without a text."}</blockquote>`}
    ${agent?.session && html`<a href=${addressOf(agent.session)}>Open the session of ${agent.identity.handle}</a>`}
  </div>`;
}

/** @param {string} at */
function exact(at) {
  const seconds = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return html`<time datetime=${at} title=${new Date(at).toLocaleString()}>${seconds}</time>`;
}
