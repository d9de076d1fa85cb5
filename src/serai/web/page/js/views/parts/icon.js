// The page's icons: 16 by 16, drawn with the colour of the text.
import { html } from "../preact.js";

const PATHS = {
  add: "M8 3v10M3 8h10",
  archive: "M2 3h12v3H2zM3 6v7h10V6M6 9h4",
  back: "M10 3 5 8l5 5",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM7 14h2",
  chat: "M2 3h12v8H7l-3 3v-3H2z",
  check: "m3 8 4 4 6-8",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3l2 2",
  close: "m4 4 8 8M12 4l-8 8",
  cog: "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1v2m0 10v2M1 8h2m10 0h2M3 3l2 2m6 6 2 2m0-10-2 2m-6 6-2 2",
  diff: "M8 2v6M5 5h6M5 12h6",
  down: "m4 6 4 4 4-4",
  edit: "m3 13 1-3 7-7 2 2-7 7z",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  folder: "M2 4h4l1.5 2H14v7H2z",
  fork: "M4 2v3c0 3 8 3 8 0V2M8 7v7",
  inbox: "M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  pause: "M5 3v10M11 3v10",
  pin: "M6 2h4l-.5 4L12 8.5H4L6.5 6zM8 9v5",
  play: "M5 3v10l8-5z",
  plug: "M5 2v4M11 2v4M3 6h10v2a5 5 0 0 1-10 0zM8 13v2",
  reply: "M6 4 2 8l4 4M2 8h8c3 0 4 2 4 5",
  retry: "M13 5a6 6 0 1 0 1 4M13 2v3h-3",
  right: "m6 4 4 4-4 4",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l4 4",
  send: "M2 8 14 3l-4 11-3-5z",
  stop: "M4 4h8v8H4z",
  terminal: "m3 4 3 3-3 3M8 11h5",
  trash: "M3 4h10M6 4V2h4v2M4 4l1 10h6l1-10",
  undo: "M5 4 2 7l3 3M2 7h7a4 4 0 0 1 0 8H7",
  up: "m4 10 4-4 4 4",
  warning: "M8 2 1 14h14zM8 6v4M8 12v.01",
};

/** @typedef {keyof typeof PATHS} IconName */

/**
 * An icon. It is decoration: what it stands for is said beside it, or in the button's label.
 * @param {{name: IconName, size?: number}} props
 */
export function Icon({ name, size = 16 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 16 16" fill="none" stroke="currentColor"
    stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
    <path d=${PATHS[name]} />
  </svg>`;
}

/**
 * A button that shows only an icon, with its label for whoever does not see it.
 * @param {{name: IconName, label: string, onClick: () => void, disabled?: boolean, pressed?: boolean}} props
 */
export function IconButton({ name, label, onClick, disabled = false, pressed }) {
  return html`<button class="icon quiet" title=${label} aria-label=${label} aria-pressed=${pressed}
    disabled=${disabled} onClick=${onClick}>
    <${Icon} name=${name} />
  </button>`;
}

/** How many lines were added and taken away. @param {{added: number, removed: number}} props */
export function Lines({ added, removed }) {
  if (!added && !removed) return null;
  return html`<span class="lines">
    <span data-colour="added">+${added}</span> <span data-colour="removed">−${removed}</span>
  </span>`;
}
