export type { ReadonlySignal, Signal } from "../views/preact.d.ts";
export { batch, computed, effect, signal } from "../views/preact.d.ts";
