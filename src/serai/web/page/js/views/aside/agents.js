// Who is there: every agent, person and program, what each can do, and what may be done to its session.
import { addressOf, page, showAside } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { html } from "../preact.js";
import { act } from "./asked.js";
import { MODES } from "./delivery_words.js";
import { gathered } from "./overlap.js";
import { Pending, Table } from "./shapes.js";

/** @import {Agent} from "../../host/relay.js" */

/** What may be done to a session as a whole. */
const OPERATIONS = ["pause", "resume", "fork", "snapshot", "release"];

/** @param {{uri: string | null}} props */
export function Agents({ uri }) {
  const agents = page.relay.agents.value;
  if (agents.length === 0) return html`<${Pending} />`;
  const isOwn = (/** @type {Agent} */ agent) => uri !== null && agent.session === uri;
  const others = agents.filter((agent) => !isOwn(agent));
  /** @type {[title: string, agents: Agent[]][]} */
  const groups = [
    ["This session", agents.filter(isOwn)],
    [others.length < agents.length ? "Other agents" : "Agents", others.filter((agent) => agent.capabilities)],
    ["People and programs", others.filter((agent) => !agent.capabilities)],
  ];
  return html`<div class="sheet">
    ${groups.map(
      ([title, group]) => group.length > 0 && html`<h2>${title}</h2>
        <ul>
          ${group.map(
            (agent) => html`<li key=${agent.identity.id}><${AgentView} agent=${agent} isOpen=${isOwn(agent)} /></li>`,
          )}
        </ul>`,
    )}
  </div>`;
}

/** @param {{agent: Agent, isOpen: boolean}} props */
function AgentView({ agent, isOpen }) {
  const { identity, session, status, waiting = 0, capabilities } = agent;
  const summary = page.host.summaries.value.get(session ?? "");
  return html`<article class="card">
    <header class="row">
      <strong class="cut">${identity.handle}</strong>
      ${status
        ? html`<span class="status small" data-status=${status}>${status}</span>`
        : html`<span class="kind">${identity.kind ?? "agent"}</span>`}
      <span class="grow"></span>
      ${waiting > 0 &&
      html`<button class="quiet small" onClick=${() => showAside("deliveries")}>
        ${waiting} ${waiting === 1 ? "waits" : "wait"}
      </button>`}
    </header>
    ${session && html`<a class="cut small" href=${addressOf(session)}>${summary?.title || "Its session"}</a>`}
    ${capabilities &&
    html`<${Operations} agent=${agent} />
      <details open=${isOpen}>
        <summary class="small">What it can do</summary>
        <${Table} label=${`What ${identity.handle} can do`} rows=${rowsOf(capabilities)} />
      </details>`}
  </article>`;
}

/** @param {{agent: Agent}} props */
function Operations({ agent: { identity, status, capabilities } }) {
  const { handle } = identity;
  const { lifecycle = {} } = capabilities;
  if (page.host.isReading.value || status === "released") return null;
  const release = async () => {
    const text = `${handle} stops what it does and takes no more messages.`;
    if (await confirm(`Release ${handle}?`, text, { yes: "Release", danger: true })) run("release");
  };
  const run = (/** @type {string} */ operation) => void act(`sessions.${operation}`, { agent: handle });
  const isPaused = status === "paused";
  return html`<div class="row operations">
    ${lifecycle.pause && !isPaused && html`<button onClick=${() => run("pause")}>Pause</button>`}
    ${lifecycle.resume && isPaused && html`<button onClick=${() => run("resume")}>Resume</button>`}
    ${lifecycle.release && html`<button class="danger" onClick=${release}>Release…</button>`}
  </div>`;
}

/** What an agent can do, in the order of a table. @param {any} capabilities */
function rowsOf({ messaging = {}, delivery = {}, lifecycle = {}, events = {}, actions = {} }) {
  const can = [
    messaging.receive && "receive",
    messaging.send && "send",
    actions.invoke && "invoke actions",
    actions.expose && "offer actions",
  ].filter(Boolean);
  const line = (/** @type {string} */ name, /** @type {string} */ about) =>
    html`<div><code>${name}</code> <span class="faint">${about}</span></div>`;
  const modes = /** @type {string[]} */ (delivery.modes ?? []);
  const emitted = /** @type {string[]} */ (events.emits ?? []);
  // Events by what stands before their dot, one line for each.
  const families = gathered(
    emitted.map((type) => {
      const [family = "", ...names] = type.split(".");
      return /** @type {const} */ ([family, names.join(".")]);
    }),
  );
  return [
    ["Messages", `${can.join(", ")}; ${(messaging.attachments ?? ["text"]).join(" and ")}`],
    ["Delivery modes", modes.map((mode) => line(mode, MODES[mode] ?? ""))],
    ["Queue", delivery.queue ? "It holds messages itself." : "The host holds messages for it."],
    ["Operations", OPERATIONS.filter((one) => lifecycle[one]).join(", ") || "none"],
    ["Events", [...families].map(([family, names]) => line(family, names.filter(Boolean).join(", ")))],
  ];
}
