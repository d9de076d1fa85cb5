// Who is there: every agent, person and program, what each can do, and what may be done to its session.
import { addressOf, page, showAside } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { html, useState } from "../preact.js";
import { act } from "./asked.js";
import { MODES } from "./delivery_words.js";

/** @typedef {import("../../host/relay.js").Agent} Agent */

/** What may be done to a session as a whole. */
const OPERATIONS = /** @type {const} */ (["pause", "resume", "fork", "snapshot", "release"]);
/** @typedef {(typeof OPERATIONS)[number]} Operation */

/** @type {Record<Operation, string>} */
const LABELS = { pause: "Pause", resume: "Resume", fork: "Fork", snapshot: "Snapshot", release: "Release…" };

/** @param {{uri: string | null}} props */
export function Agents({ uri }) {
  const agents = page.relay.agents.value;
  const own = agents.filter((agent) => agent.session === uri && uri !== null);
  const others = agents.filter((agent) => !own.includes(agent));
  const sessions = others.filter((agent) => agent.capabilities);
  const people = others.filter((agent) => !agent.capabilities);
  if (agents.length === 0) return html`<p class="empty" role="status">Loading…</p>`;
  return html`<div class="agents">
    <${Group} title="This session" agents=${own} isOpen=${true} />
    <${Group} title=${own.length > 0 ? "Other agents" : "Agents"} agents=${sessions} />
    <${Group} title="People and programs" agents=${people} />
    ${sessions.length + own.length > 1 && html`<${Modes} agents=${[...own, ...sessions]} />`}
  </div>`;
}

/** @param {{title: string, agents: readonly Agent[], isOpen?: boolean}} props */
function Group({ title, agents, isOpen = false }) {
  if (agents.length === 0) return null;
  return html`<section>
    <h2>${title}</h2>
    <ul>
      ${agents.map((agent) => html`<li key=${agent.identity.id}><${AgentView} agent=${agent} isOpen=${isOpen} /></li>`)}
    </ul>
  </section>`;
}

/** @param {{agent: Agent, isOpen: boolean}} props */
function AgentView({ agent, isOpen }) {
  const { identity, session, status, waiting = 0, capabilities } = agent;
  const summary = session ? page.host.summaries.value.get(session) : undefined;
  return html`<article class="agent">
    <header class="row">
      <strong class="cut">${identity.handle}</strong>
      ${status && html`<span class="status" data-status=${status}>${status}</span>`}
      ${!status && html`<span class="kind">${identity.kind ?? "agent"}</span>`}
      <span class="grow"></span>
      ${
        waiting > 0 &&
        html`<button class="quiet small" onClick=${() => showAside("deliveries")}>
          ${waiting} ${waiting === 1 ? "waits" : "wait"}
        </button>`
      }
    </header>
    ${session && html`<a class="cut small" href=${addressOf(session)}>${summary?.title || "Its session"}</a>`}
    ${
      capabilities &&
      html`<${Operations} agent=${agent} />
        <details open=${isOpen}>
          <summary class="small">What it can do</summary>
          <${Capabilities} capabilities=${capabilities} />
        </details>`
    }
  </article>`;
}

/** @param {{agent: Agent}} props */
function Operations({ agent }) {
  const [isBusy, setBusy] = useState(false);
  if (page.host.isReading.value || agent.status === "released") return null;
  const lifecycle = agent.capabilities?.lifecycle ?? {};
  // Pausing what is paused, or resuming what is not, is nothing to offer.
  const offered = OPERATIONS.filter(
    (one) =>
      lifecycle[one] && (one === "resume" ? agent.status === "paused" : one !== "pause" || agent.status !== "paused"),
  );
  const run = async (/** @type {Operation} */ operation) => {
    setBusy(true);
    await operate(agent, operation);
    setBusy(false);
  };
  return html`<div class="row operations">
    ${offered.map(
      (one) =>
        html`<button key=${one} class=${one === "release" ? "danger" : ""} disabled=${isBusy} onClick=${() => run(one)}>
          ${LABELS[one]}
        </button>`,
    )}
  </div>`;
}

/**
 * @param {Agent} agent
 * @param {Operation} operation
 */
async function operate(agent, operation) {
  const { handle } = agent.identity;
  if (operation === "release") {
    const text = `${handle} stops what it does and takes no more messages.`;
    if (!(await confirm(`Release ${handle}?`, text, { yes: "Release", danger: true }))) return;
  }
  const result = await act(`sessions.${operation}`, { agent: handle });
  if (!result) return;
  if (operation === "snapshot")
    save(`${handle.slice(1)}-snapshot.json`, JSON.stringify(result.snapshot ?? {}, null, 2));
  if (operation === "fork" && result.agent?.session) location.hash = addressOf(result.agent.session);
}

/**
 * Let the browser keep a text as a file.
 * @param {string} name
 * @param {string} text
 * @param {string} [type]
 */
export function save(name, text, type = "application/json") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @param {{capabilities: any}} props */
function Capabilities({ capabilities }) {
  const { messaging = {}, delivery = {}, lifecycle = {}, events = {}, actions = {} } = capabilities;
  const can = /** @type {string[]} */ (
    [
      messaging.receive && "receive",
      messaging.send && "send",
      actions.invoke && "invoke actions",
      actions.expose && "offer actions",
    ].filter(Boolean)
  );
  const emits = /** @type {string[]} */ (events.emits ?? []);
  return html`<table class="capabilities">
    <tbody>
      <tr>
        <th scope="row">Messages</th>
        <td>${can.join(", ")}; ${(messaging.attachments ?? ["text"]).join(" and ")}</td>
      </tr>
      <tr>
        <th scope="row">Delivery modes</th>
        <td>
          <ul>
            ${(delivery.modes ?? []).map(
              (/** @type {string} */ mode) =>
                html`<li><code>${mode}</code> <span class="faint small">${MODES[mode] ?? ""}</span></li>`,
            )}
          </ul>
          ${delivery.queue && html`<span class="small">It holds messages itself.</span>`}
        </td>
      </tr>
      <tr>
        <th scope="row">Operations</th>
        <td>${OPERATIONS.filter((one) => lifecycle[one]).join(", ") || "none"}</td>
      </tr>
      <tr>
        <th scope="row">Events</th>
        <td>${emits.length === 0 ? "none" : families(emits).map((line) => html`<div>${line}</div>`)}</td>
      </tr>
    </tbody>
  </table>`;
}

/**
 * Events by what stands before their dot, one line for each.
 * @param {readonly string[]} types
 */
function families(types) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const type of types) {
    const [family = "", name = ""] = type.split(/\.(.*)/s);
    found.set(family, [...(found.get(family) ?? []), name]);
  }
  return [...found].map(([family, names]) => {
    const known = names.filter(Boolean).join(", ");
    return html`<code>${family}</code> <span class="faint small">${known}</span>`;
  });
}

/** Who takes messages when: the modes of all agents side by side. @param {{agents: readonly Agent[]}} props */
function Modes({ agents }) {
  const modes = Object.keys(MODES);
  return html`<section class="modes">
    <h2>Delivery modes side by side</h2>
    <div class="wide" role="region" aria-label="Delivery modes side by side" tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            ${modes.map((mode) => html`<th scope="col">${mode}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${agents.map(
            (agent) =>
              html`<tr key=${agent.identity.id}>
                <th scope="row">${agent.identity.handle}</th>
                ${modes.map((mode) => {
                  const has = agent.capabilities?.delivery?.modes?.includes(mode);
                  return html`<td>
                    ${has
                      ? html`<${Icon} name="check" /><span class="hidden">yes</span>`
                      : html`<span class="faint">no</span>`}
                  </td>`;
                })}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
