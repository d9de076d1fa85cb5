// What someone types into a field, or chooses in it.

/**
 * A listener that hands on what stands in its field. @param {(text: string) => void} take
 * @returns {(event: Event) => void}
 */
export function typing(take) {
  return (event) => take(/** @type {HTMLInputElement} */ (event.currentTarget).value);
}
