// Where a session works: the folders that were used last, or any other.
import { page } from "../../page.js";
import { typing } from "../parts/field.js";
import { nameOf, pathOf } from "../parts/format.js";
import { Icon } from "../parts/icon.js";
import { html, useId } from "../preact.js";

const MOST_SHOWN = 6;

/** The folders of the sessions, those used last first; then the host's own. @returns {string[]} */
export function recentFolders() {
  const sessions = [...page.host.summaries.value.values()].sort((one, other) => other.modifiedAt - one.modifiedAt);
  const uris = [...sessions.map((one) => one.workingDirectory), page.host.defaultDirectory.value];
  return [...new Set(uris.map(pathOf).filter(Boolean))];
}

/** The URI of a folder that someone wrote. @param {string} path */
export function folderUri(path) {
  const written = path.trim().replace(/(?<=.)\/+$/, "");
  return `file://${written.split("/").map(encodeURIComponent).join("/")}`;
}

/** @param {{folder: string, onChange: (folder: string) => void}} props */
export function Folders({ folder, onChange }) {
  const id = useId();
  const recent = recentFolders();
  return html`<div class="folders stack">
    <label for=${id}>Folder</label>
    <input id=${id} class="mono" list=${`${id}-recent`} value=${folder} spellcheck=${false} autocomplete="off"
      placeholder="/path/of/a/project" onInput=${typing(onChange)} />
    <datalist id=${`${id}-recent`}>${recent.map((path) => html`<option value=${path}></option>`)}</datalist>
    ${recent.length > 1 && html`<div class="recent row wrap" role="group" aria-label="Folders used last">
      ${recent.slice(0, MOST_SHOWN).map((path) => html`<button class="small" key=${path} title=${path}
        aria-pressed=${path === folder} onClick=${() => onChange(path)}>
        <${Icon} name="folder" /> ${nameOf(path) || path}
      </button>`)}
    </div>`}
  </div>`;
}
