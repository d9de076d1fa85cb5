// The agents that were found: which is chosen, who is signed in, and how to get the others.
import { page, showAside } from "../../page.js";
import { signIn } from "../composer/sign_in.js";
import { html, useEffect, useState } from "../preact.js";

/**
 * An agent as the start screen shows it. `signedIn` is null when nobody knows.
 * @typedef {object} FoundAgent
 * @property {string} provider
 * @property {string} displayName
 * @property {boolean} installed
 * @property {boolean | null} signedIn
 * @property {string} [description]
 * @property {string} [install] the command that installs it
 * @property {string} [homepage]
 * @property {string} [reason] why it cannot be used
 * @property {string} [handle] where one writes to it, if it takes messages and has no sessions
 */

/** All agents, those first that can be used. Looked for again when the host's list changes. @returns {FoundAgent[]} */
export function useAgents() {
  const agents = page.host.root.value?.agents;
  const terminals = page.host.root.value?.terminals;
  const [told, setTold] = useState(/** @type {FoundAgent[]} */ ([]));
  useEffect(() => {
    let isWanted = true;
    const asked = /** @type {Promise<any>} */ (/** @type {any} */ (page.host).request("serai/agents", {}));
    // A host that does not tell has its agents in the root all the same.
    asked.then(
      (answer) => isWanted && setTold(answer?.agents ?? []),
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, [agents, terminals]);
  const byName = new Map(told.map((one) => [one.provider, one]));
  const usable = (agents ?? []).map(({ provider, displayName, description }) => ({
    signedIn: null,
    ...byName.get(provider),
    provider,
    displayName,
    description,
    installed: true,
  }));
  const others = told.filter((one) => !usable.some(({ provider }) => provider === one.provider));
  return [...usable, ...participants(), ...others];
}

/** The programs that take part in the relay, and are connected. @returns {FoundAgent[]} */
function participants() {
  return page.relay.agents.value
    .filter((one) => one.capabilities && !one.session && one.status !== "offline")
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
  return html`<fieldset class="agents">
      <legend>Agent</legend>
      ${usable.map(
        (agent) =>
          html`<div class="agent" key=${agent.provider}>
            <label class="row">
              <input
                type="radio"
                name="agent"
                value=${agent.provider}
                checked=${agent.provider === chosen}
                onChange=${() => onChoose(agent.provider)}
              />
              <${Name} agent=${agent} />
            </label>
            ${agent.provider !== "demo" && agent.signedIn !== true && html`<${SignIn} agent=${agent} />`}
          </div>`,
      )}
    </fieldset>
    ${
      others.length > 0 &&
      html`<details class="others" open=${usable.length < 2}>
        <summary>Agents that can be installed (${others.length})</summary>
        <ul class="agents">
          ${others.map(
            (agent) =>
              html`<li class="agent" key=${agent.provider}>
                <${Name} agent=${agent} />
                ${agent.install ? html`<${Install} agent=${agent} />` : html`<${Homepage} url=${agent.homepage} />`}
              </li>`,
          )}
        </ul>
      </details>`
    }`;
}

/** @param {{agent: FoundAgent}} props */
function Name({ agent }) {
  return html`<span class="grow">
    <b>${agent.displayName}</b>
    <span class="state small" data-signed=${String(agent.signedIn)}>${stateOf(agent)}</span>
  </span>`;
}

/** @param {FoundAgent} agent */
function stateOf(agent) {
  if (!agent.installed) return agent.reason ?? "not installed";
  if (agent.provider === "demo") return "needs no key";
  if (agent.handle) return `takes messages as ${agent.handle}`;
  if (agent.signedIn === null || agent.signedIn === undefined) return "sign-in unknown";
  return agent.signedIn ? "✓ signed in" : "not signed in";
}

/** @param {{agent: FoundAgent}} props */
function SignIn({ agent }) {
  return html`<${Doing} label="Sign in" agent=${agent} run=${() => signIn(agent.provider)} />`;
}

/** @param {{agent: FoundAgent}} props */
function Install({ agent }) {
  return html`<${Doing} label="Install" hint=${agent.install} agent=${agent} run=${() => install(agent.provider)} />`;
}

/**
 * A button that is off while it works.
 * @param {{label: string, hint?: string, agent: FoundAgent, run: () => Promise<void>}} props
 */
function Doing({ label, hint, agent, run }) {
  const [isBusy, setBusy] = useState(false);
  const begin = async () => {
    setBusy(true);
    await run();
    setBusy(false);
  };
  return html`<button
    type="button"
    class="small"
    title=${hint}
    aria-label=${`${label}: ${agent.displayName}`}
    disabled=${isBusy}
    onClick=${begin}
  >
    ${label}
  </button>`;
}

/** @param {{url?: string}} props */
function Homepage({ url }) {
  if (!url || !/^https?:\/\//i.test(url)) return null;
  return html`<a class="small" href=${url} target="_blank" rel="noopener noreferrer">How to</a>`;
}

/** Install an agent, in a terminal of the page. @param {string} provider */
async function install(provider) {
  try {
    const answer = await /** @type {any} */ (page.host).request("serai/installAgent", { provider });
    if (answer?.terminal) showAside("terminals", answer.terminal);
  } catch (error) {
    page.host.notify(/** @type {Error} */ (error));
  }
}
