// One session: what was said, what it asks, and where a person writes.
import { useChannel } from "../../host/use.js";
import { page } from "../../page.js";
import { Composer } from "../composer/composer.js";
import { Docks } from "../docks/docks.js";
import { html } from "../preact.js";
import { Timeline } from "./timeline.js";

/** @param {{uri: string}} props */
export function SessionView({ uri }) {
  const channel = useChannel(page.host, uri);
  const problem = channel.problem.value;
  const state = channel.state.value;
  if (problem) return html`<p class="problem" role="alert">${problem.message}</p>`;
  if (!state) return html`<div class="empty" role="status">Opening…</div>`;
  return html`<div class="session">
    <${Timeline} channel=${channel} />
    <div class="foot">
      <${Docks} channel=${channel} />
      <${Composer} channel=${channel} />
    </div>
  </div>`;
}
