// A button with a menu of things to do.
import { html, useEffect, useId, useRef, useState } from "../preact.js";
import { Icon } from "./icon.js";

/** @import {IconName} from "./icon.js" */
/** @typedef {{label: string, run: () => void, icon?: IconName, danger?: boolean, checked?: boolean}} MenuItem */

/**
 * A menu: arrows move, Enter chooses, Escape closes. What it offers may depend on when it is opened.
 * @param {{label: string, items: MenuItem[] | (() => MenuItem[]), icon?: IconName, text?: string}} props
 */
export function Menu({ label, items, icon = "more", text }) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    if (!isOpen) return undefined;
    /** @type {HTMLElement | null | undefined} */ (place.current?.querySelector("[role^=menuitem]"))?.focus();
    /** @param {Event} event */
    const leave = (event) => {
      if (!place.current?.contains(/** @type {Node} */ (event.target))) setOpen(false);
    };
    addEventListener("pointerdown", leave);
    return () => removeEventListener("pointerdown", leave);
  }, [isOpen]);

  /** @param {KeyboardEvent} event */
  const moved = (event) => {
    const choices = /** @type {HTMLElement[]} */ ([...(place.current?.querySelectorAll("[role^=menuitem]") ?? [])]);
    const at = choices.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choices[(at + step + choices.length) % choices.length]?.focus();
    else if (event.key === "Escape") {
      setOpen(false);
      place.current?.querySelector("button")?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<span class="menu" ref=${place} onKeyDown=${isOpen ? moved : undefined}>
    <button class=${text ? "quiet" : "icon quiet"} title=${label} aria-label=${text ? undefined : label}
      aria-haspopup="menu" aria-expanded=${isOpen} aria-controls=${isOpen ? id : undefined}
      onClick=${() => setOpen(!isOpen)}>
      ${text && html`<span class="cut">${text}</span>`}<${Icon} name=${text ? "down" : icon} />
    </button>
    ${isOpen && html`<div class="popup" role="menu" id=${id} aria-label=${label}>
      ${(typeof items === "function" ? items() : items).map((item) => html`<button
        role=${item.checked === undefined ? "menuitem" : "menuitemradio"}
        aria-checked=${item.checked}
        class=${item.danger ? "quiet danger" : "quiet"}
        onClick=${() => {
          setOpen(false);
          item.run();
        }}
      >
        ${item.checked !== undefined && html`<span class="tick">${item.checked ? "✓" : ""}</span>`}
        ${item.icon && html`<${Icon} name=${item.icon} />`} ${item.label}
      </button>`)}
    </div>`}
  </span>`;
}
