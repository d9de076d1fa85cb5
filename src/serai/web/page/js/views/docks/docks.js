// Above the composer: what waits for an answer, what is planned, and what waits for its turn.
import { page } from "../../page.js";
import { html } from "../preact.js";
import { Approvals, waitingCalls } from "./approvals.js";
import { Plan, planEntries } from "./plan.js";
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
  const plan = planEntries(state._meta?.["serai.plan"]);
  return html`<div class="docks">
    ${calls.length > 0 && html`<${Approvals} uri=${channel.uri} state=${state} calls=${calls} />`}
    ${requests.length > 0 && html`<${Questions} uri=${channel.uri} requests=${requests} />`}
    ${plan.length > 0 && html`<${Plan} entries=${plan} />`}
    <${Queue} uri=${channel.uri} state=${state} isReading=${page.host.isReading.value} />
  </div>`;
}
