// The search over all that was said: messages of the relay, and turns of sessions.
import { addressOf, page, showAside } from "../../page.js";
import { html, useEffect, useState } from "../preact.js";

const PAUSE = 200;

/**
 * What was found for some words, newest rank first. @param {string} words
 * @returns {{hits: any[], isSearching: boolean}}
 */
export function useSearch(words) {
  const [hits, setHits] = useState(/** @type {any[]} */ ([]));
  const [isSearching, setSearching] = useState(false);
  useEffect(() => {
    if (words.length < 3) {
      setHits([]);
      return undefined;
    }
    let isCurrent = true;
    const timer = setTimeout(async () => {
      setSearching(true);
      const found = await page.relay.call("messages.search", { query: words, limit: 20 }).catch(() => ({ hits: [] }));
      if (isCurrent) {
        setHits(found.hits ?? []);
        setSearching(false);
      }
    }, PAUSE);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [words]);
  return { hits, isSearching };
}

/**
 * A hit in one line: who or where, and the words around. @param {any} hit
 * @returns {{title: string, text: string, href: string, run: () => void}}
 */
export function lineOf(hit) {
  if (hit.session) {
    const summary = page.host.summaries.value.get(hit.session);
    return { title: summary?.title || "Session", text: hit.text, href: addressOf(hit.session), run: () => {} };
  }
  const message = hit.message ?? {};
  return {
    title: message.room ?? "Message",
    text: message.text ?? "",
    href: location.hash || "#/",
    run: () => showAside("messages", { message: message.id, room: message.room }),
  };
}

/** @param {{words: string}} props */
export function Found({ words }) {
  const { hits, isSearching } = useSearch(words);
  return html`<section class="group" aria-live="polite">
    <h2 class="found">Said somewhere ${isSearching ? "…" : html`<span class="count">${hits.length}</span>`}</h2>
    <ul>
      ${hits.map((hit) => {
        const line = lineOf(hit);
        return html`<li class="session-row">
          <a href=${line.href} onClick=${line.run}>
            <span class="cut">${line.title}</span>
            <span class="small faint clamp">${line.text}</span>
          </a>
        </li>`;
      })}
    </ul>
  </section>`;
}
