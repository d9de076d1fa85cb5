// How the page writes times, sizes, money and paths.

/** How long ago, in one short word: `now`, `5 min`, `3 h`, `2 d`. @param {number} then in ms @param {number} now */
export function since(then, now) {
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  if (seconds < 10) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** A time of day, with the date when it was not today. @param {number | string | Date} at */
export function moment(at) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return isToday ? time : `${date.toLocaleDateString([], { month: "short", day: "numeric" })} ${time}`;
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** @param {number} count */
export function short(count) {
  if (count < 1000) return String(count);
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)}k`;
  return `${(count / 1e6).toFixed(1)}M`;
}

/** @param {number} amount @param {string} [currency] */
export function money(amount, currency = "USD") {
  const digits = amount !== 0 && amount < 0.1 ? 4 : 2;
  try {
    return amount.toLocaleString([], { style: "currency", currency, minimumFractionDigits: digits });
  } catch {
    return `${amount.toFixed(digits)} ${currency}`; // a currency that nobody knows
  }
}

/** The path of a `file:` URI; anything else as it is. @param {string | undefined | null} uri */
export function pathOf(uri) {
  if (!uri) return "";
  if (!uri.startsWith("file://")) return uri;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return uri;
  }
}

/** The last part of a path or a URI. @param {string | undefined | null} path */
export function nameOf(path) {
  return pathOf(path).replace(/\/+$/, "").split("/").pop() ?? "";
}

/** @param {string | {markdown: string} | undefined | null} text */
export function plain(text) {
  return typeof text === "string" ? text : (text?.markdown ?? "");
}
