// The fields of a question: one for each kind, with what is wrong beside it.
import { typing } from "../composer/typing.js";
import { html, useId } from "../preact.js";

/** @import {InputOption, InputQuestion} from "../../ahp/types.d.ts" */
/** @import {Entry} from "./answers.js" */

/**
 * @typedef {object} FieldProps
 * @property {InputQuestion} question
 * @property {Entry} entry
 * @property {string | null} problem
 * @property {(entry: Entry) => void} onChange
 * @property {() => void} onLeave when the person is done with it
 */

/** A question with its field. @param {FieldProps} props */
export function Question({ question, entry, problem, onChange, onLeave }) {
  const id = useId();
  const isChoice = ["boolean", "single-select", "multi-select"].includes(question.kind);
  const described = problem ? `${id}-problem` : undefined;
  const field = { question, entry, onChange, id, described };
  return html`<fieldset class="question" data-question=${question.id} data-skipped=${entry.isSkipped || undefined}
    aria-describedby=${isChoice ? described : undefined} onFocusOut=${onLeave}>
    <legend>${question.title ?? question.message}</legend>
    ${isChoice
      ? html`<p class="ask" hidden=${!question.title}>${question.message}<${Need} question=${question} /></p>`
      : html`<label class="ask" for=${id}>${question.message}<${Need} question=${question} /></label>`}
    ${!entry.isSkipped && html`<${FIELDS[question.kind] ?? Unknown} ...${field} />`}
    ${problem && !entry.isSkipped && html`<p class="wrong small" id=${`${id}-problem`}>${problem}</p>`}
    ${!question.required &&
    html`<button type="button" class="quiet pass small" aria-pressed=${Boolean(entry.isSkipped)}
      onClick=${() => onChange({ text: "", chosen: [], isSkipped: !entry.isSkipped })}>
      ${entry.isSkipped ? "Answer it after all" : "Skip"}
    </button>`}
  </fieldset>`;
}

/** What a person should know before they answer. @param {{question: InputQuestion}} props */
function Need({ question }) {
  const { min, max } = /** @type {{min?: number, max?: number}} */ (question);
  const unit = { text: " characters", "multi-select": " choices" }[/** @type {string} */ (question.kind)] ?? "";
  const bounds =
    min !== undefined && max !== undefined
      ? `${min} to ${max}${unit}`
      : min !== undefined
        ? `at least ${min}${unit}`
        : max !== undefined && `at most ${max}${unit}`;
  const told = [question.required && "required", bounds].filter(Boolean).join(", ");
  return told ? html` <span class="faint small">(${told})</span>` : null;
}

/** @typedef {Pick<FieldProps, "question" | "entry" | "onChange"> & {id: string, described?: string}} InnerProps */

/** @param {InnerProps} props */
function TextField({ question, entry, onChange, id, described }) {
  const { format } = /** @type {{format?: string}} */ (question);
  const shared = {
    id,
    value: entry.text,
    "aria-required": Boolean(question.required),
    "aria-invalid": described !== undefined,
    "aria-describedby": described,
    onInput: typing((text) => onChange({ text, chosen: [] })),
  };
  if (question.kind !== "text") {
    const mode = question.kind === "integer" ? "numeric" : "decimal";
    return html`<input type="text" class="short" inputmode=${mode} autocomplete="off" ...${shared} />`;
  }
  const type = { email: "email", uri: "url" }[format ?? ""];
  if (format) return html`<input type=${type ?? "text"} placeholder=${HINTS[format]} ...${shared} />`;
  return html`<textarea rows=${Math.min(6, entry.text.split("\n").length)} ...${shared}></textarea>`;
}

/** @type {Record<string, string>} */
const HINTS = { email: "name@example.com", uri: "https://…", date: "2001-02-28", "date-time": "2001-02-28T12:30Z" };

const YES_NO = [
  { id: "yes", label: "Yes" },
  { id: "no", label: "No" },
];

/** @param {InnerProps} props */
function Choices({ question, entry, onChange, id }) {
  const isMany = question.kind === "multi-select";
  const { options = /** @type {InputOption[]} */ (YES_NO), allowFreeformInput = false } =
    /** @type {{options?: InputOption[], allowFreeformInput?: boolean}} */ (question);
  /** @param {string} choice @param {boolean} isOn */
  const choose = (choice, isOn) => {
    const others = isMany ? entry.chosen.filter((one) => one !== choice) : [];
    // One answer is wanted: a choice takes the place of what was written, and the other way round.
    onChange({ text: isMany ? entry.text : "", chosen: isOn ? [...others, choice] : others });
  };
  return html`<div class="choices" data-row=${question.kind === "boolean" || undefined}>
    ${options.map((option) => html`<label class="choice" key=${option.id}>
      <input
        type=${isMany ? "checkbox" : "radio"}
        name=${id}
        checked=${entry.chosen.includes(option.id)}
        onChange=${(/** @type {Event} */ event) =>
          choose(option.id, /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
      />
      <span>
        ${option.label} ${option.recommended && html`<span class="badge small">recommended</span>`}
        ${option.description && html`<span class="faint small block">${option.description}</span>`}
      </span>
    </label>`)}
    ${allowFreeformInput && html`<label class="own">
      <span class="small faint">${isMany ? "Something else (one on each line)" : "Something else"}</span>
      <textarea rows=${isMany ? Math.min(5, entry.text.split("\n").length) : 1} value=${entry.text}
        onInput=${typing((value) => onChange({ text: value, chosen: isMany || !value.trim() ? entry.chosen : [] }))}
      ></textarea>
    </label>`}
  </div>`;
}

function Unknown() {
  return html`<p class="problem">This page does not know this kind of question. Skip it, or use a newer page.</p>`;
}

/** @type {Record<string, unknown>} */
const FIELDS = {
  text: TextField,
  number: TextField,
  integer: TextField,
  boolean: Choices,
  "single-select": Choices,
  "multi-select": Choices,
};
