// Everything that views take from preact, its hooks, signals and htm: one place, so that no view knows a vendor.
import { h, render } from "../../vendor/preact.js";
import { useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/hooks.js";
import htm from "../../vendor/htm.js";

export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "../../vendor/signals.js";
export { h, memo, render, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState };
export const html = htm.bind(h);

/** Draws a component again only when one of its properties is another object. */
function memo(component) {
  return function Memo(props) {
    const kept = useRef(null);
    const before = kept.current;
    const names = Object.keys(props);
    const same =
      before !== null &&
      names.length === Object.keys(before.props).length &&
      names.every((name) => Object.is(props[name], before.props[name]));
    // preact leaves a tree alone whose root is the same object as before.
    if (!same) kept.current = { props, drawn: h(component, props) };
    return kept.current.drawn;
  };
}
