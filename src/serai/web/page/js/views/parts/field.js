// What all views share that ask: fields, buttons, and answers that take their time.
import { html, useEffect, useState } from "../preact.js";

const PHONE = matchMedia("(max-width: 35rem), (hover: none) and (pointer: coarse)");

/** Whether the page is on a phone: there Enter is a new line, and what cannot be undone needs a long press. */
export const isPhone = () => PHONE.matches;

/** A listener that hands on what stands in its field. @param {(text: string) => void} take */
export const typing = (take) => (/** @type {Event} */ event) =>
  take(/** @type {HTMLInputElement} */ (event.currentTarget).value);

/** The `ref` of a field that someone has just opened in order to write. @param {HTMLElement | null} field */
export const focused = (field) => field?.focus();

export function focusComposer() {
  if (!isPhone()) document.getElementById("composer")?.focus();
}

/**
 * A button that is off while it works.
 * @param {{run: () => Promise<unknown>, class?: string, label?: string, title?: string, children?: unknown}} props
 */
export function Busy({ run, class: name, label, title, children }) {
  const [isBusy, setBusy] = useState(false);
  const begin = () => {
    setBusy(true);
    void run().finally(() => setBusy(false));
  };
  return html`<button class=${name} title=${title} aria-label=${label} disabled=${isBusy} onClick=${begin}>
    ${children}
  </button>`;
}

/**
 * What was answered last, or why nothing was. Asked again when a dependency is another, after a pause in ms.
 * @template T @param {() => Promise<T> | null} ask @param {readonly unknown[]} dependencies @param {number} [pause]
 */
export function useAnswer(ask, dependencies, pause = 0) {
  const [answer, setAnswer] = useState({
    value: /** @type {T | null} */ (null),
    problem: /** @type {Error | null} */ (null),
  });
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(() => {
      const asked = ask() ?? Promise.resolve(null);
      asked.then(
        (value) => isWanted && setAnswer({ value, problem: null }),
        (problem) => isWanted && setAnswer({ value: null, problem }),
      );
    }, pause);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, dependencies);
  return answer;
}
