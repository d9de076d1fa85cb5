// Deliveries: what is on its way to a session, what is stuck and why, and what never arrived.
import { page } from "../../page.js";
import { moment } from "../parts/format.js";
import { html, useState } from "../preact.js";
import { act, agentById, agentOf, handleOf, useAsked } from "./asked.js";
import { cameDirectly, isHeld, stateOf, whyOf } from "./delivery_words.js";
import { gathered } from "./overlap.js";
import { DeliveryFacts, Steps } from "./receipts.js";
import { Pending } from "./shapes.js";

/** @import {Delivery} from "../../host/relay.js" */
/** @import {Message} from "./messages.js" */

const OPEN = ["created", "accepted", "deferred", "handing"];
const PAGE = 50;
const MOST = 500;

/** What to show, and what to ask for. @type {Record<string, {label: string, asks: object[], none: string}>} */
const FILTERS = {
  open: { label: "On their way", asks: OPEN.map((state) => ({ state })), none: "Nothing is on its way." },
  stuck: { label: "Stuck", asks: [{ stuck: true }], none: "Nothing is stuck." },
  dead: { label: "Dead letters", asks: [{ state: "failed" }], none: "Nothing has failed." },
  delivered: { label: "Delivered", asks: [{ state: "delivered" }], none: "Nothing was delivered yet." },
  all: { label: "All", asks: [{}], none: "There is no delivery." },
};

/** @param {{uri: string | null}} props */
export function Deliveries({ uri }) {
  const [filter, setFilter] = useState("open");
  const [isAll, setAll] = useState(false);
  const [limit, setLimit] = useState(PAGE);
  const [said, setSaid] = useState("");
  const session = agentOf(uri);
  const agent = isAll ? undefined : session?.identity.handle;
  const { asks, none } = FILTERS[filter] ?? /** @type {never} */ (FILTERS.all);
  const listed = useAsked(
    async () => {
      const params = agent ? { agent, limit } : { limit };
      const answers = await Promise.all(asks.map((one) => page.relay.call("deliveries.list", { ...params, ...one })));
      const found = answers.flatMap((answer) => /** @type {Delivery[]} */ (answer.deliveries));
      return found.sort((one, other) => (other.sequence ?? 0) - (one.sequence ?? 0)).slice(0, limit);
    },
    [filter, agent, limit],
    ["delivery.*", "agent.status.changed"],
  );
  const deliveries = listed.value;
  return html`<div class="sheet">
    <div class="row bar">
      <select
        aria-label="Which deliveries" value=${filter}
        onChange=${(/** @type {any} */ event) => setFilter(event.target.value)}
      >
        ${Object.entries(FILTERS).map(([name, { label }]) => html`<option value=${name}>${label}</option>`)}
      </select>
      <span class="grow"></span>
      ${session &&
      html`<label class="small">
        <input type="checkbox" checked=${isAll} onChange=${() => setAll(!isAll)} /> Of all agents
      </label>`}
    </div>
    ${(listed.problem || !deliveries) && html`<${Pending} problem=${listed.problem} />`}
    ${deliveries?.length === 0 && html`<p class="empty">${none}</p>`}
    ${deliveries && html`<${FlushAll} deliveries=${deliveries} onSaid=${setSaid} />`}
    <p class="hidden" role="status">${said}</p>
    <ul>
      ${deliveries?.map((one) => html`<li key=${one.id}><${DeliveryView} delivery=${one} onSaid=${setSaid} /></li>`)}
    </ul>
    ${deliveries && deliveries.length >= limit && limit < MOST &&
    html`<button class="quiet" onClick=${() => setLimit(Math.min(MOST, limit * 4))}>More</button>`}
  </div>`;
}

/**
 * Let all in that waits for one agent.
 * @param {{deliveries: readonly Delivery[], onSaid: (text: string) => void}} props
 */
function FlushAll({ deliveries, onSaid }) {
  const waiting = gathered(deliveries.filter(mayBeLetIn).map((one) => /** @type {const} */ ([one.agent, one])));
  const several = [...waiting].filter(([, all]) => all.length > 1);
  if (several.length === 0 || page.host.isReading.value) return null;
  return html`<div class="row bar">
    ${several.map(([agent, { length }]) => {
      const flush = async () => {
        if (await act("deliveries.flush", { agent })) onSaid(`What waited for ${agent} is let in.`);
      };
      return html`<button key=${agent} onClick=${flush}>Deliver all ${length} to ${agent}</button>`;
    })}
  </div>`;
}

/** Whether it can be let in now. What waits in an inbox is fetched, and by nobody else. @param {Delivery} delivery */
function mayBeLetIn(delivery) {
  return delivery.state === "accepted" && delivery.waitsFor !== "fetch" && !cameDirectly(delivery);
}

/** @param {{delivery: Delivery, onSaid: (text: string) => void}} props */
function DeliveryView({ delivery, onSaid }) {
  const agent = agentById(delivery.agent);
  const isDirect = cameDirectly(delivery);
  const asked = useAsked(async () => {
    return isDirect ? null : page.relay.call("messages.get", { messageId: delivery.messageId });
  }, []);
  const message = /** @type {Message | null} */ (asked.value);
  const from = message ? `${handleOf(message.from)} → ` : isDirect ? "a client → " : "";
  return html`<article class="card" data-state=${isHeld(delivery) ? "held" : delivery.state}>
    <header class="row">
      <${Steps} delivery=${delivery} />
      <strong class="state grow">${stateOf(delivery)}</strong>
      <time class="faint small" datetime=${delivery.createdAt}>${moment(delivery.createdAt)}</time>
    </header>
    <p class="small">
      ${from}${delivery.agent}${message?.channel ? ` in ${message.channel.name}` : ""}
    </p>
    ${message && html`<p class="clamp">${message.text}</p>`}
    <p class="state">${whyOf(delivery, agent)}</p>
    ${!isDirect && !page.host.isReading.value &&
    html`<${Operations} delivery=${delivery} agent=${delivery.agent} onSaid=${onSaid} />`}
    <details>
      <summary class="small">Details</summary>
      <${DeliveryFacts} delivery=${delivery} />
    </details>
  </article>`;
}

/** @param {{delivery: Delivery, agent: string, onSaid: (text: string) => void}} props */
function Operations({ delivery, agent, onSaid }) {
  const { id: deliveryId, state } = delivery;
  const held = isHeld(delivery);
  const isWaiting = state === "accepted" || state === "deferred" || state === "created";
  const refusal = held ? { deliveryId, reason: "refused" } : { deliveryId };
  /** @type {[isOffered: boolean, label: string, method: string, params: object, said: string, look?: string][]} */
  const operations = [
    [
      mayBeLetIn(delivery), held ? "Let it in" : "Deliver now", "flush", { agent, deliveryId }, "It is let in.",
      held ? "main" : "",
    ],
    [state === "deferred", "Try now", "retry", { deliveryId }, "It is tried again."],
    [isWaiting, held ? "Refuse" : "Cancel", "cancel", refusal, "It is cancelled.", "danger"],
    [state === "failed", "Send again", "redeliver", { deliveryId }, "It is sent again."],
  ];
  return html`<div class="row operations">
    ${operations.map(([isOffered, label, method, params, said, look]) => {
      const run = async () => {
        if (await act(`deliveries.${method}`, params)) onSaid(said);
      };
      return isOffered && html`<button key=${method} class=${look} onClick=${run}>${label}</button>`;
    })}
  </div>`;
}
