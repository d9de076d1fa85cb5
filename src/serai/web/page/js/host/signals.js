// Signals without preact: the model runs where there is no page, too.
export { batch, computed, effect, signal } from "../../vendor/signals-core.js";
