// The reducers of the channels beside the sessions: tables of handlers, by type of action.
// Exports: rootHandlers, terminalHandlers, changesetHandlers.

/** @import {ChangesetActions, ChangesetState, Handlers, RootActions, RootState} from "../types.d.ts" */
/** @import {TerminalActions, TerminalPart, TerminalState} from "../types.d.ts" */

import { merged, put, putAt, setById } from "./fields.js";

/** @type {Handlers<RootState, RootActions>} */
export const rootHandlers = {
  "root/agentsChanged": (state, { agents }) => ({ ...state, agents }),
  "root/activeSessionsChanged": (state, { activeSessions }) => ({ ...state, activeSessions }),
  "root/terminalsChanged": (state, { terminals }) => ({ ...state, terminals }),
  "root/configChanged": (state, action) => (state.config ? { ...state, config: merged(state.config, action) } : state),
};

/** @type {Handlers<ChangesetState, ChangesetActions>} */
export const changesetHandlers = {
  "changeset/statusChanged": (state, { status, error }) =>
    put(state, { status, error: status === "error" ? error : undefined }),
  "changeset/fileSet": (state, { file }) => ({ ...state, files: setById(state.files, file) }),
  "changeset/fileRemoved": (state, { fileId }) => ({ ...state, files: state.files.filter(({ id }) => id !== fileId) }),
  "changeset/operationsChanged": (state, { operations }) => put(state, { operations }),
  "changeset/cleared": (state) => ({ ...state, files: [] }),
};

/** @type {Handlers<TerminalState, TerminalActions>} */
export const terminalHandlers = {
  "terminal/data": (state, { data }) => ({ ...state, content: withData(state.content, data) }),
  "terminal/input": (state) => state,
  "terminal/resized": (state, { cols, rows }) => ({ ...state, cols, rows }),
  "terminal/claimed": (state, { claim }) => ({ ...state, claim }),
  "terminal/titleChanged": (state, { title }) => ({ ...state, title }),
  "terminal/cwdChanged": (state, { cwd }) => ({ ...state, cwd }),
  "terminal/exited": (state, { exitCode }) => put(state, { exitCode }),
  "terminal/cleared": (state) => ({ ...state, content: [] }),
  "terminal/commandDetectionAvailable": (state) => ({ ...state, supportsCommandDetection: true }),
  "terminal/commandExecuted": (state, { commandId, commandLine, timestamp }) => {
    /** @type {TerminalPart} */
    const part = { type: "command", commandId, commandLine, output: "", timestamp, isComplete: false };
    return { ...state, content: [...state.content, part], supportsCommandDetection: true };
  },
  "terminal/commandFinished": (state, { commandId, exitCode, durationMs }) => {
    /** @param {TerminalPart} part */
    const isIt = (part) => part.type === "command" && part.commandId === commandId;
    const done = { isComplete: true, exitCode, durationMs };
    return { ...state, content: state.content.map((part) => (isIt(part) ? put(part, done) : part)) };
  },
};

/** Output goes to the last part, if that takes any. @param {readonly TerminalPart[]} content @param {string} data */
function withData(content, data) {
  const at = content.length - 1;
  const last = content[at];
  if (last?.type === "command" && !last.isComplete) return putAt(content, at, { ...last, output: last.output + data });
  if (last?.type === "unclassified") return putAt(content, at, { ...last, value: last.value + data });
  return [...content, /** @type {TerminalPart} */ ({ type: "unclassified", value: data })];
}
