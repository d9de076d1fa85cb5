// The agents that were found: which is chosen, who is signed in, and how to get the others.
import { page, showAside, told } from "../../page.js";
import { Busy, useAnswer } from "../parts/field.js";
import { html } from "../preact.js";

/** @import {FoundAgent} from "../../ahp/types.d.ts" */

/** All agents, those first that can be used. Looked for again when the host's list changes. @returns {FoundAgent[]} */
export function useAgents() {
  const { agents = [], terminals } = page.host.root.value ?? {};
  // A host that does not tell has its agents in the root all the same.
  const found = useAnswer(() => page.host.request("serai/agents"), [agents, terminals]).value?.agents ?? [];
  const byName = new Map(found.map((one) => [one.provider, one]));
  const usable = agents.map(({ provider, displayName }) => ({
    signedIn: null,
    ...byName.get(provider),
    provider,
    displayName,
    installed: true,
  }));
  const others = found.filter((one) => !agents.some(({ provider }) => provider === one.provider));
  return [...usable, ...participants(), ...others];
}

/** The programs that take part in the relay, and are connected. @returns {FoundAgent[]} */
function participants() {
  return page.relay.agents.value
    .filter((one) => !one.session && one.status && one.status !== "offline")
    .map(({ identity: { handle, name, displayName } }) => {
      return { provider: handle, handle, displayName: displayName ?? name, installed: true, signedIn: true };
    });
}

/**
 * The one to begin with: the last one used, else one that is signed in, else any that is not the demo.
 * @param {FoundAgent[]} agents
 */
export function usualAgent(agents) {
  const usable = agents.filter((one) => one.installed && !one.handle);
  const last = localStorage.getItem("serai.agent");
  const real = usable.filter((one) => one.provider !== "demo");
  return (
    usable.find((one) => one.provider === last) ??
    real.find((one) => one.signedIn === true) ??
    real.find((one) => one.signedIn === null) ??
    real[0] ??
    usable[0]
  );
}

/** @param {{agents: FoundAgent[], chosen: string | undefined, onChoose: (provider: string) => void}} props */
export function Agents({ agents, chosen, onChoose }) {
  const usable = agents.filter((one) => one.installed);
  const others = agents.filter((one) => !one.installed);
  return html`<fieldset class="agents bare">
      <legend>Agent</legend>
      ${usable.map((agent) => html`<div class="agent card row" key=${agent.provider}>
        <label class="row grow">
          <input type="radio" name="agent" value=${agent.provider} checked=${agent.provider === chosen}
            onChange=${() => onChoose(agent.provider)} />
          <${Name} agent=${agent} />
        </label>
        ${agent.provider !== "demo" && agent.signedIn !== true && html`<${Busy} class="small"
          label=${`Sign in: ${agent.displayName}`} run=${() => signIn(agent.provider)}>Sign in<//>`}
      </div>`)}
    </fieldset>
    ${others.length > 0 && html`<details class="others" open=${usable.length < 2}>
      <summary>Agents that can be installed (${others.length})</summary>
      <ul class="agents bare">
        ${others.map((agent) => html`<li class="agent card row" key=${agent.provider}>
          <${Name} agent=${agent} />
          ${agent.install
            ? html`<${Busy} class="small" title=${agent.install} label=${`Install: ${agent.displayName}`}
                run=${() => install(agent.provider)}>Install<//>`
            : html`<${Homepage} url=${agent.homepage} />`}
        </li>`)}
      </ul>
    </details>`}`;
}

const COLOURS = /** @type {Record<string, string>} */ ({ true: "done", false: "needs" });

/** @param {{agent: FoundAgent}} props */
function Name({ agent }) {
  return html`<span class="grow">
    <b>${agent.displayName}</b>
    <span class="state small faint" data-colour=${COLOURS[String(agent.signedIn)]}>${stateOf(agent)}</span>
  </span>`;
}

/** @param {FoundAgent} agent */
function stateOf(agent) {
  if (!agent.installed) return agent.reason ?? "not installed";
  if (agent.provider === "demo") return "needs no key";
  if (agent.handle) return `takes messages as ${agent.handle}`;
  return agent.signedIn == null ? "sign-in unknown" : agent.signedIn ? "✓ signed in" : "not signed in";
}

/** @param {{url?: string}} props */
function Homepage({ url }) {
  if (!url || !/^https?:\/\//i.test(url)) return null;
  return html`<a class="small" href=${url} target="_blank" rel="noopener noreferrer">How to</a>`;
}

/** Install an agent, in a terminal of the page. @param {string} provider */
async function install(provider) {
  const answer = await told(page.host.request("serai/installAgent", { provider }));
  if (answer?.terminal) showAside("terminals", answer.terminal);
}

/** Begin to sign in. What the person has to do is shown: a terminal, or words. @param {string} provider */
export async function signIn(provider) {
  const answer = await told(page.host.request("serai/signIn", { provider }));
  if (!answer) return;
  const { terminal, message, method, signedIn } = answer;
  if (terminal) showAside("terminals", terminal);
  const variables = method.variables?.length ? `Set ${method.variables.join(", ")}, and start the host again.` : "";
  const rest = variables || (signedIn ? "You are signed in." : method.description);
  const words = message ?? (terminal ? "" : rest);
  if (words) page.host.notify(words);
}
