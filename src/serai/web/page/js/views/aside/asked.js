// What the host answers, as a hook; and who is who in the relay.
import { page } from "../../page.js";
import { useEffect, useState } from "../preact.js";

/** @import {Agent} from "../../host/relay.js" */
/**
 * @template T
 * @typedef {{value: T | null, problem: Error | null}} Answer
 */

/** Many events come together: what they change is asked for once. */
const GATHER = 200;

/**
 * An answer that is kept up to date while the view is there. The last one stays until the next has come.
 * @template T
 * @param {() => Promise<T>} ask
 * @param {unknown[]} dependencies ask anew when one of them is another
 * @param {string[]} [types] events of the relay after which to ask again
 */
export function useAsked(ask, dependencies, types = []) {
  const [answer, setAnswer] = useState(/** @type {Answer<T>} */ ({ value: null, problem: null }));
  useEffect(() => {
    let [asked, shown] = [0, 0];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const run = async () => {
      timer = undefined;
      const mine = (asked += 1);
      const next = await ask().then(
        (value) => ({ value, problem: null }),
        (problem) => ({ problem }),
      );
      if (mine < shown) return; // an older answer never comes last
      shown = mine;
      setAnswer((before) => ({ ...before, ...next }));
    };
    const soon = () => (timer ??= setTimeout(run, GATHER));
    const ends = types.map((type) => page.relay.on(type, soon));
    // What happened while the connection was lost is not told again in every case.
    let wasOpen = true;
    const follow = (/** @type {string} */ state) => {
      if (state === "open" && !wasOpen) soon();
      wasOpen = state === "open";
    };
    ends.push(page.relay.connection.subscribe(follow));
    void run();
    return () => {
      shown = Infinity;
      clearTimeout(timer);
      for (const end of ends) end();
    };
  }, dependencies);
  return answer;
}

/**
 * What comes of it; null where it was refused, which is told as a notice.
 * @template T
 * @param {Promise<T>} doing
 * @returns {Promise<T | null>}
 */
export async function attempt(doing) {
  try {
    return (await doing) ?? /** @type {T} */ ({}); // not every answer has something in it
  } catch (error) {
    page.host.notify(/** @type {Error} */ (error));
    return null;
  }
}

/** Do something in the relay. Resolves with the answer, or null. @param {string} method @param {object} params */
export function act(method, params) {
  return attempt(page.relay.call(method, params));
}

/** Who a session is in the relay. @param {string | null} uri @returns {Agent | undefined} */
export function agentOf(uri) {
  return uri === null ? undefined : page.relay.agents.value.find((agent) => agent.session === uri);
}

/** @param {string} id of an identity @returns {Agent | undefined} */
export function agentById(id) {
  return page.relay.agents.value.find(({ identity }) => identity.id === id || identity.handle === id);
}

/** How someone is written: by the handle that is known, else by the name. @param {{id: string, name: string}} sender */
export function handleOf(sender) {
  return agentById(sender.id)?.identity.handle ?? `@${sender.name.trim().replace(/\s+/g, "-")}`;
}

/** The path of a session below the routes. @param {string} uri @param {string} what */
export function routeOf(uri, what) {
  return `/sessions/${encodeURIComponent(uri)}/${what}`;
}
