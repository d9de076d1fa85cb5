// What stands in the fields of a question, as an answer; and why it is none. The host's rules are the same.

/** @import {InputAnswer, InputAnswerValue, InputQuestion} from "../../ahp/types.d.ts" */

/**
 * What a person has put in: `text` of a field, the options that are `chosen`, and whether the question is skipped.
 * @typedef {{text: string, chosen: string[], isSkipped?: boolean}} Entry
 */

/**
 * What a question's fields begin with: the answer that someone has written already, or the default.
 * @param {InputQuestion} question @param {InputAnswer | undefined} answer @returns {Entry}
 */
export function entryOf(question, answer) {
  if (answer?.state === "skipped") return { text: "", chosen: [], isSkipped: true };
  const given = /** @type {{value?: unknown, freeformValues?: string[]}} */ (answer?.value ?? {});
  const value = answer ? given.value : /** @type {{defaultValue?: unknown}} */ (question).defaultValue;
  if (typeof value === "boolean") return { text: "", chosen: [value ? "yes" : "no"] };
  if (!("options" in question)) return { text: String(value ?? ""), chosen: [] };
  return { text: (given.freeformValues ?? []).join("\n"), chosen: [value ?? []].flat().filter(Boolean).map(String) };
}

/**
 * The value that an entry stands for; null when it is empty, or no number. @param {InputQuestion} question
 * @param {Entry} entry @returns {InputAnswerValue | null}
 */
export function valueOf(question, entry) {
  const freeform = lines(entry.text);
  const more = freeform.length ? { freeformValues: freeform } : {};
  switch (question.kind) {
    case "text":
      return entry.text ? { kind: "text", value: entry.text } : null;
    case "number":
    case "integer": {
      const number = Number(entry.text.trim().replace(",", "."));
      return entry.text.trim() && Number.isFinite(number) ? { kind: "number", value: number } : null;
    }
    case "boolean":
      return entry.chosen[0] ? { kind: "boolean", value: entry.chosen[0] === "yes" } : null;
    case "single-select": {
      const chosen = entry.chosen[0] ?? "";
      return chosen || freeform.length ? { kind: "selected", value: chosen, ...more } : null;
    }
    case "multi-select":
      return entry.chosen.length || freeform.length ? { kind: "selected-many", value: entry.chosen, ...more } : null;
    default:
      return null; // a kind that is newer than this page
  }
}

/**
 * The answer to send in the end: given, or passed over. @param {InputQuestion} question @param {Entry} entry
 * @returns {InputAnswer}
 */
export function answerOf(question, entry) {
  const value = entry.isSkipped ? null : valueOf(question, entry);
  return value ? { state: "submitted", value } : { state: "skipped" };
}

/**
 * Why an entry cannot be sent, or null. @param {InputQuestion} question @param {Entry} entry @returns {string | null}
 */
export function problemOf(question, entry) {
  if (entry.isSkipped && !question.required) return null;
  const value = valueOf(question, entry);
  if (!value) {
    if (entry.text.trim()) return "This must be a number";
    return question.required ? "This needs an answer" : null;
  }
  switch (question.kind) {
    case "text":
      return outOfRange([...entry.text].length, question, "characters") ?? misformed(entry.text, question.format);
    case "integer":
    case "number":
      if (question.kind === "integer" && !Number.isInteger(value.value)) return "This must be a whole number";
      return outOfRange(Number(value.value), question);
    case "multi-select":
      return outOfRange(new Set(entry.chosen).size + new Set(lines(entry.text)).size, question, "choices");
  }
  return null;
}

/** What stands on each line, but for empty ones. @param {string} text */
export function lines(text) {
  return text.split("\n").flatMap((line) => line.trim() || []);
}

/** @param {number} value @param {{min?: number, max?: number}} bounds @param {string} [unit] */
function outOfRange(value, { min, max }, unit = "") {
  if (min !== undefined && value < min) return `At least ${min} ${unit}`.trimEnd();
  if (max !== undefined && value > max) return `At most ${max} ${unit}`.trimEnd();
  return null;
}

const MOMENT = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?([Zz]|[+-]\d{2}:?\d{2})?$/;

/** @type {Record<string, [(text: string) => boolean, string]>} */
const FORMATS = {
  email: [(text) => /^([^\s@]+|"[^"]+")@[^\s@]+$/.test(text), "an e-mail address, such as name@example.com"],
  uri: [(text) => /^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]+$/.test(text), "a URI, such as https://example.com/"],
  date: [(text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDay(text), "a date, such as 2001-02-28"],
  "date-time": [(text) => MOMENT.test(text) && isDay(text.slice(0, 10)), "a date and a time: 2001-02-28T12:30:00Z"],
};

/** Whether a date is in the calendar: JavaScript makes March of the 30th of February. @param {string} text */
function isDay(text) {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** @param {string} text @param {string} [format] */
function misformed(text, format = "") {
  const [fits, what] = FORMATS[format] ?? [];
  return fits && !fits(text) ? `This must be ${what}` : null;
}
