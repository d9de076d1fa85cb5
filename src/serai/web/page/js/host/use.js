// Hooks for views.
// Exports: useChannel(host, uri).

/** @import {Channel} from "./channel.js" */
/** @import {Host} from "./host.js" */

import { useLayoutEffect } from "../views/preact.js";

/**
 * The channel of a URI, followed while the component is there. Read `.state.value` and `.problem.value`.
 * @template {import("../ahp/types.d.ts").ChannelState} [S=any]
 * @param {Host} host @param {string} uri @returns {Channel<S>}
 */
export function useChannel(host, uri) {
  const channel = host.channel(uri);
  useLayoutEffect(() => {
    channel.hold();
    return () => channel.release();
  }, [channel]);
  return channel;
}
