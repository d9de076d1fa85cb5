// Above the composer: what waits for an answer, what is planned, and what waits for its turn.
import { html } from "../preact.js";
import { Approvals, waitingCalls } from "./approvals.js";
import { Questions } from "./questions.js";
import { Queue } from "./queue.js";

/** @import {SessionState} from "../../ahp/types.d.ts" */
/** @import {Channel} from "../../host/channel.js" */

/** @param {{channel: Channel<SessionState>}} props */
export function Docks({ channel }) {
  const state = channel.state.value;
  if (!state) return null;
  const calls = waitingCalls(state);
  const requests = state.inputRequests ?? [];
  return html`<div class="docks stack">
    ${calls.length > 0 && html`<${Approvals} uri=${channel.uri} state=${state} calls=${calls} />`}
    ${requests.length > 0 && html`<${Questions} uri=${channel.uri} requests=${requests} />`}
    <${Plan} plan=${state._meta?.["serai.plan"]} />
    <${Queue} uri=${channel.uri} state=${state} />
  </div>`;
}

const SIGNS = /** @type {Record<string, [string, string, string]>} */ ({
  completed: ["✓", "done", "done"],
  in_progress: ["▸", "doing", "running"],
  pending: ["○", "to do", ""],
});

/** What the agent has planned, and how far it is; as far as what it says is a plan. @param {{plan: unknown}} props */
function Plan({ plan }) {
  /** @type {{content: string, status: string}[]} */
  const entries = Array.isArray(plan) ? plan.filter((entry) => typeof entry?.content === "string") : [];
  if (!entries.length) return null;
  const done = entries.filter((entry) => entry.status === "completed").length;
  const current = entries.find((entry) => entry.status === "in_progress");
  return html`<details class="dock card plan">
    <summary>
      <span class="row">
        <b>Plan</b> <span class="faint">${done} of ${entries.length} done</span>
        ${current && html`<span class="cut grow">${current.content}</span>`}
      </span>
    </summary>
    <ol class="stack bare">
      ${entries.map(({ content, status }) => {
        const [sign, word, colour] = SIGNS[status] ?? ["○", status ?? "to do", ""];
        return html`<li class="row" data-status=${status}>
          <span class="sign" data-colour=${colour} aria-hidden="true">${sign}</span>
          <span><span class="hidden">${word}: </span>${content}</span>
        </li>`;
      })}
    </ol>
  </details>`;
}
