// What tools and terminals wrote: its end first, all of it when someone wants it.
import { useChannel } from "../../host/use.js";
import { page } from "../../page.js";
import { Copy } from "../parts/code.js";
import { size } from "../parts/format.js";
import { html, useMemo, useState } from "../preact.js";
import { piecesOf } from "./ansi.js";

/** @import {TerminalState} from "../../ahp/types.d.ts" */

const MOST_LINES = 120;
const MOST = 20_000;
/** More than this no browser shows well; it can still be copied. */
const MOST_EVER = 2_000_000;

/** The end of a text, and whether it is all of it. @param {string} text @param {boolean} isWhole */
function endOf(text, isWhole) {
  if (isWhole) return text.length > MOST_EVER ? text.slice(-MOST_EVER) : text;
  const tail = text.slice(-MOST);
  let at = tail.length - (tail.endsWith("\n") ? 1 : 0);
  for (let lines = 0; lines < MOST_LINES && at > 0; lines += 1) at = tail.lastIndexOf("\n", at - 1);
  return at > 0 ? tail.slice(at + 1) : tail;
}

/** Output as text, with the colours of a terminal. @param {{text: string, label?: string}} props */
export function Output({ text, label = "Output" }) {
  const [isWhole, setWhole] = useState(false);
  const shown = endOf(text, isWhole);
  const pieces = useMemo(() => piecesOf(shown), [shown]);
  if (!text) return html`<p class="faint small">No output</p>`;
  return html`<div class="output">
    <div class="code-head row small faint">
      <span class="cut">${label}</span>
      ${shown.length < text.length && html`<span class="cut">
        the last ${size(shown.length)} of ${size(text.length)}${" "}
        ${!isWhole && html`<button class="quiet more" onClick=${() => setWhole(true)}>Show all</button>`}
      </span>`}
      <${Copy} text=${text} />
    </div>
    <pre tabindex="0" aria-label=${label}>
${pieces.map((piece) => (piece.class ? html`<span class=${piece.class}>${piece.text}</span>` : piece.text))}</pre>
  </div>`;
}

/** A terminal, followed while it is shown. @param {{uri: string, title: string}} props */
export function TerminalOutput({ uri, title }) {
  const channel = /** @type {import("../../host/channel.js").Channel<TerminalState>} */ (useChannel(page.host, uri));
  const state = channel.state.value;
  if (channel.problem.value)
    return html`<p class="faint small">The terminal is gone: ${channel.problem.value.message}</p>`;
  if (!state) return html`<p class="faint small" role="status">Opening the terminal…</p>`;
  const text = state.content.map((part) => (part.type === "command" ? part.output : part.value)).join("");
  const end = state.exitCode === undefined ? "running" : `ended with ${state.exitCode}`;
  return html`<${Output} text=${text} label=${`${title || state.title} · ${end}`} />`;
}
