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
 * @property {unknown} [install] there is a way to install it
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
    asked.then((answer) => isWanted && setTold(answer?.agents ?? []), () => {});
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
  return [...usable, ...others];
}

/** The one to begin with: the last one used, else one that is signed in, else any that is not the demo. @param {FoundAgent[]} agents */
export function usualAgent(agents) {
  const usable = agents.filter((one) => one.installed);
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
  return html`<fieldset class="agents">
    <legend>Agent</legend>
    ${agents.map(
      (agent) => html`<div class="agent" key=${agent.provider} data-usable=${agent.installed}>
        <label class="row">
          <input
            type="radio"
            name="agent"
            value=${agent.provider}
            checked=${agent.provider === chosen}
            disabled=${!agent.installed}
            onChange=${() => onChoose(agent.provider)}
          />
          <span class="grow">
            <b>${agent.displayName}</b>
            <span class="state small" data-signed=${String(agent.signedIn)}>${stateOf(agent)}</span>
          </span>
        </label>
        <${Remedy} agent=${agent} />
      </div>`,
    )}
  </fieldset>`;
}

/** @param {FoundAgent} agent */
function stateOf(agent) {
  if (!agent.installed) return "not installed";
  if (agent.provider === "demo") return "needs no key";
  if (agent.signedIn === null || agent.signedIn === undefined) return "sign-in unknown";
  return agent.signedIn ? "✓ signed in" : "not signed in";
}

/** What makes an agent usable. @param {{agent: FoundAgent}} props */
function Remedy({ agent }) {
  const [isBusy, setBusy] = useState(false);
  /** @param {() => Promise<void>} run */
  const doing = (run) => async () => {
    setBusy(true);
    await run();
    setBusy(false);
  };
  if (!agent.installed) {
    return agent.install
      ? html`<button type="button" class="small" disabled=${isBusy} onClick=${doing(() => install(agent.provider))}>Install</button>`
      : null;
  }
  if (agent.provider === "demo" || agent.signedIn === true) return null;
  return html`<button type="button" class="small" disabled=${isBusy} onClick=${doing(() => signIn(agent.provider))}>Sign in</button>`;
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
