// The input of a tool call: how a person reads it, what they made of it, and whether it can do harm.

/** @import {PendingCall, SessionState} from "../../ahp/types.d.ts" */

/**
 * The command in an input, and the rest of it as text. @param {string | undefined} input
 * @returns {{command: string, rest: string}}
 */
export function readInput(input) {
  const json = parsed(input);
  if (!json || typeof json !== "object" || Array.isArray(json)) return { command: "", rest: prettyInput(input) };
  const fields = /** @type {Record<string, unknown>} */ (json);
  const name = ["command", "cmd"].find((key) => isCommand(fields[key]));
  if (!name) return { command: "", rest: Object.keys(fields).length ? prettyInput(input) : "" };
  const { [name]: found, ...others } = fields;
  const command = Array.isArray(found) ? found.map(quoted).join(" ") : String(found);
  return { command, rest: Object.keys(others).length ? JSON.stringify(others, null, 2) : "" };
}

/** @param {unknown} value */
function isCommand(value) {
  return (typeof value === "string" && value !== "") || (Array.isArray(value) && value.length > 0);
}

/** A word of a command as a shell takes it. @param {unknown} word */
function quoted(word) {
  const text = String(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** An input to read or edit: JSON on lines of its own. @param {string | undefined} input */
export function prettyInput(input) {
  const json = parsed(input);
  return json === undefined ? (input ?? "") : JSON.stringify(json, null, 2);
}

/**
 * What someone made of an input: nothing when it is as before. @param {string | undefined} input
 * @param {string | null} written @returns {{input?: string, problem: string | null}}
 */
export function editedInput(input, written) {
  if (written === null || written === prettyInput(input)) return { problem: null };
  if (parsed(input) === undefined) return { input: written, problem: null };
  try {
    return { input: JSON.stringify(JSON.parse(written)), problem: null };
  } catch (error) {
    return { problem: `This is not JSON any more: ${/** @type {Error} */ (error).message}` };
  }
}

/** @param {string | undefined} text @returns {unknown} */
function parsed(text) {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

const HARMFUL = /exec|shell|bash|terminal|command|^run|delete|remove|^rm$|kill|drop|reset/i;
const HARMFUL_KINDS = ["execute", "delete"];

/**
 * Whether a call can destroy something: it says so, it changes files, or it runs commands. @param {PendingCall} call
 * @param {SessionState} state
 */
export function isDestructive(call, state) {
  if (call.edits?.items.length) return true;
  const tools = [...(state.serverTools ?? []), ...(state.activeClient?.tools ?? [])];
  const hints = tools.find((tool) => tool.name === call.toolName)?.annotations;
  if (hints?.destructiveHint) return true;
  // Of a command nobody knows what it does, whatever its tool says of itself.
  if (readInput(call.toolInput).command || HARMFUL_KINDS.includes(String(call._meta?.["serai.toolKind"]))) return true;
  return !hints?.readOnlyHint && hints?.destructiveHint !== false && HARMFUL.test(call.toolName);
}
