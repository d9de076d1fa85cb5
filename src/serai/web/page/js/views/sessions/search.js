// The search over all that was said: messages of the relay, and turns of sessions.
import { addressOf, page, showAside } from "../../page.js";
import { useAnswer } from "../parts/field.js";
import { html } from "../preact.js";

const PAUSE = 200;

/**
 * What was found for some words, best first: who or where, and the words around.
 * @param {string} words @returns {{title: string, text: string, href: string, run: () => void}[]}
 */
export function useSearch(words) {
  const ask = () => (words.length < 3 ? null : page.relay.call("messages.search", { query: words, limit: 20 }));
  const hits = /** @type {any[]} */ (useAnswer(ask, [words], PAUSE).value?.hits ?? []);
  return hits.map(({ session, text, message = {} }) => {
    if (session) {
      const title = page.host.summaries.value.get(session)?.title || "Session";
      return { title, text, href: addressOf(session), run: () => {} };
    }
    const run = () => showAside("messages", { message: message.id, room: message.room });
    return { title: message.room ?? "Message", text: message.text ?? "", href: location.hash || "#/", run };
  });
}

/** @param {{words: string}} props */
export function Found({ words }) {
  const found = useSearch(words);
  return html`<section aria-live="polite">
    <h2 class="found">Said somewhere <span class="count">${found.length}</span></h2>
    <ul class="bare">
      ${found.map(({ title, text, href, run }) => html`<li class="session-row">
        <a class="stack" href=${href} onClick=${run}>
          <span class="cut">${title}</span>
          <span class="small faint clamp">${text}</span>
        </a>
      </li>`)}
    </ul>
  </section>`;
}
