// How far a message has come to each recipient: a small picture, and all that is known behind it.
import { addressOf } from "../../page.js";
import { moment } from "../parts/format.js";
import { html } from "../preact.js";
import { agentById } from "./asked.js";
import { MODES, evidenceOf, stateOf, stepsOf, whyOf } from "./delivery_words.js";

/** @typedef {import("../../host/relay.js").Delivery} Delivery */
/** @typedef {import("./delivery_words.js").Step} Step */

const APART = 22;
const FIRST = 7;
/** @type {Record<Step["state"], number>} */
const SIZES = { ahead: 4, done: 4, failed: 4, now: 4.5, passed: 1.5 };
/** With more recipients than this, a message shows how many there are. */
const MOST = 4;

/**
 * The receipts of one message: a row for each recipient.
 * @param {{deliveries: readonly Delivery[]}} props
 */
export function Receipts({ deliveries }) {
  if (deliveries.length === 0) return null;
  const rows = html`<ul class="receipts" aria-label="Receipts">
    ${deliveries.map((delivery) => html`<li key=${delivery.id}><${Receipt} delivery=${delivery} /></li>`)}
  </ul>`;
  if (deliveries.length <= MOST) return rows;
  const arrived = deliveries.filter((one) => one.state === "delivered").length;
  const failed = deliveries.filter((one) => one.state === "failed").length;
  return html`<details class="receipts-all">
    <summary>
      ${arrived} of ${deliveries.length} delivered${failed > 0 && html`, <span class="failed">${failed} failed</span>`}
    </summary>
    ${rows}
  </details>`;
}

/** @param {{delivery: Delivery}} props */
function Receipt({ delivery }) {
  const agent = agentById(delivery.agent);
  const why = whyOf(delivery, agent, moment);
  const steps = stepsOf(delivery);
  return html`<details class="receipt" data-state=${delivery.state}>
    <summary title=${why || stateOf(delivery)}>
      <${Steps} steps=${steps} />
      <span class="cut">${delivery.agent}</span>
      <span class="state">${stateOf(delivery)}</span>
      ${delivery.answer?.text && html`<span class="grow cut excerpt">${delivery.answer.text}</span>`}
    </summary>
    <${DeliveryFacts} delivery=${delivery} />
  </details>`;
}

/**
 * The steps as a picture: filled is done, a ring is where it stands, a cross is where it ended.
 * @param {{steps: readonly Step[]}} props
 */
export function Steps({ steps }) {
  const width = FIRST * 2 + APART * (steps.length - 1);
  return html`<span class="steps">
    <svg width=${width} height="14" viewBox=${`0 0 ${width} 14`} aria-hidden="true">
      ${steps.map((step, index) => {
        const x = FIRST + APART * index;
        return html`<g key=${index} class=${step.state}>
          ${index > 0 && html`<path class="line" d=${`M${x - APART + 6} 7h${APART - 12}`} />`}
          ${
            step.state === "failed"
              ? html`<path class="cross" d=${`M${x - 4} 3l8 8m0 -8l-8 8`} />`
              : html`<circle cx=${x} cy="7" r=${SIZES[step.state]} />`
          }
        </g>`;
      })}
    </svg>
    <span class="hidden">${spoken(steps)}</span>
  </span>`;
}

/** @param {readonly Step[]} steps */
function spoken(steps) {
  const told = steps.filter((step) => step.state !== "ahead" && step.state !== "passed");
  return told.map((step) => (step.state === "now" ? `now ${step.name}` : step.name)).join(", ");
}

/**
 * All that is known of a delivery.
 * @param {{delivery: Delivery}} props
 */
export function DeliveryFacts({ delivery }) {
  const agent = agentById(delivery.agent);
  const { answer } = delivery;
  const why = whyOf(delivery, agent, moment);
  const times = stepsOf(delivery).filter((step) => step.at);
  const evidence = evidenceOf(delivery);
  const asked = delivery.requestedMode;
  return html`<div class="facts">
    ${why && html`<p>${why}</p>`}
    <dl>
      ${times.map(
        (step) =>
          html`<dt>${step.name}</dt>
            <dd>${exact(step.at ?? "")}</dd>`,
      )}
      ${
        evidence &&
        html`<dt>known because</dt>
          <dd>${evidence}</dd>`
      }
      <dt>mode</dt>
      <dd>
        ${delivery.mode}${asked && asked !== delivery.mode ? ` (asked for: ${asked})` : ""},
        ${MODES[delivery.mode] ?? ""}
      </dd>
      ${
        delivery.priority === "urgent" &&
        html`<dt>priority</dt>
          <dd>urgent</dd>`
      }
      ${
        (delivery.attempts ?? 0) > 0 &&
        html`<dt>attempts</dt>
          <dd>${delivery.attempts}</dd>`
      }
      ${
        delivery.deadline &&
        html`<dt>deadline</dt>
          <dd>${exact(delivery.deadline)}</dd>`
      }
      ${
        delivery.error &&
        html`<dt>reason</dt>
          <dd>${delivery.error}</dd>`
      }
      <dt>id</dt>
      <dd class="mono">${delivery.id}</dd>
    </dl>
    ${
      answer &&
      html`<figure class="answer">
        <figcaption>What came of it${answer.state === "complete" ? "" : ` (${answer.state})`}</figcaption>
        <blockquote>${answer.text || "The turn ended without a text."}</blockquote>
      </figure>`
    }
    ${agent?.session && html`<a href=${addressOf(agent.session)}>Open the session of ${agent.identity.handle}</a>`}
  </div>`;
}

/** @param {string} at */
function exact(at) {
  const seconds = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return html`<time datetime=${at} title=${new Date(at).toLocaleString()}>${seconds}</time>`;
}
