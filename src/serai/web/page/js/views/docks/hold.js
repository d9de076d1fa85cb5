// A button that does something only when it is held: for what cannot be undone, on a phone.
import { html, useEffect, useRef, useState } from "../preact.js";

/** How long it has to be held, in ms. The style sheet's bar takes as long. */
const LONG = 600;

/**
 * A button that is pressed (`isHeld` false), or held with a finger, the mouse or Enter. Whoever can do neither, as
 * with a screen reader, presses it twice. @param {object} props @param {string} props.label
 * @param {boolean} props.isHeld @param {() => void} props.onDone @param {string} [props.kind]
 * @param {boolean} [props.disabled] @param {boolean} [props.isFirst]
 */
export function HoldButton({ label, isHeld, onDone, kind = "", disabled = false, isFirst = false }) {
  const [phase, setPhase] = useState(/** @type {"idle" | "held" | "short" | "asked"} */ ("idle"));
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => clearTimeout(timer.current), []);
  const first = isFirst ? { "data-first": true } : {};
  if (!isHeld) {
    return html`<button type="button" class=${kind} disabled=${disabled} ...${first} onClick=${onDone}>
      ${label}
    </button>`;
  }
  const begin = () => {
    clearTimeout(timer.current);
    setPhase("held");
    timer.current = setTimeout(() => {
      setPhase("idle");
      onDone();
    }, LONG);
  };
  const leave = () => {
    clearTimeout(timer.current);
    setPhase((now) => (now === "held" ? "short" : now));
  };
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (!event.repeat) begin();
  };
  /** @param {MouseEvent} event */
  const clicked = (event) => {
    if (event.detail > 0) return; // a finger or the mouse: how long it stays decides
    if (phase !== "asked") setPhase("asked");
    else onDone();
  };
  const told = { idle: `Hold: ${label}`, held: `${label}…`, short: `Hold: ${label}`, asked: `Press again: ${label}` }[phase];
  return html`<button type="button" class="hold ${kind}" data-phase=${phase} disabled=${disabled}
    aria-describedby="hold-hint" ...${first} onPointerDown=${begin} onPointerUp=${leave} onPointerLeave=${leave}
    onPointerCancel=${leave} onContextMenu=${(/** @type {Event} */ event) => event.preventDefault()}
    onKeyDown=${pressed} onKeyUp=${leave} onClick=${clicked}>
    <span>${told}</span>
  </button>`;
}
