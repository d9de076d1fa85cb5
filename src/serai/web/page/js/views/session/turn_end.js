// The end of a turn: how it ended, what it took, and what can be done with it.
import { newSession, page, told } from "../../page.js";
import { copied } from "../parts/code.js";
import { confirm } from "../parts/dialog.js";
import { money, short } from "../parts/format.js";
import { Menu } from "../parts/menu.js";
import { html } from "../preact.js";

/** @import {ErrorInfo, SessionState, Turn, UsageInfo} from "../../ahp/types.d.ts" */
/** @import {Channel} from "../../host/channel.js" */
/** @import {MenuItem} from "../parts/menu.js" */

/** @typedef {Channel<SessionState>} SessionChannel */

const MICROCENTS = 1e8;

/** What a turn took, as far as it is known. @param {UsageInfo | undefined} usage @returns {string[]} */
export function usageOf(usage) {
  if (!usage) return [];
  const meta = usage._meta ?? {};
  const session = /** @type {{amount?: number, currency?: string} | undefined} */ (meta["serai.sessionCost"]);
  const own = meta["costMicrocents"];
  return [
    usage.model ?? "",
    usage.inputTokens === undefined ? "" : `${short(usage.inputTokens)} in`,
    usage.outputTokens === undefined ? "" : `${short(usage.outputTokens)} out`,
    usage.cacheReadTokens ? `${short(usage.cacheReadTokens)} cached` : "",
    typeof own === "number" ? money(own / MICROCENTS) : "",
    typeof session?.amount === "number" ? `session ${money(session.amount, session.currency)}` : "",
  ].filter(Boolean);
}

/** @param {{turn: Turn, channel: SessionChannel}} props */
export function TurnEnd({ turn, channel }) {
  /** The menu opens to where there is room: at the end of the list there is none below. @param {Event} event */
  const turnMenu = (event) => {
    const place = /** @type {HTMLElement} */ (event.currentTarget);
    const row = place.getBoundingClientRect();
    const room = place.closest(".scroller")?.getBoundingClientRect();
    if (room) place.dataset.opens = room.bottom - row.bottom < row.top - room.top ? "up" : "down";
  };
  return html`<div class="turn-end" onClickCapture=${turnMenu}>
    ${turn.state === "error" && html`<${TurnError} error=${turn.error} title="The turn failed" />`}
    <div class="row">
      ${turn.state === "cancelled" && html`<span class="small" data-colour="waiting">■ Stopped</span>`}
      <span class="faint small grow cut">${usageOf(turn.usage).join(" · ")}</span>
      <${Menu} label="What to do with this turn" items=${() => itemsOf(turn, channel)} />
    </div>
  </div>`;
}

/**
 * An error says what happened and what to do: it comes as one text.
 * @param {{error: ErrorInfo | undefined, title: string}} props
 */
export function TurnError({ error, title }) {
  return html`<div class="problem turn-error">
    <b>${title}</b>
    <p>${error?.message ?? "The host does not say why."}</p>
    ${error?.errorType && html`<code class="small">${error.errorType}</code>`}
    ${error?.stack && html`<details>
      <summary>What the agent wrote</summary>
      <pre tabindex="0">${error.stack}</pre>
    </details>`}
  </div>`;
}

/** @param {Turn} turn @param {SessionChannel} channel @returns {MenuItem[]} */
function itemsOf(turn, channel) {
  const said = turn.responseParts.flatMap((part) => (part.kind === "markdown" ? [part.content] : [])).join("\n\n");
  /** @type {MenuItem} */
  const copy = { label: "Copy text", icon: "file", run: () => void copied(said) };
  if (page.host.isReading.value) return [copy];
  const state = channel.state.peek();
  const isLast = state?.turns.at(-1)?.id === turn.id && !state.activeTurn;
  const fork = () => void told(newSession({ fork: { session: channel.uri, turnId: turn.id } }));
  /** @type {MenuItem} */
  const cut = { label: "Truncate here…", icon: "trash", danger: true, run: () => void truncate(turn, channel) };
  return [
    copy,
    { label: "Send again", icon: "retry", run: () => retry(turn, channel) },
    { label: "Fork from here", icon: "fork", run: fork },
    ...(isLast ? [] : [cut]),
  ];
}

/** The same message again: now, or after the turn that runs. @param {Turn} turn @param {SessionChannel} channel */
function retry({ userMessage }, { uri, state }) {
  const id = crypto.randomUUID();
  void (state.peek()?.activeTurn
    ? page.host.dispatch(uri, { type: "session/pendingMessageSet", kind: "queued", id, userMessage })
    : page.host.dispatch(uri, { type: "session/turnStarted", turnId: id, userMessage }));
}

/** Take back all that came after this turn. @param {Turn} turn @param {SessionChannel} channel */
async function truncate(turn, channel) {
  const { turns = [], activeTurn } = channel.state.peek() ?? {};
  const count = turns.length - turns.findIndex((one) => one.id === turn.id) - 1 + (activeTurn ? 1 : 0);
  const which = count === 1 ? "The turn" : `The ${count} turns`;
  const what = `${which} after this one will be gone. Files stay as they are.`;
  if (!(await confirm("Truncate here?", what, { yes: "Truncate", danger: true }))) return;
  void page.host.dispatch(channel.uri, { type: "session/truncated", turnId: turn.id });
}
