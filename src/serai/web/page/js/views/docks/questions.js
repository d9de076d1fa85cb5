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
  /** @param {readonly InputQuestion[]} some @returns {Record<string, Entry>} */
  const entriesOf = (some) => Object.fromEntries(some.map((one) => [one.id, entryOf(one, request.answers?.[one.id])]));
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const [entries, setEntries] = useState(() => entriesOf(questions));
  const [left, setLeft] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
  const { send, isWaiting, flush } = useDrafts(uri, request.id);

  // What another window writes appears here, except where this one is just being written in.
  useEffect(() => {
    const told = questions.filter(({ id }) => request.answers?.[id] && !isWaiting(id));
    setEntries((before) => ({ ...before, ...entriesOf(told) }));
  }, [request.answers]);

  /** @param {InputQuestion} question @param {Entry} entry */
  const changed = (question, entry) => {
    setEntries((before) => ({ ...before, [question.id]: entry }));
    send(question, entry);
  };
  /** @param {"accept" | "decline"} response @param {object} [answers] */
  const complete = (response, answers) => {
    flush();
    void page.host.dispatch(uri, { type: "session/inputCompleted", requestId: request.id, response, ...answers });
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
    const given = questions.map((question) => [question.id, answerOf(question, entries[question.id] ?? EMPTY)]);
    complete("accept", questions.length ? { answers: Object.fromEntries(given) } : {});
  };
  return html`<form ref=${form} novalidate onSubmit=${submit}>
    ${request.message && html`<div class="asked"><${Markdown} text=${request.message} /></div>`}
    ${request.url && html`<${Address} url=${request.url} />`}
    ${questions.map((question) => {
      const entry = entries[question.id] ?? EMPTY;
      return html`<${Question} key=${question.id} question=${question} entry=${entry}
        problem=${left.has(question.id) ? problemOf(question, entry) : null}
        onChange=${(/** @type {Entry} */ next) => changed(question, next)}
        onLeave=${() => valueOf(question, entry) && setLeft((before) => new Set([...before, question.id]))} />`;
    })}
    <div class="row wrap answers">
      <button type="submit" class="main">${questions.length ? "Send answers" : "Done"}</button>
      <button type="button" onClick=${() => complete("decline")}>Decline</button>
    </div>
  </form>`;
}

/** @type {Entry} */
const EMPTY = { text: "", chosen: [] };

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
  return html`<p class="cut">
    ${isWeb ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${url}</a>` : html`<code>${url}</code>`}
  </p>`;
}
