// One channel, as views read it.
// Exports: Channel.

/** @import {ChannelState, Uri} from "../ahp/types.d.ts" */
/** @import {HostError} from "../ahp/peer.js" */
/** @import {Signal} from "./signals.js" */

import { signal } from "./signals.js";

/** So long a channel stays followed that nobody holds: whoever goes back and forth need not wait. */
const LINGER = 5000;

/** A channel is followed while someone holds it. @template {ChannelState} [S=any] */
export class Channel {
  /** What to show: null until the host has sent it, and when there is a problem. @type {Signal<S | null>} */
  state = signal(/** @type {S | null} */ (null));
  /** Why there is no state. @type {Signal<HostError | null>} */
  problem = signal(/** @type {HostError | null} */ (null));
  #holders = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #changed;

  /** @param {Uri} uri @param {(channel: Channel<S>) => void} changed called when it begins or ends to be held */
  constructor(uri, changed) {
    this.uri = uri;
    this.#changed = changed;
  }

  /** Whether it is to be followed. */
  isHeld = false;

  /** Follow the channel until `release`. */
  hold() {
    this.#holders += 1;
    clearTimeout(this.#timer);
    if (this.isHeld) return;
    this.isHeld = true;
    this.#changed(this);
  }

  /** Take back one `hold`. */
  release() {
    this.#holders -= 1;
    if (this.#holders > 0) return;
    this.#timer = setTimeout(() => {
      this.isHeld = false;
      this.#changed(this);
    }, LINGER);
    /** @type {any} */ (this.#timer).unref?.(); // in node it keeps no program alive
  }
}
