// Shapes that several tabs have.
import { IconButton } from "../parts/icon.js";
import { html } from "../preact.js";

/** What stands where an answer is not: why, or that it comes. @param {{problem?: any, text?: string}} props */
export function Pending({ problem, text = "Loading…" }) {
  if (problem) return html`<p class="problem" role="alert">${problem.message}</p>`;
  return html`<p class="empty" role="status">${text}</p>`;
}

/**
 * The head of what was opened in a tab, with the way back.
 * @param {{title: string, back?: string, onBack: () => void, children?: unknown}} props
 */
export function Head({ title, back = "Back", onBack, children }) {
  return html`<header class="row bar">
    <${IconButton} name="back" label=${back} onClick=${onBack} />
    <h2 class="grow cut" title=${title}>${title}</h2>
    ${children}
  </header>`;
}

/** Names and what they have, without those that have nothing. @param {{of: readonly [string, unknown][]}} props */
export function Facts({ of }) {
  return html`<dl>
    ${of.map(([name, fact]) => fact && html`<dt>${name}</dt><dd>${fact}</dd>`)}
  </dl>`;
}

/**
 * A table whose rows begin with what they are about. It scrolls by itself when it is wide.
 * @param {{label: string, head?: readonly string[], rows: readonly (readonly unknown[])[]}} props
 */
export function Table({ label, head = [], rows }) {
  return html`<div class="wide" role="region" aria-label=${label} tabindex="0">
    <table>
      ${head.length > 0 && html`<thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>`}
      <tbody>
        ${rows.map(
          ([about, ...cells]) => html`<tr>
            <th scope="row">${about}</th>
            ${cells.map((cell) => html`<td>${cell}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
