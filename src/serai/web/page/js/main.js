// The page begins here: it takes a one-time link out of the address, connects, and draws.
import { Host } from "./host/host.js";
import { Relay } from "./host/relay.js";
import { Routes } from "./host/routes.js";
import { page } from "./page.js";
import { App } from "./views/app.js";
import { html, render } from "./views/preact.js";
import { Enter } from "./views/start/enter.js";

const TOKEN = "serai.token";

// Browsers offer this only to pages that come over TLS or from this machine; the phone at home is neither.
crypto.randomUUID ??= () => {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const pieces = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)];
  return /** @type {ReturnType<typeof crypto.randomUUID>} */ (pieces.join("-"));
};

/** Begin: with the token that this browser has, with one for a link, or by asking for a link. */
async function begin() {
  const place = /** @type {HTMLElement} */ (document.getElementById("page"));
  /** @param {unknown} view */
  const draw = (view) => {
    place.replaceChildren(); // "Opening…" is over
    render(view, place);
  };
  const code = /^#link=([\w-]+)$/.exec(location.hash)?.[1];
  // The code leaves the address before anything else happens: it belongs into no history.
  if (code) history.replaceState(null, "", "/#/");
  const problem = code ? await spend(code) : null;
  if (!localStorage.getItem(TOKEN) && (problem || !(await isOpen()))) {
    draw(html`<${Enter} problem=${problem} onLink=${enterWith} />`);
    return;
  }
  const token = localStorage.getItem(TOKEN);
  page.routes = new Routes({ base: location.origin, token });
  page.host = new Host({ base: location.origin, token, clientId: clientId() });
  page.relay = new Relay({ base: location.origin, token });
  page.host.start();
  page.relay.start();
  draw(html`<${App} onForget=${forget} />`);
  navigator.serviceWorker?.register("/service-worker.js").catch(() => {}); // the page works without one
}

/** Trade a one-time code for a token of this browser. Returns what went wrong, or null. @param {string} code */
async function spend(code) {
  try {
    const answer = await fetch("/link", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code, name: browserName(), has: localStorage.getItem(TOKEN) ?? "" }),
    });
    const body = await answer.json();
    if (!answer.ok) return `${body.message}. ${body.remedy ?? ""}`;
    localStorage.setItem(TOKEN, body.token);
    return null;
  } catch {
    return "The host does not answer. Is it still running?";
  }
}

/** Whether the host lets everyone in who reaches it. */
async function isOpen() {
  const answer = await fetch("/readyz").catch(() => null);
  return answer !== null && answer.status !== 401;
}

/** @param {string} link */
function enterWith(link) {
  const code = /(?:#link=)?([\w-]+)\s*$/.exec(link)?.[1];
  if (!code) return;
  location.hash = `#link=${code}`;
  location.reload();
}

/** The token is not valid any more: this browser needs a new link. */
function forget() {
  localStorage.removeItem(TOKEN);
  location.reload();
}

/** Who this window is to the host: stable over reloads, another for each window. */
function clientId() {
  const kept = sessionStorage.getItem("serai.client");
  // A window that was duplicated has a copy of the storage: it must not speak under the same name.
  const isCopy = kept !== null && performance.getEntriesByType("navigation")[0]?.toJSON().type === "navigate";
  const id = kept === null || isCopy ? `page-${crypto.randomUUID()}` : kept;
  sessionStorage.setItem("serai.client", id);
  return id;
}

/** A name for the list of devices: which browser, on which system. */
function browserName() {
  const agent = navigator.userAgent;
  const browser = ["Firefox", "Edg", "Chrome", "Safari"].find((one) => agent.includes(one)) ?? "Browser";
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac", "Linux"].find((one) => agent.includes(one));
  return [browser === "Edg" ? "Edge" : browser, system].filter(Boolean).join(" on ");
}

await begin();
