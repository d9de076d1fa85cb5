export type { ReadonlySignal, Signal } from "../views/preact.d.ts";
export { batch, computed, effect, signal, untracked } from "../views/preact.d.ts";
