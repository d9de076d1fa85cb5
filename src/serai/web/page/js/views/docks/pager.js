// "1 of N": things that wait for an answer, one at a time.
import { focusComposer } from "../parts/field.js";
import { IconButton } from "../parts/icon.js";
import { html, useEffect, useRef, useState } from "../preact.js";

/**
 * Shows one of several. Left and right arrows go through them, unless someone writes. After an answer that was given
 * from the keyboard the focus goes to the next one, or back to the composer. @template T
 * @param {{items: readonly T[], idOf: (item: T) => string, label: string, name: string, children?: any}} props
 */
export function Pager({ items, idOf, label, name, children }) {
  const [chosen, choose] = useState(/** @type {string | null} */ (null));
  const dock = useRef(/** @type {HTMLElement | null} */ (null));
  const hadFocus = useRef(false);
  const at = Math.max(0, items.findIndex((item) => idOf(item) === chosen));
  const item = /** @type {T} */ (items[at]);
  useEffect(() => {
    if (!hadFocus.current || dock.current?.contains(document.activeElement)) return;
    const first = dock.current?.querySelector("[data-first], input, button.main");
    /** @type {HTMLElement | null | undefined} */ (first)?.focus();
  }, [idOf(item)]);
  useEffect(() => () => void (hadFocus.current && focusComposer()), []);

  /** @param {number} step */
  const go = (step) => choose(idOf(/** @type {T} */ (items[(at + step + items.length) % items.length])));
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || items.length < 2 || /** @type {Element} */ (event.target).matches("input, textarea, select")) return;
    event.preventDefault();
    go(step);
  };
  /** @param {FocusEvent} event */
  const left = (event) => {
    // A button that goes away with its answer leaves the focus to nobody.
    if (event.relatedTarget) hadFocus.current = false;
  };
  return html`<section class="dock card ${name}" ref=${dock}
    aria-label=${items.length > 1 ? `${label}, ${at + 1} of ${items.length}` : label}
    onKeyDown=${pressed} onFocusIn=${() => (hadFocus.current = true)} onFocusOut=${left}>
    ${items.length > 1 && html`<div class="pages row small">
      <span>${label} <b>${at + 1} of ${items.length}</b></span>
      <${IconButton} name="back" label="Previous" onClick=${() => go(-1)} />
      <${IconButton} name="right" label="Next" onClick=${() => go(1)} />
    </div>`}
    ${(Array.isArray(children) ? children[0] : children)(item)}
  </section>`;
}
