// Whether the page is on a phone: there Enter is a new line, and what cannot be undone needs a long press.

const PHONE = matchMedia("(max-width: 35rem), (hover: none) and (pointer: coarse)");

export function isPhone() {
  return PHONE.matches;
}
