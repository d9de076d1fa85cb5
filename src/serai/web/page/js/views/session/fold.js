// A line that opens.
import { Icon } from "../parts/icon.js";
import { html, useId } from "../preact.js";

/**
 * A line with a sign before it. What is inside is in the document only while it is open.
 * @param {{class?: string, title: unknown, isOpen: boolean, onToggle: () => void, children?: unknown}} props
 */
export function Fold({ class: name = "", title, isOpen, onToggle, children }) {
  const id = useId();
  return html`<div class=${`fold ${name}`}>
    <button class="quiet head" aria-expanded=${isOpen} aria-controls=${isOpen && children ? id : undefined}
      onClick=${onToggle}>
      <${Icon} name=${isOpen ? "down" : "right"} size=${12} />${title}
    </button>
    ${isOpen && children && html`<div class="inside" id=${id}>${children}</div>`}
  </div>`;
}
