// What a session changed: in its last turn, since it began, or since the last commit.
import { preference } from "../../host/preferences.js";
import { useChannel } from "../../host/use.js";
import { aside, page } from "../../page.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useMemo, useState } from "../preact.js";
import { ChangedFile, pathsOf } from "./changed_file.js";
import { CommentsBar } from "./comments.js";
import { runOperation } from "./operations.js";
import { diffMode } from "./reading.js";

/** @typedef {import("../../ahp/types.d.ts").ChangesetSummary} ChangesetSummary */
/** @typedef {import("../../ahp/types.d.ts").SessionState} SessionState */
/** @typedef {import("../../ahp/types.d.ts").ChangesetState} ChangesetState */
/** @typedef {import("../../ahp/types.d.ts").ChangesetFile} ChangesetFile */

/**
 * A changeset that can be chosen.
 * @typedef {{name: string, label: string, uri: string, summary: ChangesetSummary}} Choice
 */

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
  const at = aside.value.at;
  // The timeline may point at another turn than the last.
  const [turnId, setTurn] = useState(/** @type {string | null} */ (null));
  useEffect(() => {
    if (!at?.turnId) return;
    setTurn(at.turnId);
    chosen.value = "turn";
  }, [at]);
  if (channel.problem.value) return html`<p class="problem">${channel.problem.value.message}</p>`;
  if (!state) return html`<p class="empty" role="status">Opening…</p>`;
  const choices = choicesOf(state, turnId);
  /** @param {string} name */
  const called = (name) => choices.find((one) => one.name === name);
  const choice = called(chosen.value) ?? called("session") ?? choices[0];
  if (!choice) {
    return html`<p class="empty">${
      state.summary.workingDirectory ? "Nothing is known of changes here yet." : "This session works in no folder."
    }</p>`;
  }
  return html`<div class="changes">
    <div class="choices" role="radiogroup" aria-label="Which changes">
      ${choices.map(
        (one) =>
          html`<label key=${one.name} title=${one.summary.label}>
            <input
              type="radio"
              name="changeset"
              checked=${one === choice}
              onChange=${() => {
                chosen.value = one.name;
                setTurn(null);
              }}
            />
            <span>${one.label}${one.summary.files ? html`<span class="tally">${one.summary.files}</span>` : null}</span>
          </label>`,
      )}
    </div>
    ${choice.summary.description && html`<p class="note small">${choice.summary.description}</p>`}
    <${Changeset} key=${choice.uri} uri=${choice.uri} session=${uri} folder=${state.summary.workingDirectory ?? ""} />
    <${CommentsBar} uri=${uri} />
  </div>`;
}

/**
 * The changesets of a session, with the templates filled in.
 * @param {SessionState} state
 * @param {string | null} turnId
 * @returns {Choice[]}
 */
function choicesOf(state, turnId) {
  const last = state.activeTurn?.id ?? state.turns.at(-1)?.id;
  const turn = turnId ?? last;
  const order = Object.keys(SHORT);
  return (state.summary.changesets ?? [])
    .filter((summary) => turn !== undefined || !summary.uriTemplate.includes("{turnId}"))
    .map((summary) => {
      const isOfTurn = summary.uriTemplate.includes("{turnId}");
      const uri = summary.uriTemplate.replace("{turnId}", encodeURIComponent(turn ?? ""));
      const name = isOfTurn ? "turn" : (uri.split("/").pop() ?? uri);
      const label = isOfTurn && turn !== last ? "That turn" : (SHORT[name] ?? summary.label);
      return { name, label, uri, summary };
    })
    .sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
}

/**
 * One changeset: what can be done with it, and its files.
 * @param {{uri: string, session: string, folder: string}} props
 */
function Changeset({ uri, session, folder }) {
  const channel = useChannel(page.host, uri);
  const state = /** @type {ChangesetState | null} */ (channel.state.value);
  const [said, setSaid] = useState(/** @type {string | null} */ (null));
  const [isWhole, setWhole] = useState(false);
  const sorted = useMemo(() => inOrder(state?.files ?? [], folder), [state?.files, folder]);
  const problem = channel.problem.value ?? state?.error;
  if (!state && problem) return html`<p class="problem" role="alert">${problem.message}</p>`;
  if (!state) return html`<p class="empty" role="status">Looking…</p>`;
  const operations = page.host.isReading.value ? [] : (state.operations ?? []);
  const whole = operations.filter((one) => one.scopes.includes("changeset"));
  // Nothing can be staged of nothing, but a discard is undone when nothing is left.
  const offered = state.files.length ? whole : whole.filter((one) => one.id === "undo");
  const files = sorted.slice(0, isWhole ? sorted.length : MOST_ROWS);
  return html`
    <div class="bar row" role="group" aria-label="All of these changes">
      ${offered.map(
        (operation) =>
          html`<button
            key=${operation.id}
            title=${operation.description}
            class=${operation.id === "discard" ? "danger" : ""}
            onClick=${async () => setSaid(await runOperation(uri, operation))}
          >
            ${operation.id === "undo" && html`<${Icon} name="undo" />`}
            ${operation.label}${operation.id === "undo" ? "" : " all"}
          </button>`,
      )}
      <span class="grow"></span>
      ${files.length > 0 &&
      html`<button
        class="quiet"
        aria-pressed=${diffMode.value === "split"}
        title="Before and after side by side"
        onClick=${() => (diffMode.value = diffMode.value === "split" ? "unified" : "split")}
      >
        Split
      </button>`}
    </div>
    <p class="note small" role="status">${said}</p>
    ${problem && html`<p class="problem" role="alert">${problem.message}</p>`}
    ${!files.length &&
    html`<p class="empty">${state.status === "computing" ? "Looking…" : problem ? "" : "Nothing changed."}</p>`}
    <ul class="files">
      ${files.map(
        (file) =>
          html`<${ChangedFile}
            key=${file.id}
            file=${file}
            changeset=${uri}
            session=${session}
            folder=${folder}
            operations=${operations}
            onSaid=${setSaid}
          />`,
      )}
    </ul>
    ${files.length < sorted.length &&
    html`<button class="quiet" onClick=${() => setWhole(true)}>Show ${sorted.length - files.length} more files</button>`}
  `;
}

/**
 * Files by their paths.
 * @param {readonly ChangesetFile[]} files
 * @param {string} folder
 */
function inOrder(files, folder) {
  const named = files.map((file) => ({ file, path: pathsOf(file, folder).path }));
  return named.sort((one, other) => (one.path < other.path ? -1 : 1)).map(({ file }) => file);
}
