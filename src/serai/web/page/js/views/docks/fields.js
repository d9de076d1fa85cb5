// The fields of a question: one for each kind, with what is wrong beside it.
import { typing } from "../parts/field.js";
import { html, useId } from "../preact.js";

/** @import {InputOption, InputQuestion} from "../../ahp/types.d.ts" */
/** @import {Entry} from "./answers.js" */

/**
 * A question with its field. `onLeave` says that the person is done with it.
 * @param {{question: InputQuestion, entry: Entry, problem: string | null, onChange: (entry: Entry) => void,
 *   onLeave: () => void}} props
 */
export function Question({ question, entry, problem, onChange, onLeave }) {
  const id = useId();
  const Field = FIELDS[question.kind];
  const isChoice = Field === Choices;
  const described = problem ? `${id}-problem` : undefined;
  const told = [question.required && "required", boundsOf(question)].filter(Boolean).join(", ");
  const need = told && html` <span class="faint small">(${told})</span>`;
  return html`<fieldset class="question" data-question=${question.id} data-skipped=${entry.isSkipped || undefined}
    aria-describedby=${isChoice ? described : undefined} onFocusOut=${onLeave}>
    <legend>${question.title ?? question.message}</legend>
    ${isChoice
      ? html`<p class="ask" hidden=${!question.title}>${question.message}${need}</p>`
      : html`<label class="ask" for=${id}>${question.message}${need}</label>`}
    ${!Field && html`<p class="problem">This page does not know this kind of question: skip it.</p>`}
    ${Field && !entry.isSkipped && html`<${Field} ...${{ question, entry, onChange, id, described }} />`}
    ${problem && !entry.isSkipped && html`<p class="small" data-colour="failed" id=${`${id}-problem`}>${problem}</p>`}
    ${!question.required && html`<button type="button" class="quiet pass small" aria-pressed=${Boolean(entry.isSkipped)}
      onClick=${() => onChange({ text: "", chosen: [], isSkipped: !entry.isSkipped })}>
      ${entry.isSkipped ? "Answer it after all" : "Skip"}
    </button>`}
  </fieldset>`;
}

/** What a person should know before they answer. @param {InputQuestion} question */
function boundsOf(question) {
  const { min, max } = /** @type {{min?: number, max?: number}} */ (question);
  const unit = { text: " characters", "multi-select": " choices" }[/** @type {string} */ (question.kind)] ?? "";
  if (min !== undefined && max !== undefined) return `${min} to ${max}${unit}`;
  if (min !== undefined) return `at least ${min}${unit}`;
  return max !== undefined && `at most ${max}${unit}`;
}

/**
 * @typedef {{question: InputQuestion, entry: Entry, onChange: (entry: Entry) => void, id: string,
 *   described?: string}} FieldProps
 */

/** How a format is written: the type of its field, and an example. @type {Record<string, [string, string]>} */
const FORMATS = {
  email: ["email", "name@example.com"],
  uri: ["url", "https://…"],
  date: ["text", "2001-02-28"],
  "date-time": ["text", "2001-02-28T12:30Z"],
};

/** @param {FieldProps} props */
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
  if (!format) return html`<textarea rows=${Math.min(6, entry.text.split("\n").length)} ...${shared}></textarea>`;
  const [type, example] = FORMATS[format] ?? ["text", ""];
  return html`<input type=${type} placeholder=${example} ...${shared} />`;
}

/** @type {InputOption[]} */
const YES_NO = [{ id: "yes", label: "Yes" }, { id: "no", label: "No" }];

/** @param {FieldProps} props */
function Choices({ question, entry, onChange, id }) {
  const isMany = question.kind === "multi-select";
  const { options = YES_NO, allowFreeformInput = false } =
    /** @type {{options?: InputOption[], allowFreeformInput?: boolean}} */ (question);
  /** @param {string} choice */
  const toggle = (choice) => {
    const others = isMany ? entry.chosen.filter((one) => one !== choice) : [];
    const isOn = !isMany || !entry.chosen.includes(choice);
    // One answer is wanted: a choice takes the place of what was written, and the other way round.
    onChange({ text: isMany ? entry.text : "", chosen: isOn ? [...others, choice] : others });
  };
  /** @param {string} text */
  const write = (text) => onChange({ text, chosen: isMany || !text.trim() ? entry.chosen : [] });
  return html`<div class="choices stack" data-row=${question.kind === "boolean" || undefined}>
    ${options.map((option) => html`<label class="choice row" key=${option.id}>
      <input type=${isMany ? "checkbox" : "radio"} name=${id} checked=${entry.chosen.includes(option.id)}
        onChange=${() => toggle(option.id)} />
      <span>
        ${option.label} ${option.recommended && html`<span class="badge card small">recommended</span>`}
        ${option.description && html`<span class="faint small block">${option.description}</span>`}
      </span>
    </label>`)}
    ${allowFreeformInput && html`<label class="own stack">
      <span class="small faint">${isMany ? "Something else (one on each line)" : "Something else"}</span>
      <textarea rows=${isMany ? Math.min(5, entry.text.split("\n").length) : 1} value=${entry.text}
        onInput=${typing(write)}></textarea>
    </label>`}
  </div>`;
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
