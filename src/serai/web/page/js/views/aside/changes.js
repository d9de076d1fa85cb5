// What a session changed: in its last turn, since it began, or since the last commit.
import { preference } from "../../host/preferences.js";
import { useChannel } from "../../host/use.js";
import { page } from "../../page.js";
import { html, useMemo, useState } from "../preact.js";
import { ChangedFile, Operations, diffMode, pathsOf } from "./changed_file.js";
import { CommentsBar } from "./comments.js";
import { Pending } from "./shapes.js";

/** @import {ChangesetState, SessionState} from "../../ahp/types.d.ts" */

/** So many files are listed at first. */
const MOST_ROWS = 200;

/** Which kind of changeset the person looked at last. */
const chosen = preference("changeset", "session");
/** How the page calls the changesets that it knows, and in which order they stand. @type {Record<string, string>} */
const SHORT = { turn: "Last turn", session: "Session", uncommitted: "Uncommitted" };

/** The tab. @param {{uri: string}} props */
export function Changes({ uri }) {
  const channel = useChannel(page.host, uri);
  const state = /** @type {SessionState | null} */ (channel.state.value);
  if (!state) return html`<${Pending} problem=${channel.problem.value} text="Opening…" />`;
  const folder = state.summary.workingDirectory;
  const choices = choicesOf(state);
  const choice = choices.find((one) => one.name === chosen.value) ?? choices.at(-1);
  if (!folder || !choice) {
    return html`<p class="empty">
      ${folder ? "Nothing is known of changes here yet." : "This session works in no folder."}
    </p>`;
  }
  return html`<div class="changes">
    <div class="choices" role="radiogroup" aria-label="Which changes">
      ${choices.map(
        (one) => html`<label key=${one.name} title=${one.summary.label}>
          <input
            type="radio" name="changeset" checked=${one === choice} onChange=${() => (chosen.value = one.name)}
          />
          <span>${one.label}${one.summary.files ? html`<span class="tally">${one.summary.files}</span>` : null}</span>
        </label>`,
      )}
    </div>
    ${choice.summary.description && html`<p class="note small">${choice.summary.description}</p>`}
    <${Changeset} key=${choice.uri} uri=${choice.uri} session=${uri} folder=${folder} />
    <${CommentsBar} uri=${uri} isRunning=${Boolean(state.activeTurn)} />
  </div>`;
}

/** The changesets of a session, with the template of a turn's filled in. @param {SessionState} state */
function choicesOf({ activeTurn, turns, summary }) {
  const turn = activeTurn?.id ?? turns.at(-1)?.id;
  const order = Object.keys(SHORT);
  return (summary.changesets ?? [])
    .filter(({ uriTemplate }) => turn !== undefined || !uriTemplate.includes("{turnId}"))
    .map((one) => {
      const name = /** @type {string} */ (one.uriTemplate.replace("/{turnId}", "").split("/").pop());
      const uri = one.uriTemplate.replace("{turnId}", encodeURIComponent(turn ?? ""));
      return { name, label: SHORT[name] ?? one.label, uri, summary: one };
    })
    .sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
}

/** What can be done with a changeset, and its files. @param {{uri: string, session: string, folder: string}} props */
function Changeset({ uri, session, folder }) {
  const channel = useChannel(page.host, uri);
  const state = /** @type {ChangesetState | null} */ (channel.state.value);
  const [said, setSaid] = useState(/** @type {string | null} */ (null));
  const [isWhole, setWhole] = useState(false);
  const sorted = useMemo(() => {
    const named = (state?.files ?? []).map((file) => ({ file, path: pathsOf(file, folder).path }));
    return named.sort((one, other) => (one.path < other.path ? -1 : 1)).map(({ file }) => file);
  }, [state?.files, folder]);
  const problem = channel.problem.value ?? state?.error;
  if (!state) return html`<${Pending} problem=${problem} text="Looking…" />`;
  const operations = page.host.isReading.value ? [] : (state.operations ?? []);
  // Nothing can be staged of nothing, but a discard is undone when nothing is left.
  const offered = operations.filter(
    ({ id, scopes }) => scopes.includes("changeset") && (state.files.length > 0 || id === "undo"),
  );
  const files = sorted.slice(0, isWhole ? sorted.length : MOST_ROWS);
  return html`
    <div class="bar row" role="group" aria-label="All of these changes">
      <${Operations} offered=${offered} changeset=${uri} onSaid=${setSaid} />
      <span class="grow"></span>
      ${files.length > 0 &&
      html`<button
        class="quiet" aria-pressed=${diffMode.value === "split"} title="Before and after side by side"
        onClick=${() => (diffMode.value = diffMode.value === "split" ? "unified" : "split")}
      >
        Split
      </button>`}
    </div>
    <p class="note small" role="status">${said}</p>
    ${problem && html`<p class="problem" role="alert">${problem.message}</p>`}
    ${!files.length && !problem &&
    html`<p class="empty">${state.status === "computing" ? "Looking…" : "Nothing changed."}</p>`}
    <ul class="files">
      ${files.map(
        (file) => html`<${ChangedFile}
          key=${file.id} file=${file} changeset=${uri} session=${session} folder=${folder} operations=${operations}
          onSaid=${setSaid}
        />`,
      )}
    </ul>
    ${files.length < sorted.length &&
    html`<button class="quiet" onClick=${() => setWhole(true)}>${sorted.length - files.length} more files</button>`}
  `;
}
