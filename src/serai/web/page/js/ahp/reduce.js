// From a channel's state and an action to the next state, for all five kinds of channels that have a state.
// Exports: kindOf(uri), reduce(kind, state, action, now), fold(kind, state, actions, now).
//
// Pure: what is given is never changed, and what an action leaves alone is the same object afterwards. The cases are
// those of `serai.ahp.reducers`.

/** @import {Action, ChannelState, Uri} from './types.d.ts' */
/** @typedef {'root' | 'session' | 'terminal' | 'changeset' | 'resourceWatch'} Kind */

import { changesetHandlers, rootHandlers, terminalHandlers } from "./reducers/channels.js";
import { sessionHandlers } from "./reducers/session.js";

/** @type {Record<Kind, Map<string, (state: any, action: any, now: number) => any>>} */
const handlers = {
  root: new Map(Object.entries(rootHandlers)),
  session: new Map(Object.entries(sessionHandlers)),
  terminal: new Map(Object.entries(terminalHandlers)),
  changeset: new Map(Object.entries(changesetHandlers)),
  resourceWatch: new Map(), // its state is what it watches: changes pass through
};

/** @type {Map<string, Kind>} */
const kinds = new Map([
  ["ahp-root", "root"],
  ["ahp-session", "session"],
  ["serai-run", "session"],
  ["ahp-terminal", "terminal"],
  ["ahp-changeset", "changeset"],
  ["ahp-resource-watch", "resourceWatch"],
]);

/** What kind of state a channel has; undefined for none. @param {Uri} uri */
export function kindOf(uri) {
  return kinds.get(uri.slice(0, Math.max(0, uri.indexOf(":"))));
}

/**
 * The state after an action. One of another channel, or an unknown one, changes nothing. @template {ChannelState} S
 * @param {Kind} kind @param {S} state @param {Action | {type: string}} action
 * @param {number} now the time, in milliseconds since 1970 @returns {S}
 */
export function reduce(kind, state, action, now) {
  const handler = handlers[kind].get(action.type);
  return handler ? handler(state, action, now) : state;
}

/**
 * The state after several actions, all at the same time. @template {ChannelState} S
 * @param {Kind} kind @param {S} state @param {Iterable<Action>} actions @param {number} now @returns {S}
 */
export function fold(kind, state, actions, now) {
  for (const action of actions) state = reduce(kind, state, action, now);
  return state;
}
