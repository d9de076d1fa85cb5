// The host's terminals: a list, and the one that is open.
import { aside, page } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html, signal, useEffect, useState } from "../preact.js";
import { attempt } from "./asked.js";
import { TerminalView } from "./terminal.js";

/** @import {TerminalClaim, TerminalInfo} from "../../ahp/types.d.ts" */

/** The terminal that was looked at last: it is there again when one comes back to the tab. */
const chosen = signal(/** @type {string | null} */ (null));

/** The tab. @param {{uri: string | null}} props */
export function Terminals({ uri }) {
  const [isStarting, setStarting] = useState(false);
  const terminals = page.host.root.value?.terminals ?? [];
  const isReading = page.host.isReading.value;
  const at = aside.value.at;
  useEffect(() => {
    if (typeof at === "string") chosen.value = at;
  }, [at]);
  // A shell in the session's folder, held by this window.
  const start = async () => {
    const channel = `ahp-terminal:/${crypto.randomUUID()}`;
    const claim = /** @type {const} */ ({ kind: "client", clientId: page.host.clientId });
    const cwd = page.host.summaries.peek().get(uri ?? "")?.workingDirectory;
    setStarting(true);
    const made = await attempt(page.host.request("createTerminal", { channel, claim, ...(cwd && { cwd }) }));
    if (made !== null) chosen.value = channel;
    setStarting(false);
  };
  const open = terminals.find((one) => one.resource === chosen.value);
  return html`<div class="terminals">
    <div class="bar row">
      ${!isReading &&
      html`<button onClick=${start} disabled=${isStarting}><${Icon} name="terminal" /> New terminal</button>`}
      <span class="grow"></span>
      ${open && html`<span class="small faint hint">Ctrl ] leaves the terminal</span>`}
    </div>
    ${!terminals.length && html`<p class="empty">No terminal is open on this host.</p>`}
    <ul aria-label="Terminals">
      ${terminals.map(
        (one) => html`<li key=${one.resource} class="row">
          <button
            class="quiet line" aria-pressed=${one === open}
            onClick=${() => (chosen.value = one === open ? null : one.resource)}
          >
            <span class="cut grow">${one.title || "Terminal"}</span>
            <span class="small faint">
              ${one.exitCode === undefined ? holderOf(one.claim, uri) : `ended with ${one.exitCode}`}
            </span>
          </button>
          ${!isReading &&
          html`<${IconButton}
            name="trash" label=${`Close ${one.title || "terminal"}`} onClick=${() => dispose(one)}
          />`}
        </li>`,
      )}
    </ul>
    ${open && html`<${TerminalView} key=${open.resource} uri=${open.resource} session=${uri} />`}
  </div>`;
}

/** Who holds a terminal, in a word. @param {TerminalClaim} claim @param {string | null} session */
export function holderOf(claim, session) {
  if (claim.kind === "session") return claim.session === session ? "this session" : "another session";
  return claim.clientId === page.host.clientId ? "this window" : "another client";
}

/** @param {TerminalInfo} terminal */
async function dispose({ resource, exitCode }) {
  const text = "Whatever runs in it is ended.";
  const isSure =
    exitCode !== undefined || (await confirm("Close the terminal", text, { yes: "Close it", danger: true }));
  if (isSure) await attempt(page.host.request("disposeTerminal", { channel: resource }));
}
