// What the session asks: a form, whose drafts all windows share.
import { page } from "../../page.js";
import { Markdown } from "../parts/markdown.js";
import { html, useEffect, useRef, useState } from "../preact.js";
import { answerOf, entryOf, problemOf, valueOf } from "./answers.js";
import { Question } from "./fields.js";
import { Pager } from "./pager.js";

/** @import {InputAnswer, InputQuestion, InputRequest} from "../../ahp/types.d.ts" */
/** @import {Entry} from "./answers.js" */

/** So long a person has stopped writing when a draft goes to the other windows, in ms. */
const PAUSE = 300;

/** @param {{uri: string, requests: readonly InputRequest[]}} props */
export function Questions({ uri, requests }) {
  return html`<${Pager} items=${requests} idOf=${idOf} label="Question" name="questions">
    ${(/** @type {InputRequest} */ request) => html`<${RequestForm} key=${request.id} uri=${uri} request=${request} />`}
  <//>`;
}

/** @param {InputRequest} request */
const idOf = (request) => request.id;

/** @param {{uri: string, request: InputRequest}} props */
function RequestForm({ uri, request }) {
  const questions = request.questions ?? [];
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const [entries, setEntries] = useState(() => entriesOf(request));
  const [left, setLeft] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
  const { send, isWaiting, flush } = useDrafts(uri, request.id);

  // What another window writes appears here, except where this one is just being written in.
  useEffect(() => {
    setEntries((before) => {
      const now = { ...before };
      for (const question of questions) {
        const answer = request.answers?.[question.id];
        if (answer && !isWaiting(question.id)) now[question.id] = entryOf(question, answer);
      }
      return now;
    });
  }, [request.answers]);

  /** @param {InputQuestion} question @param {Entry} entry */
  const changed = (question, entry) => {
    setEntries((before) => ({ ...before, [question.id]: entry }));
    send(question, entry);
  };
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    setLeft(new Set(questions.map((question) => question.id)));
    const wrong = questions.find((question) => problemOf(question, entries[question.id] ?? EMPTY));
    if (wrong) {
      const field = form.current?.querySelector(`[data-question="${CSS.escape(wrong.id)}"]`);
      /** @type {HTMLElement | null | undefined} */ (field?.querySelector("input, textarea"))?.focus();
      return;
    }
    flush();
    const answers = Object.fromEntries(
      questions.map((question) => [question.id, answerOf(question, entries[question.id] ?? EMPTY)]),
    );
    const given = questions.length ? { answers } : {};
    void page.host.dispatch(uri, {
      type: "session/inputCompleted",
      requestId: request.id,
      response: "accept",
      ...given,
    });
  };
  const decline = () => {
    flush();
    void page.host.dispatch(uri, { type: "session/inputCompleted", requestId: request.id, response: "decline" });
  };
  return html`<form ref=${form} novalidate onSubmit=${submit}>
    ${request.message && html`<div class="asked"><${Markdown} text=${request.message} isSettled=${true} /></div>`}
    ${request.url && html`<${Address} url=${request.url} />`}
    ${questions.map((question) => {
      const entry = entries[question.id] ?? EMPTY;
      return html`<${Question} key=${question.id} question=${question} entry=${entry}
        problem=${left.has(question.id) ? problemOf(question, entry) : null}
        onChange=${(/** @type {Entry} */ next) => changed(question, next)}
        onLeave=${() => valueOf(question, entry) && setLeft((before) => new Set([...before, question.id]))} />`;
    })}
    <div class="row answers">
      <button type="submit" class="main">${questions.length ? "Send answers" : "Done"}</button>
      <button type="button" onClick=${decline}>Decline</button>
    </div>
  </form>`;
}

/** @type {Entry} */
const EMPTY = { text: "", chosen: [] };

/** @param {InputRequest} request */
function entriesOf(request) {
  /** @type {Record<string, Entry>} */
  const entries = {};
  for (const question of request.questions ?? []) {
    entries[question.id] = entryOf(question, request.answers?.[question.id]);
  }
  return entries;
}

/** Tell the other windows what is being written, once it rests. @param {string} uri @param {string} requestId */
function useDrafts(uri, requestId) {
  const timers = useRef(/** @type {Map<string, ReturnType<typeof setTimeout>>} */ (new Map()));
  const flush = () => {
    for (const timer of timers.current.values()) clearTimeout(timer);
    timers.current.clear();
  };
  useEffect(() => flush, []);
  /** @param {InputQuestion} question @param {Entry} entry */
  const send = (question, entry) => {
    clearTimeout(timers.current.get(question.id));
    const later = () => {
      timers.current.delete(question.id);
      const value = valueOf(question, entry);
      /** @type {InputAnswer | undefined} */
      const answer = entry.isSkipped ? { state: "skipped" } : value ? { state: "draft", value } : undefined;
      // A number that is half written is no answer yet; an empty field takes the answer back.
      if (!answer && entry.text.trim()) return;
      const action = { type: /** @type {const} */ ("session/inputAnswerChanged"), requestId, questionId: question.id };
      void page.host.dispatch(uri, answer ? { ...action, answer } : action);
    };
    timers.current.set(question.id, setTimeout(later, PAUSE));
  };
  /** @param {string} questionId */
  const isWaiting = (questionId) => timers.current.has(questionId);
  return { send, isWaiting, flush };
}

/** An address that the session wants to be looked at. Only the web is linked. @param {{url: string}} props */
function Address({ url }) {
  const isWeb = /^https?:\/\//i.test(url);
  return html`<p class="address">
    ${isWeb ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${url}</a>` : html`<code>${url}</code>`}
  </p>`;
}
