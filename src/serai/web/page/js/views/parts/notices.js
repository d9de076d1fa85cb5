// Short messages to the person: what was refused, and what went wrong.
import { page } from "../../page.js";
import { html } from "../preact.js";
import { IconButton } from "./icon.js";

/** The notices of the host, newest last, until someone closes them. */
export function Notices() {
  return html`<div class="notices" role="log" aria-live="polite" aria-label="Notices">
    ${page.host.notices.value.map(
      (notice) => html`<div class="notice" key=${notice.id}>
        <span class="grow">${notice.text}</span>
        <${IconButton} name="close" label="Close" onClick=${() => page.host.dismiss(notice.id)} />
      </div>`,
    )}
  </div>`;
}
