// Deliveries: what is on its way to a session, what is stuck and why, and what never arrived.
import { page } from "../../page.js";
import { moment } from "../parts/format.js";
import { html, useState } from "../preact.js";
import { act, agentById, agentOf, handleOf, useAsked } from "./asked.js";
import { cameDirectly, isHeld, isOpen, stateOf, stepsOf, whyOf } from "./delivery_words.js";
import { DeliveryFacts, Steps } from "./receipts.js";

/** @typedef {import("../../host/relay.js").Delivery} Delivery */
/** @typedef {import("./messages.js").Message} Message */

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
  const session = agentOf(uri);
  const agent = isAll ? undefined : session?.identity.handle;
  const { asks, none } = FILTERS[filter] ?? /** @type {never} */ (FILTERS.all);
  const listed = useAsked(() => list(asks, agent, limit), [filter, agent, limit], {
    types: ["delivery.*", "agent.status.changed"],
  });
  const deliveries = listed.value;
  const [said, setSaid] = useState("");
  return html`<div class="deliveries">
    <div class="row bar">
      <label class="grow">
        <span class="hidden">Which deliveries</span>
        <select
          value=${filter}
          onChange=${(/** @type {any} */ event) => {
            setFilter(event.target.value);
            setLimit(PAGE);
          }}
        >
          ${Object.entries(FILTERS).map(([name, { label }]) => html`<option value=${name}>${label}</option>`)}
        </select>
      </label>
      ${
        session &&
        html`<label class="check small">
          <input type="checkbox" checked=${isAll} onChange=${() => setAll(!isAll)} /> Of all agents
        </label>`
      }
    </div>
    ${listed.problem && html`<p class="problem" role="alert">${listed.problem.message}</p>`}
    ${!deliveries && !listed.problem && html`<p class="empty" role="status">Loading…</p>`}
    ${deliveries?.length === 0 && html`<p class="empty">${none}</p>`}
    ${deliveries && html`<${FlushAll} deliveries=${deliveries} onSaid=${setSaid} />`}
    <p class="hidden" role="status">${said}</p>
    <ul>
      ${deliveries?.map(
        (one) =>
          html`<li key=${one.id}><${DeliveryView} delivery=${one} onChanged=${listed.again} onSaid=${setSaid} /></li>`,
      )}
    </ul>
    ${
      deliveries &&
      deliveries.length >= limit &&
      limit < MOST &&
      html`<button class="quiet" onClick=${() => setLimit(Math.min(MOST, limit * 4))}>More</button>`
    }
  </div>`;
}

/**
 * @param {object[]} asks
 * @param {string | undefined} agent
 * @param {number} limit
 * @returns {Promise<Delivery[]>} the newest first
 */
async function list(asks, agent, limit) {
  const params = agent ? { agent, limit } : { limit };
  const answers = await Promise.all(asks.map((one) => page.relay.call("deliveries.list", { ...params, ...one })));
  const found = answers.flatMap((answer) => /** @type {Delivery[]} */ (answer.deliveries));
  return found.toSorted((one, other) => (other.sequence ?? 0) - (one.sequence ?? 0)).slice(0, limit);
}

/**
 * Let all in that waits for one agent.
 * @param {{deliveries: readonly Delivery[], onSaid: (text: string) => void}} props
 */
function FlushAll({ deliveries, onSaid }) {
  /** @type {Map<string, number>} */
  const waiting = new Map();
  for (const { agent } of deliveries.filter(mayBeLetIn)) waiting.set(agent, (waiting.get(agent) ?? 0) + 1);
  const several = [...waiting].filter(([, count]) => count > 1);
  if (several.length === 0 || page.host.isReading.value) return null;
  return html`<div class="row bar">
    ${several.map(([handle, count]) => {
      const flush = async () => {
        if (await act("deliveries.flush", { agent: handle })) onSaid(`What waited for ${handle} is let in.`);
      };
      return html`<button key=${handle} onClick=${flush}>Deliver all ${count} to ${handle}</button>`;
    })}
  </div>`;
}

/** Whether it can be let in now. What waits in an inbox is fetched, and by nobody else. @param {Delivery} delivery */
function mayBeLetIn(delivery) {
  return delivery.state === "accepted" && delivery.waitsFor !== "fetch" && !cameDirectly(delivery);
}

/** @param {{delivery: Delivery, onChanged: () => void, onSaid: (text: string) => void}} props */
function DeliveryView({ delivery, onChanged, onSaid }) {
  const agent = agentById(delivery.agent);
  const message = useMessage(delivery);
  const why = whyOf(delivery, agent, moment);
  const asked = delivery.requestedMode;
  return html`<article class="delivery" data-state=${delivery.state} data-held=${isHeld(delivery)}>
    <header>
      <${Steps} steps=${stepsOf(delivery)} />
      <strong class="state">${stateOf(delivery)}</strong>
      <span class="grow"></span>
      <time class="faint small" datetime=${delivery.createdAt}>${moment(delivery.createdAt)}</time>
    </header>
    <p class="small who">
      ${message ? html`${handleOf(message.from)} → ` : cameDirectly(delivery) ? "a client → " : ""}${delivery.agent}
      ${message?.channel && html` in ${message.channel.name}`}
    </p>
    ${message && html`<p class="excerpt">${message.text}</p>`} ${why && html`<p class="why">${why}</p>`}
    <p class="faint small">
      ${delivery.mode}${asked && asked !== delivery.mode ? `, asked for as ${asked}` : ""}${
        delivery.priority === "urgent" ? ", urgent" : ""
      }${(delivery.attempts ?? 0) > 1 ? `, ${delivery.attempts} attempts` : ""}${
        delivery.deadline ? `, until ${moment(delivery.deadline)}` : ""
      }
    </p>
    <${Operations} delivery=${delivery} onChanged=${onChanged} onSaid=${onSaid} />
    <details>
      <summary class="small">Details</summary>
      <${DeliveryFacts} delivery=${delivery} />
    </details>
  </article>`;
}

/** @param {{delivery: Delivery, onChanged: () => void, onSaid: (text: string) => void}} props */
function Operations({ delivery, onChanged, onSaid }) {
  if (page.host.isReading.value || cameDirectly(delivery)) return null;
  const id = { deliveryId: delivery.id };
  /**
   * @param {string} method
   * @param {object} params
   * @param {string} said
   */
  const run = async (method, params, said) => {
    if (await act(method, params)) onSaid(said);
    onChanged();
  };
  const isWaiting = delivery.state === "accepted" || delivery.state === "deferred" || delivery.state === "created";
  const held = isHeld(delivery);
  const flush = () => run("deliveries.flush", { agent: delivery.agent, ...id }, "It is let in.");
  return html`<div class="row operations">
    ${mayBeLetIn(delivery) &&
    html`<button class=${held ? "main" : ""} onClick=${flush}>${held ? "Let it in" : "Deliver now"}</button>`}
    ${
      delivery.state === "deferred" &&
      html`<button onClick=${() => run("deliveries.retry", id, "It is tried again.")}>Try now</button>`
    }
    ${
      isWaiting &&
      html`<button
        class="danger"
        onClick=${() => run("deliveries.cancel", held ? { ...id, reason: "refused" } : id, "It is cancelled.")}
      >
        ${held ? "Refuse" : "Cancel"}
      </button>`
    }
    ${
      delivery.state === "failed" &&
      html`<button onClick=${() => run("deliveries.redeliver", id, "It is sent again.")}>Send again</button>`
    }
    ${!isOpen(delivery) && delivery.redeliveryOf && html`<span class="faint small">sent again</span>`}
  </div>`;
}

/** Messages hardly ever change: each is asked for once. @type {Map<string, Promise<Message | null>>} */
const messages = new Map();

/**
 * The message of a delivery.
 * @param {Delivery} delivery
 * @returns {Message | null}
 */
function useMessage(delivery) {
  const { messageId } = delivery;
  const ask = () => {
    if (cameDirectly(delivery)) return Promise.resolve(null);
    const asked = messages.get(messageId) ?? page.relay.call("messages.get", { messageId }).catch(() => null);
    messages.set(messageId, asked);
    return asked;
  };
  return useAsked(ask, [messageId]).value;
}
