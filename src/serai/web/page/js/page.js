// What every view of this page shares: the host, its relay, and where the person is.
import { computed, signal } from "./views/preact.js";

/** @typedef {import("./host/host.js").Host} Host */
/** @typedef {import("./host/relay.js").Relay} Relay */
/** @typedef {import("./host/routes.js").Routes} Routes */

/**
 * The one host, its relay and its HTTP routes. `main.js` fills it in before anything is drawn.
 * @type {{host: Host, relay: Relay, routes: Routes}}
 */
export const page = /** @type {any} */ ({ host: null, relay: null, routes: null });

// -- where the person is: the address's fragment, `#/session/ID` or `#/` ---------------------------------

const fragment = signal(location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));

/** The URI of the session that is open, or null on the start screen. */
export const openSession = computed(() => {
  const match = /^#\/(session|run)\/(.+)$/.exec(fragment.value);
  if (!match) return null;
  const scheme = match[1] === "run" ? "serai-run" : "ahp-session";
  return `${scheme}:/${decodeURIComponent(match[2] ?? "")}`;
});

/** The address of a session in this page. @param {string} uri */
export function addressOf(uri) {
  const kind = uri.startsWith("serai-run:") ? "run" : "session";
  return `#/${kind}/${encodeURIComponent(uri.replace(/^[a-z-]+:\/*/, ""))}`;
}

/** Go to a session, or with null to the start screen. @param {string | null} uri */
export function goTo(uri) {
  location.hash = uri === null ? "#/" : addressOf(uri);
  showCentre();
}

// -- what is shown beside the session -----------------------------------------------------------------------

/** On a phone one of these is on screen: the list of sessions, the session, or what is beside it. */
export const shownOnPhone = signal(/** @type {"sessions" | "session" | "aside"} */ ("sessions"));

/** Show the session, or the start screen: also on a phone. */
export function showCentre() {
  shownOnPhone.value = "session";
}

/** The tab at the right, and something for it to point at: a file, a room, a delivery. */
export const aside = signal({ tab: "changes", at: /** @type {any} */ (null) });

/** Open a tab at the right. @param {string} tab @param {any} [at] */
export function showAside(tab, at = null) {
  aside.value = { tab, at };
  shownOnPhone.value = "aside";
}

/** Whether the palette is open (Ctrl K). */
export const isPaletteOpen = signal(false);

/** What was asked for. A refusal is told to the person, and brings null. @template T @param {Promise<T>} asked */
export function told(asked) {
  return asked.catch((error) => {
    page.host.notify(error);
    return null;
  });
}

/** Make a session, and go to it. Rejects with what the host says. @param {object} how */
export async function newSession(how) {
  const uri = `ahp-session:/${crypto.randomUUID()}`;
  await page.host.request("createSession", { channel: uri, ...how });
  goTo(uri);
  return uri;
}
