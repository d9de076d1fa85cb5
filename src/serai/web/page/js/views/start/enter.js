// What a browser sees that has no token: how to get a link.
import { typing } from "../parts/field.js";
import { html, useState } from "../preact.js";

/** @param {{problem: string | null, onLink: (link: string) => void}} props */
export function Enter({ problem, onLink }) {
  const [link, setLink] = useState("");
  /** @param {Event} event */
  const enter = (event) => {
    event.preventDefault();
    onLink(link.trim());
  };
  return html`<main class="enter stack">
    <img src=${new URL("../../../icons/serai.svg", import.meta.url).href} width="48" height="48" alt="" />
    <h1>Serai</h1>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <p>This browser has no key to the host yet. On the machine where Serai runs, type</p>
    <pre>serai</pre>
    <p>It opens this page with a link that works once. For a phone, <code>serai pair</code> shows one to scan.</p>
    <form class="row" onSubmit=${enter}>
      <input class="grow" aria-label="One-time link" placeholder="Or paste the link here" value=${link}
        onInput=${typing(setLink)} />
      <button class="main" disabled=${!link.trim()}>Open</button>
    </form>
  </main>`;
}
