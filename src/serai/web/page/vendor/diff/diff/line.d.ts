// Typed as far as the page uses it.
export interface Change {
  value: string;
  added?: boolean;
  removed?: boolean;
}
/** Undefined when it took longer than `timeout`, in ms. */
export function diffLines(before: string, after: string, options?: { timeout?: number }): Change[] | undefined;
