// A session as a workflow: its steps as a graph, and the file that it becomes. Of a run, how far it is.
import { useChannel } from "../../host/use.js";
import { page } from "../../page.js";
import { plain } from "../parts/format.js";
import { Icon } from "../parts/icon.js";
import { html, useState } from "../preact.js";
import { routeOf, useAsked } from "./asked.js";
import { Graph } from "./graph.js";
import { Facts, Pending } from "./shapes.js";

/** @import {SessionState} from "../../ahp/types.d.ts" */
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
  const turns = state?.turns.length ?? 0;
  const asked = useAsked(async () => {
    const flow = /** @type {Flow} */ (await page.routes.get(routeOf(uri, "export?as=json")));
    return { flow, file: /** @type {string} */ (await page.routes.get(routeOf(uri, "export"))) };
  }, [turns]);
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  if (!asked.value || asked.problem) return html`<${Pending} problem=${asked.problem} />`;
  const { flow, file } = asked.value;
  const steps = isRun ? progress(state, flow) : new Map();
  const nodes = flow.nodes.map((node) => ({
    id: node.id,
    label: node.agent_ref ? `${node.id} · ${node.agent_ref}` : node.id,
    detail: node.prompt_template?.trim().split("\n", 1)[0],
    state: steps.get(node.id),
  }));
  const node = flow.nodes.find((one) => one.id === chosen);
  return html`<div class="sheet workflow">
    <h2>${flow.workflow.name}</h2>
    <p class="faint small">${isRun ? runNote(steps, flow) : exportNote(flow, turns)}</p>
    <${Graph}
      nodes=${nodes} edges=${flow.edges} chosen=${chosen}
      onChoose=${(/** @type {string} */ id) => setChosen(id === chosen ? null : id)}
      label=${isRun ? "The workflow of this run" : "This session as a workflow"}
    />
    ${node && html`<${NodeView} node=${node} state=${steps.get(node.id)} />`}
    <${File} name=${`${flow.workflow.id}.workflow.yaml`} text=${file} />
  </div>`;
}

/** @param {{node: Node, state?: string}} props */
function NodeView({ node: { id, type, agent_ref, prompt_template, tools }, state }) {
  /** @type {[string, unknown][]} */
  const facts = [
    ["step", `${id}${state ? `, ${state}` : ""}`],
    ["agent", agent_ref],
    ["tools", type === "agent" && (tools ? tools.join(", ") || "none" : "all that the agent has")],
  ];
  return html`<section class="facts" aria-live="polite" aria-label=${`Step ${id}`}>
    <${Facts} of=${facts} />
    ${type === "input" && html`<p>What the workflow is given.</p>`}
    ${type === "output" && html`<p>What the last step answered.</p>`}
    ${type === "agent" && html`<pre>${prompt_template || "What came before it."}</pre>`}
  </section>`;
}

/** The file, to look through, to copy and to keep. @param {{name: string, text: string}} props */
function File({ name, text }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      page.host.notify("This browser does not let the page copy here. Download the file instead.");
    }
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return html`<div class="row">
      <h2 class="grow cut">${name}</h2>
      <button onClick=${copy}>${isCopied ? html`<${Icon} name="check" /> Copied` : "Copy"}</button>
      <button onClick=${save}><${Icon} name="down" /> Download</button>
    </div>
    <pre tabindex="0" aria-label=${`The file ${name}`}>${text.slice(0, SHOWN)}</pre>
    ${text.length > SHOWN &&
    html`<p class="faint small">This is its beginning. The whole file has the transcript, too.</p>`}`;
}

/** @param {Flow} flow @param {number} turns */
function exportNote(flow, turns) {
  const steps = flow.nodes.filter((node) => node.type === "agent").length;
  if (steps === 0) return "No turn was completed yet: there is nothing to repeat. Each completed turn becomes a step.";
  const left = turns - steps;
  const many = left === 1 ? "One turn is" : `${left} turns are`;
  const without = left > 0 ? ` ${many} left out: not completed, or part of another.` : "";
  const run = "run it with “serai workflow run FILE --input TEXT”, on a host with [models] in its serai.toml.";
  const next = `It is a draft: look it through, then ${run}`;
  return `Each completed turn is a step.${without} ${next}`;
}

/**
 * How far a run is: the state of each node. The host says in the run's turn which step begins.
 * @param {SessionState | null} state
 * @param {Flow} flow
 */
function progress(state, flow) {
  const last = state?.turns.at(-1);
  const turn = state?.activeTurn ?? last;
  const ended = state?.activeTurn || !last ? "running" : { complete: "done", error: "failed" }[last.state] ?? "stopped";
  const begun = (turn?.responseParts ?? []).flatMap((part) => {
    const said = part.kind === "systemNotification" ? plain(part.content) : "";
    return /^Step \d+ of \d+: (\S+)$/.exec(said)?.[1] ?? [];
  });
  const found = new Map(begun.map((id, index) => [id, index < begun.length - 1 ? "done" : ended]));
  for (const { id, type } of flow.nodes) {
    if ((type === "input" && turn) || (type === "output" && ended === "done")) found.set(id, "done");
  }
  return found;
}

/** @param {Map<string, string>} steps @param {Flow} flow */
function runNote(steps, flow) {
  /** @type {Record<string, string>} */
  const words = { running: "is running", failed: "has failed", stopped: "was stopped" };
  const agents = flow.nodes.filter((node) => node.type === "agent");
  const done = agents.filter((node) => steps.get(node.id) === "done").length;
  const at = agents.find((node) => (steps.get(node.id) ?? "") in words);
  return `${done} of ${agents.length} steps are done${at ? `; ${at.id} ${words[steps.get(at.id) ?? ""]}` : ""}.`;
}
