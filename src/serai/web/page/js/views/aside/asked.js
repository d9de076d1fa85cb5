// What the relay and the routes answer, as hooks: asked when a view is there, and again when it may have changed.
import { page } from "../../page.js";
import { useEffect, useRef, useState } from "../preact.js";

/** @typedef {import("../../host/relay.js").RelayEvent} RelayEvent */
/** @typedef {import("../../host/relay.js").Agent} Agent */

/** Many events come together: what they change is asked for once. */
const GATHER = 200;

/**
 * An answer that is kept up to date while the view is there. The last one stays until the next has come.
 * @template T
 * @param {() => Promise<T>} ask
 * @param {unknown[]} dependencies ask anew, and forget what was answered, when one of them is another
 * @param {{types?: string[], concerns?: (event: RelayEvent) => boolean}} [after] events after which to ask again
 * @returns {{value: T | null, problem: any, again: () => void}}
 */
export function useAsked(ask, dependencies, { types = [], concerns = () => true } = {}) {
  const [answer, setAnswer] = useState(/** @type {{value: T | null, problem: any}} */ ({ value: null, problem: null }));
  const again = useRef(() => {});
  useEffect(() => {
    let isOver = false;
    let isAsking = false;
    let isStale = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const run = async () => {
      // One question at a time, so that an older answer never comes last.
      if (isAsking) {
        isStale = true;
        return;
      }
      isAsking = true;
      do {
        isStale = false;
        try {
          const value = await ask();
          if (!isOver) setAnswer({ value, problem: null });
        } catch (problem) {
          if (!isOver) setAnswer((before) => ({ value: before.value, problem }));
        }
      } while (isStale && !isOver);
      isAsking = false;
    };
    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(run, GATHER);
    };
    setAnswer({ value: null, problem: null });
    again.current = run;
    const ends = types.map((type) => page.relay.on(type, (event) => concerns(event) && soon()));
    let wasLost = false;
    // What happened while the connection was lost is not told again in every case.
    ends.push(
      page.relay.connection.subscribe((state) => {
        if (state === "open" && wasLost) soon();
        wasLost = state !== "open";
      }),
    );
    void run();
    return () => {
      isOver = true;
      clearTimeout(timer);
      for (const end of ends) end();
    };
  }, dependencies);
  return { ...answer, again: () => again.current() };
}

/**
 * Do something on the host; what is refused is told as a notice. Resolves with the answer, or null.
 * @param {string} method
 * @param {object} params
 * @returns {Promise<any>}
 */
export async function act(method, params) {
  try {
    return (await page.relay.call(method, params)) ?? {};
  } catch (error) {
    page.host.notify(/** @type {Error} */ (error));
    return null;
  }
}

/**
 * Who a session is in the relay.
 * @param {string | null} uri
 * @returns {Agent | undefined}
 */
export function agentOf(uri) {
  return uri === null ? undefined : page.relay.agents.value.find((agent) => agent.session === uri);
}

/**
 * The agent of an identity, by its id or its handle.
 * @param {string} id
 * @returns {Agent | undefined}
 */
export function agentById(id) {
  return page.relay.agents.value.find(({ identity }) => identity.id === id || identity.handle === id);
}

/**
 * How someone is written: by the handle that is known, else by the name.
 * @param {{id: string, name: string}} sender
 */
export function handleOf(sender) {
  return agentById(sender.id)?.identity.handle ?? `@${sender.name.trim().replace(/\s+/g, "-")}`;
}

/**
 * The path of a session below the routes.
 * @param {string} uri
 * @param {string} what
 */
export function routeOf(uri, what) {
  return `/sessions/${encodeURIComponent(uri)}/${what}`;
}
