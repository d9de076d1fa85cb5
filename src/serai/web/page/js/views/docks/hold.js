// A button that does something only when it is held: for what cannot be undone, on a phone.
import { html, useEffect, useRef, useState } from "../preact.js";

/** How long it has to be held, in ms. The style sheet's bar takes as long. */
const LONG = 600;
const WORDS = { idle: "Hold: ", held: "", short: "Hold: ", asked: "Press again: " };

/**
 * A button that is pressed (`isHeld` false), or held with a finger, the mouse or Enter. Whoever can do neither, as
 * with a screen reader, presses it twice.
 * @param {{label: string, isHeld: boolean, onDone: () => void, kind: string, disabled: boolean,
 *   isFirst: boolean}} props
 */
export function HoldButton({ label, isHeld, onDone, kind, disabled, isFirst }) {
  const [phase, setPhase] = useState(/** @type {keyof typeof WORDS} */ ("idle"));
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => clearTimeout(timer.current), []);
  const shared = { disabled, "data-first": isFirst || undefined };
  if (!isHeld) return html`<button class=${kind} ...${shared} onClick=${onDone}>${label}</button>`;
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
  return html`<button class="hold ${kind}" data-phase=${phase} aria-describedby="hold-hint" ...${shared}
    onPointerDown=${begin} onPointerUp=${leave} onPointerLeave=${leave} onPointerCancel=${leave}
    onContextMenu=${(/** @type {Event} */ event) => event.preventDefault()} onKeyDown=${pressed} onKeyUp=${leave}
    onClick=${clicked}>
    <span>${WORDS[phase]}${label}${phase === "held" && "…"}</span>
  </button>`;
}
