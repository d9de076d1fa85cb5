// Dialogs: what asks before it goes on. `ask` opens one and waits for the answer.
import { html, render, useEffect, useRef } from "../preact.js";

/**
 * Ask a person something in a dialog. Resolves with the value that `body` hands to `done`, or null when the person
 * leaves it. @template T @param {string} title @param {(done: (value: T | null) => void) => unknown} body
 * @returns {Promise<T | null>}
 */
export function ask(title, body) {
  const place = document.createElement("div");
  document.body.append(place);
  return new Promise((resolve) => {
    /** @param {T | null} value */
    const done = (value) => {
      render(null, place);
      place.remove();
      resolve(value);
    };
    render(html`<${Dialog} title=${title} onClose=${() => done(null)}>${body(done)}<//>`, place);
  });
}

/**
 * Ask yes or no. Resolves with whether the person said yes. @param {string} title @param {unknown} text
 * @param {{yes?: string, danger?: boolean}} [options]
 */
export async function confirm(title, text, { yes = "Yes", danger = false } = {}) {
  const body = (/** @type {(value: boolean) => void} */ done) => html`
    <p>${text}</p>
    <div class="row dialog-buttons">
      <button onClick=${() => done(false)}>Cancel</button>
      <button class=${danger ? "danger" : "main"} onClick=${() => done(true)}>${yes}</button>
    </div>
  `;
  return (await ask(title, /** @type {any} */ (body))) === true;
}

/** @param {{title: string, onClose: () => void, children?: unknown}} props */
export function Dialog({ title, onClose, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} aria-label=${title} onCancel=${onClose}
    onClick=${(/** @type {MouseEvent} */ event) => event.target === dialog.current && onClose()}>
    <h2>${title}</h2>
    ${children}
  </dialog>`;
}
