// A session as a workflow: its steps as a graph, and the file that it becomes. Of a run, how far it is.
import { useChannel } from "../../host/use.js";
import { page } from "../../page.js";
import { plain } from "../parts/format.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useState } from "../preact.js";
import { save } from "./agents.js";
import { routeOf, useAsked } from "./asked.js";
import { Graph } from "./graph.js";

/** @typedef {import("../../ahp/types.d.ts").SessionState} SessionState */
/**
 * @typedef {{id: string, type: string, agent_ref?: string, prompt_template?: string, tools?: string[]}} Node
 * @typedef {{workflow: {id: string, name: string}, nodes: Node[], edges: {from: string, to: string}[]}} Flow
 */

/** So much of the file is shown: it has the whole transcript at its end. */
const SHOWN = 12_000;

/** @param {{uri: string}} props */
export function Workflow({ uri }) {
  const isRun = uri.startsWith("serai-run:");
  const state = /** @type {SessionState | null} */ (useChannel(page.host, uri).state.value);
  const asked = useAsked(async () => {
    const flow = /** @type {Flow} */ (await page.routes.get(routeOf(uri, "export?as=json")));
    return { flow, file: /** @type {string} */ (await page.routes.get(routeOf(uri, "export"))) };
  }, [uri]);
  const turns = state?.turns.length ?? 0;
  useEffect(() => asked.again(), [turns]);
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  if (asked.problem) {
    return html`<p class="problem" role="alert">This session cannot be a workflow: ${asked.problem.message}</p>`;
  }
  if (!asked.value) return html`<p class="empty" role="status">Loading…</p>`;
  const { flow, file } = asked.value;
  const steps = isRun ? progress(state, flow) : new Map();
  const nodes = flow.nodes.map((node) => ({
    id: node.id,
    label: node.agent_ref ? `${node.id} · ${node.agent_ref}` : node.id,
    detail: node.prompt_template?.trim().split("\n", 1)[0],
    state: steps.get(node.id),
  }));
  const node = flow.nodes.find((one) => one.id === chosen);
  return html`<div class="workflow">
    <h2>${flow.workflow.name}</h2>
    <p class="faint small">${isRun ? runNote(steps, flow) : exportNote(flow, turns)}</p>
    <${Graph}
      nodes=${nodes}
      edges=${flow.edges}
      chosen=${chosen}
      onChoose=${(/** @type {string} */ id) => setChosen(id === chosen ? null : id)}
      label=${isRun ? "The workflow of this run" : "This session as a workflow"}
    />
    ${node && html`<${NodeView} node=${node} state=${steps.get(node.id)} />`}
    <${File} name=${`${flow.workflow.id}.workflow.yaml`} text=${file} />
  </div>`;
}

/** @param {{node: Node, state?: string}} props */
function NodeView({ node, state }) {
  return html`<section class="step" aria-live="polite" aria-label=${`Step ${node.id}`}>
    <dl>
      <dt>step</dt>
      <dd>${node.id}${state ? `, ${state}` : ""}</dd>
      ${
        node.agent_ref &&
        html`<dt>agent</dt>
          <dd>${node.agent_ref}</dd>`
      }
      ${
        node.type === "agent" &&
        html`<dt>tools</dt>
          <dd>${node.tools ? node.tools.join(", ") || "none" : "all that the agent has"}</dd>`
      }
    </dl>
    ${node.type === "input" && html`<p>What the workflow is given.</p>`}
    ${node.type === "output" && html`<p>What the last step answered.</p>`}
    ${node.type === "agent" && html`<pre>${node.prompt_template || "What came before it."}</pre>`}
  </section>`;
}

/** The file, to look through, to copy and to keep. @param {{name: string, text: string}} props */
function File({ name, text }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 2000);
    } catch {
      page.host.notify("This browser does not let the page copy here. Download the file instead.");
    }
  };
  return html`<section class="file">
    <div class="row">
      <h2 class="grow cut">${name}</h2>
      <button onClick=${copy}>${isCopied ? html`<${Icon} name="check" /> Copied` : "Copy"}</button>
      <button onClick=${() => save(name, text, "application/yaml")}><${Icon} name="down" /> Download</button>
    </div>
    <pre tabindex="0" aria-label=${`The file ${name}`}>${text.slice(0, SHOWN)}</pre>
    ${text.length > SHOWN &&
    html`<p class="faint small">This is its beginning. The whole file has the transcript, too.</p>`}
  </section>`;
}

/**
 * @param {Flow} flow
 * @param {number} turns
 */
function exportNote(flow, turns) {
  const steps = flow.nodes.filter((node) => node.type === "agent").length;
  if (steps === 0) return "No turn was completed yet: there is nothing to repeat. Each completed turn becomes a step.";
  const left = turns - steps;
  const without =
    left > 0 ? ` ${left === 1 ? "One turn is" : `${left} turns are`} left out: not completed, or part of another.` : "";
  const next = "It is a draft: look it through, then run it with “serai workflow run FILE --input TEXT”.";
  return `Each completed turn is a step.${without} ${next}`;
}

/**
 * How far a run is: the state of each node. The host says in the run's turn which step begins.
 * @param {SessionState | null} state
 * @param {Flow} flow
 * @returns {Map<string, string>}
 */
function progress(state, flow) {
  const turn = state?.activeTurn ?? state?.turns.at(-1);
  /** @type {string[]} */
  const begun = [];
  for (const part of turn?.responseParts ?? []) {
    const match = part.kind === "systemNotification" && /^Step \d+ of \d+: (\S+)$/.exec(plain(part.content));
    if (match && match[1]) begun.push(match[1]);
  }
  const ended = state?.activeTurn ? null : state?.turns.at(-1)?.state;
  /** @type {Map<string, string>} */
  const found = new Map();
  begun.forEach((id, index) => {
    const isLast = index === begun.length - 1;
    found.set(
      id,
      !isLast || ended === "complete" ? "done" : ended === "error" ? "failed" : ended ? "stopped" : "running",
    );
  });
  for (const node of flow.nodes) {
    if (node.type === "input" && turn) found.set(node.id, "done");
    if (node.type === "output" && ended === "complete") found.set(node.id, "done");
  }
  return found;
}

/**
 * @param {Map<string, string>} steps
 * @param {Flow} flow
 */
function runNote(steps, flow) {
  const agents = flow.nodes.filter((node) => node.type === "agent");
  const done = agents.filter((node) => steps.get(node.id) === "done").length;
  const told = { running: "is running", failed: "has failed", stopped: "was stopped" };
  const at = agents.find((node) => (steps.get(node.id) ?? "") in told);
  const where = at ? `; ${at.id} ${told[/** @type {keyof typeof told} */ (steps.get(at.id))]}` : "";
  return `${done} of ${agents.length} steps are done${where}.`;
}
