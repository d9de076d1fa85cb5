// What the agent has planned, and how far it is.
import { html } from "../preact.js";

/** @typedef {{content: string, status: string, priority?: string}} PlanEntry */

const SIGNS = /** @type {Record<string, [string, string]>} */ ({
  completed: ["✓", "done"],
  in_progress: ["▸", "doing"],
  pending: ["○", "to do"],
});

/** The agent's plan, as far as what it says is one. @param {unknown} plan @returns {PlanEntry[]} */
export function planEntries(plan) {
  if (!Array.isArray(plan)) return [];
  return plan.filter((entry) => typeof entry?.content === "string");
}

/** @param {{entries: PlanEntry[]}} props */
export function Plan({ entries }) {
  const done = entries.filter((entry) => entry.status === "completed").length;
  const current = entries.find((entry) => entry.status === "in_progress");
  return html`<details class="dock plan">
    <summary>
      <span class="row">
        <b>Plan</b> <span class="faint">${done} of ${entries.length} done</span>
        ${current && html`<span class="cut grow">${current.content}</span>`}
      </span>
    </summary>
    <ol>
      ${entries.map((entry) => {
        const [sign, word] = SIGNS[entry.status] ?? ["○", entry.status ?? "to do"];
        return html`<li data-status=${entry.status}>
          <span class="sign" aria-hidden="true">${sign}</span>
          <span><span class="hidden">${word}: </span>${entry.content}</span>
        </li>`;
      })}
    </ol>
  </details>`;
}
