// The host's terminals: a list, and the one that is open.
import { aside, page } from "../../page.js";
import { confirm } from "../parts/dialog.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html, signal, useEffect, useState } from "../preact.js";
import { TerminalView } from "./terminal.js";

/** @typedef {import("../../ahp/types.d.ts").TerminalInfo} TerminalInfo */
/** @typedef {import("../../ahp/types.d.ts").TerminalClaim} TerminalClaim */

/** The terminal that was looked at last: it is there again when one comes back to the tab. */
const chosen = signal(/** @type {string | null} */ (null));

/** The tab. @param {{uri: string | null}} props */
export function Terminals({ uri }) {
  const [isStarting, setStarting] = useState(false);
  const terminals = page.host.root.value?.terminals ?? [];
  const at = aside.value.at;
  useEffect(() => {
    const meant = typeof at === "string" ? at : at?.uri;
    if (typeof meant === "string") chosen.value = meant;
  }, [at]);
  const start = async () => {
    setStarting(true);
    try {
      chosen.value = await newTerminal(uri);
    } catch (error) {
      page.host.notify(/** @type {Error} */ (error));
    }
    setStarting(false);
  };
  const open = terminals.find((one) => one.resource === chosen.value);
  return html`<div class="terminals">
    <div class="bar row">
      ${!page.host.isReading.value &&
      html`<button onClick=${start} disabled=${isStarting}><${Icon} name="terminal" /> New terminal</button>`}
      <span class="grow"></span>
      ${open && html`<span class="small faint hint">Ctrl ] leaves the terminal</span>`}
    </div>
    ${!terminals.length && html`<p class="empty">No terminal is open on this host.</p>`}
    <ul aria-label="Terminals">
      ${terminals.map(
        (one) => html`<li key=${one.resource} class="row">
          <button
            class="quiet grow"
            aria-pressed=${one === open}
            onClick=${() => (chosen.value = one === open ? null : one.resource)}
          >
            <span class="cut grow">${one.title || "Terminal"}</span>
            <span class="small faint">
              ${one.exitCode === undefined ? holderOf(one.claim, uri) : `ended with ${one.exitCode}`}
            </span>
          </button>
          ${!page.host.isReading.value &&
          html`<${IconButton}
            name="trash"
            label=${`Close ${one.title || "terminal"}`}
            onClick=${() => dispose(one)}
          />`}
        </li>`,
      )}
    </ul>
    ${open && html`<${TerminalView} key=${open.resource} uri=${open.resource} session=${uri} />`}
  </div>`;
}

/**
 * Start a shell in the session's folder, held by this window.
 * @param {string | null} session
 */
export async function newTerminal(session) {
  const channel = `ahp-terminal:/${crypto.randomUUID()}`;
  const cwd = session ? page.host.summaries.peek().get(session)?.workingDirectory : undefined;
  await page.host.request("createTerminal", {
    channel,
    claim: { kind: "client", clientId: page.host.clientId },
    ...(cwd && { cwd }),
  });
  return channel;
}

/**
 * Who holds a terminal, in a word.
 * @param {TerminalClaim} claim
 * @param {string | null} session
 */
export function holderOf(claim, session) {
  if (claim.kind === "session") return claim.session === session ? "this session" : "another session";
  return claim.clientId === page.host.clientId ? "this window" : "another client";
}

/** @param {TerminalInfo} terminal */
async function dispose(terminal) {
  const isRunning = terminal.exitCode === undefined;
  const text = "Whatever runs in it is ended.";
  if (isRunning && !(await confirm("Close the terminal", text, { yes: "Close it", danger: true }))) return;
  try {
    await page.host.request("disposeTerminal", { channel: terminal.resource });
  } catch (error) {
    page.host.notify(/** @type {Error} */ (error));
  }
}
