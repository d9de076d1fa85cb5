// Typed as far as the page uses it.
import type { Change } from "./line.js";
export function diffWordsWithSpace(before: string, after: string): Change[];
